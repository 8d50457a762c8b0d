// Softmax with cross-entropy beyond its formula: NaN is never hidden, shifted logits are the same, the gradient is the
// loss's. kernels_test.cpp holds the formula itself.
#include "viva/tensor/softmax.h"
#include "tests/tensor/floating.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"

namespace viva {
namespace {

using Labels = std::vector<std::int32_t>;

template <typename T>
double loss_of(const std::vector<T>& logits, const Labels& labels, std::vector<T>* grad = nullptr) {
  const KernelScope scope;
  Arena arena;
  if (grad != nullptr) grad->assign(logits.size(), T(-77));
  const auto classes = static_cast<std::int64_t>(logits.size() / labels.size());
  return softmax_cross_entropy<T>(logits.data(), labels, classes, grad != nullptr ? grad->data() : nullptr, T(1),
                                  arena);
}

template <typename T>
class Softmax : public testing::Test {};
TYPED_TEST_SUITE(Softmax, Floating);

// Training stops at a loss that is not finite, so a bad logit must reach it, be it the label's or another one's.
TYPED_TEST(Softmax, ABadLogitReachesTheLossFromAnyPlace) {
  using T = TypeParam;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (std::size_t place = 0; place < 20; ++place) {
      for (const std::int32_t label : {0, 7, 19}) {
        std::vector<T> logits(20, T(1));
        logits[place] = bad;
        EXPECT_FALSE(std::isfinite(loss_of(logits, {label}))) << bad << " at " << place << ", label " << label;
      }
    }
  }
}

TYPED_TEST(Softmax, AClassThatIsRuledOutHasNoGradient) {
  using T = TypeParam;
  std::vector<T> grad;
  EXPECT_NEAR(loss_of<T>({T(1), -std::numeric_limits<T>::infinity(), T(1)}, {0}, &grad), std::log(2.0), 1e-6);
  EXPECT_EQ(grad[1], T(0));
}

TYPED_TEST(Softmax, ShiftedLogitsAreTheSame) {
  using T = TypeParam;
  // Multiples of 1/8, which the shift leaves exact: the distance from the largest logit has the same bits.
  const std::vector<T> logits{T(0.5), T(-2), T(1.125), T(0), T(3.25), T(-0.875)};
  std::vector<T> shifted, grad, shifted_grad;
  for (const T logit : logits) shifted.push_back(logit + 1000);
  EXPECT_EQ(loss_of(logits, {2, 0}, &grad), loss_of(shifted, {2, 0}, &shifted_grad));
  EXPECT_EQ(grad, shifted_grad);
}

TYPED_TEST(Softmax, TheLossNeedsNoGradient) {
  using T = TypeParam;
  std::vector<T> grad;
  const std::vector<T> logits{T(0.1), T(0.7), T(-0.3)};
  EXPECT_EQ(loss_of(logits, {1}), loss_of(logits, {1}, &grad));
}

TEST(SoftmaxGradient, AgreesWithFiniteDifferences) {
  const RandomStream random(11, RandomPurpose::kInitialize, 0);
  std::vector<double> logits(4 * 7), grad;
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = 6 * random.uniform(i) - 3;
  const Labels labels{0, 6, 3, 3};
  loss_of(logits, labels, &grad);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    auto above = logits, below = logits;
    above[i] += kStep;
    below[i] -= kStep;
    EXPECT_NEAR(grad[i], (loss_of(above, labels) - loss_of(below, labels)) / (2 * kStep), 1e-9) << "logit " << i;
  }
}

}  // namespace
}  // namespace viva
