// The gradient of a ReLU against a plain loop, over body and tail.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "viva/tensor/elementwise.h"
#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva {
namespace {

template <typename T>
void relu_backward_is_the_plain_loop() {
  const auto count = *rc::gen::inRange<std::size_t>(0, 200);
  const RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), RandomPurpose::kInitialize, 0);
  std::vector<T> gradients(count), outputs(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    gradients[i] = static_cast<T>(random.uniform(2 * i) - 0.5);
    // What a ReLU gives: many zeros.
    outputs[i] = static_cast<T>(std::max(random.uniform(2 * i + 1) - 0.5, 0.0));
    expected[i] = outputs[i] > 0 ? gradients[i] : T{0};
  }
  const Tensor grad = Tensor::from_values(gradients), output = Tensor::from_values(outputs);
  relu_backward(grad.mutable_values<T>().data(), output.values<T>().data(), count);
  RC_ASSERT(bitwise_equal(grad, Tensor::from_values(expected)));
}

RC_GTEST_PROP(ReluBackward, IsThePlainLoopInFloat32, ()) { relu_backward_is_the_plain_loop<float>(); }
RC_GTEST_PROP(ReluBackward, IsThePlainLoopInFloat64, ()) { relu_backward_is_the_plain_loop<double>(); }

TEST(ReluBackward, StopsGradientsThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor grad = Tensor::from_values<double>({nan, infinity, 7}), output = Tensor::from_values<double>({0, 0, 1});
  relu_backward(grad.mutable_values<double>().data(), output.values<double>().data(), 3);
  EXPECT_TRUE(bitwise_equal(grad, Tensor::from_values<double>({0, 0, 7})));
}

}  // namespace
}  // namespace viva
