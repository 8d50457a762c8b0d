// An operation of one's own: softplus, log(1 + eˣ), with its gradient beside it; checked, then used like any other.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "viva/autograd/gradient_check.h"
#include "viva/autograd/tape.h"

namespace {

using namespace viva;
using namespace viva::autograd;

// The value is computed at once; the closure adds dx = dy·sigmoid(x) to the gradient of x when its turn comes. It may
// capture Variables and numbers, which need no destructor.
Variable softplus(const Variable& x) {
  const Tensor y = x.tape().allocate(x.shape(), x.dtype());
  visit_floating(x.dtype(), "softplus", [&](auto type) {
    using T = decltype(type);
    const auto from = x.value().values<T>();
    const auto to = y.mutable_values<T>();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = std::max(from[i], T{0}) + std::log1p(std::exp(-std::abs(from[i])));
  });
  return x.tape().record(y, {x}, [x](Gradients& gradients) {
    gradients.add(x, [&](const Tensor& dx) {
      visit_floating(dx.dtype(), "softplus", [&](auto type) {
        using T = decltype(type);
        const auto in = x.value().values<T>(), dy = gradients.output().values<T>();
        const auto out = dx.mutable_values<T>();
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = dy[i] / (1 + std::exp(-in[i]));
      });
    });
  });
}

}  // namespace

int main() {
  const GradientCheck check = check_gradient([](Tape&, std::span<const Variable> in) { return softplus(in[0]); },
                                             {Tensor::from_values<double>({-3, -0.5, 0, 0.25, 4})});
  std::printf("softplus: the largest error of its gradient is %s\n",
              check.largest_error < 1e-8 ? "below 1e-8" : "large");
  return check.largest_error < 1e-8 ? 0 : 1;
}
