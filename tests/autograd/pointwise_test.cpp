// The vector loops' values against the standard library's, in both types, with whole vectors and rests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/autograd/random_tensor.h"
#include "viva/autograd/pointwise_kernels.h"
#include "viva/tensor/kernel_scope.h"

namespace viva::autograd {
namespace {

double gelu_of(double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

template <typename T>
void expect_values(Unary operation, double low, double high, const std::function<double(double)>& expected) {
  const KernelScope scope;
  // Some units in the last place of the values, or of 1 where they are smaller.
  const double bound = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const std::int64_t size : {1, 7, 16, 1000, 1003}) {
    const Tensor x = random_tensor({size}, 3, low, high, dtype_of<T>), y = Tensor::zeros({size}, dtype_of<T>);
    unary(operation, 0.1, x, y, nullptr);
    const auto inputs = x.values<T>(), values = y.values<T>();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double exact = expected(static_cast<double>(inputs[i]));
      ASSERT_NEAR(static_cast<double>(values[i]), exact, bound * std::max(1.0, std::abs(exact)))
          << "operation " << static_cast<int>(operation) << " at " << inputs[i];
    }
  }
}

template <typename T>
void expect_all() {
  expect_values<T>(Unary::kExp, -20, 10, [](double x) { return std::exp(x); });
  expect_values<T>(Unary::kLog, 1e-3, 50, [](double x) { return std::log(x); });
  expect_values<T>(Unary::kSqrt, 0, 50, [](double x) { return std::sqrt(x); });
  expect_values<T>(Unary::kTanh, -12, 12, [](double x) { return std::tanh(x); });
  expect_values<T>(Unary::kSigmoid, -30, 30, sigmoid_of);
  expect_values<T>(Unary::kRelu, -2, 2, [](double x) { return std::max(x, 0.0); });
  expect_values<T>(Unary::kLeakyRelu, -2, 2, [](double x) { return x > 0 ? x : 0.1 * x; });
  expect_values<T>(Unary::kGelu, -12, 12, gelu_of);
  expect_values<T>(Unary::kSilu, -30, 30, [](double x) { return x * sigmoid_of(x); });
}

TEST(Unary, ValuesOfFloat32) { expect_all<float>(); }
TEST(Unary, ValuesOfFloat64) { expect_all<double>(); }

TEST(Unary, NanStaysNan) {
  const Tensor x = Tensor::from_values<float>({std::nanf(""), 1}), y = Tensor::zeros({2});
  for (const Unary operation : {Unary::kExp, Unary::kLog, Unary::kSqrt, Unary::kTanh, Unary::kSigmoid, Unary::kRelu,
                                Unary::kLeakyRelu, Unary::kGelu, Unary::kSilu}) {
    unary(operation, 0.1, x, y, nullptr);
    EXPECT_TRUE(std::isnan(y.values<float>()[0])) << static_cast<int>(operation);
    EXPECT_TRUE(std::isfinite(y.values<float>()[1])) << static_cast<int>(operation);
  }
}

}  // namespace
}  // namespace viva::autograd
