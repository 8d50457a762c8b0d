// The vectorised kernels against plain loops.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/tensor/random_tensor.h"
#include "viva/tensor/elementwise.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"
#include "viva/tensor/reduce.h"
#include "viva/tensor/softmax.h"
#include "viva/tensor/tensor.h"

namespace viva {
namespace {

template <typename T>
void weighted_add_is_the_plain_loop() {
  const auto count = *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto wa = static_cast<T>(*rc::gen::inRange(-70, 70)), wb = static_cast<T>(*rc::gen::inRange(-70, 70));
  const Tensor a = random_tensor<T>(1, {count}), b = random_tensor<T>(2, {count}),
               out = Tensor::zeros({count}, dtype_of<T>);
  const KernelScope scope;
  const T *x = a.values<T>().data(), *y = b.values<T>().data();
  weighted_add<T>(out.mutable_values<T>().data(), {x, wa}, {y, wb}, static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const T left = wa * x[i], right = wb * y[i];
    RC_ASSERT(out.values<T>()[i] == left + right);
  }
  // In place, on either side.
  const Tensor left = a.clone(), right = b.clone();
  weighted_add<T>(left.mutable_values<T>().data(), {left.values<T>().data(), wa}, {y, wb},
                  static_cast<std::size_t>(count));
  weighted_add<T>(right.mutable_values<T>().data(), {x, wa}, {right.values<T>().data(), wb},
                  static_cast<std::size_t>(count));
  RC_ASSERT(bitwise_equal(left, out));
  RC_ASSERT(bitwise_equal(right, out));
}

RC_GTEST_PROP(WeightedAdd, IsThePlainLoopInFloat32, ()) { weighted_add_is_the_plain_loop<float>(); }
RC_GTEST_PROP(WeightedAdd, IsThePlainLoopInFloat64, ()) { weighted_add_is_the_plain_loop<double>(); }

// A product is rounded before it is added: 1 + (1 + e)(1 - e) would keep the e² in a fused operation.
TEST(WeightedAdd, IsNotFused) {
  const float e = 0x1p-13F;
  const Tensor a = Tensor::from_values<float>({1 + e}), b = Tensor::from_values<float>({-1});
  const Tensor out = Tensor::zeros({1});
  weighted_add<float>(out.mutable_values<float>().data(), {a.values<float>().data(), 1 - e},
                      {b.values<float>().data(), 1}, 1);
  EXPECT_EQ(out.values<float>()[0], 0.0F);
}

template <typename T>
void column_sums_are_the_plain_loop() {
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 70), columns = *rc::gen::inRange<std::int64_t>(0, 300);
  const Tensor matrix = random_tensor<T>(3, {rows, columns}), out = Tensor::zeros({columns}, dtype_of<T>);
  column_sums<T>(out.mutable_values<T>().data(), matrix.values<T>().data(), rows, columns);
  for (std::int64_t c = 0; c < columns; ++c) {
    T sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += matrix.values<T>()[static_cast<std::size_t>(r * columns + c)];
    RC_ASSERT(out.values<T>()[static_cast<std::size_t>(c)] == sum);
  }
}

RC_GTEST_PROP(ColumnSums, AreThePlainLoopInFloat32, ()) { column_sums_are_the_plain_loop<float>(); }
RC_GTEST_PROP(ColumnSums, AreThePlainLoopInFloat64, ()) { column_sums_are_the_plain_loop<double>(); }

TEST(ReluBackward, PassesTheGradientWhereTheOutputIsPositive) {
  const Tensor output = Tensor::from_values<float>({0, -0.0F, 1, 1e-30F, -1, 5});
  const Tensor grad = Tensor::from_values<float>({1, 2, 3, 4, 5, -6});
  relu_backward<float>(grad.mutable_values<float>().data(), output.values<float>().data(), 6);
  EXPECT_TRUE(bitwise_equal(grad, Tensor::from_values<float>({0, 0, 3, 4, 0, -6})));
}

struct Loss {
  double loss;
  Tensor grad;
};

template <typename T>
Loss cross_entropy(const Tensor& logits, const std::vector<std::int32_t>& labels, T scale) {
  const KernelScope scope;
  Arena arena;
  Loss result{0, Tensor::zeros(logits.shape(), dtype_of<T>)};
  result.loss = softmax_cross_entropy<T>(logits.values<T>().data(), labels, logits.shape()[1],
                                         result.grad.template mutable_values<T>().data(), scale, arena);
  return result;
}

template <typename T>
void cross_entropy_is_the_plain_formula(double loss_bound, double grad_bound) {
  for (const std::int64_t classes : {1, 2, 10, 16, 17, 100}) {
    const Tensor logits = random_tensor<T>(4, {5, classes});
    std::vector<std::int32_t> labels;
    for (std::int64_t r = 0; r < 5; ++r) labels.push_back(static_cast<std::int32_t>(r % classes));
    const auto got = cross_entropy<T>(logits, labels, T{0.25});
    long double loss = 0;
    for (std::int64_t r = 0; r < 5; ++r) {
      const auto row = logits.row(r).template values<T>();
      const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(r)]);
      long double sum = 0;
      for (const T x : row) sum += std::exp(static_cast<long double>(x));
      loss += std::log(sum) - static_cast<long double>(row[label]);
      for (std::size_t c = 0; c < row.size(); ++c) {
        const long double p = std::exp(static_cast<long double>(row[c])) / sum;
        EXPECT_NEAR(static_cast<double>(got.grad.row(r).template values<T>()[c]),
                    static_cast<double>(0.25L * (p - (c == label ? 1 : 0))), grad_bound);
      }
    }
    EXPECT_NEAR(got.loss, static_cast<double>(loss), loss_bound);
  }
}

TEST(SoftmaxCrossEntropy, IsThePlainFormulaInFloat32) { cross_entropy_is_the_plain_formula<float>(5e-6, 1e-7); }
TEST(SoftmaxCrossEntropy, IsThePlainFormulaInFloat64) { cross_entropy_is_the_plain_formula<double>(1e-14, 1e-15); }

// A row's numbers depend on the row alone, whatever stands beside it.
TEST(SoftmaxCrossEntropy, ARowDoesNotDependOnItsNeighbours) {
  const Tensor logits = random_tensor<float>(5, {7, 10});
  const auto together = cross_entropy<float>(logits, {0, 1, 2, 3, 4, 5, 6}, 1);
  for (std::int32_t r = 0; r < 7; ++r) {
    const auto alone = cross_entropy<float>(logits.slice(r, r + 1).clone(), {r}, 1);
    EXPECT_TRUE(bitwise_equal(alone.grad, together.grad.slice(r, r + 1).clone())) << r;
  }
}

TEST(SoftmaxCrossEntropy, LargeLogitsDoNotOverflow) {
  const auto right = cross_entropy<float>(Tensor::from_values<float>({1000, 0, -1000}, {1, 3}), {0}, 1);
  EXPECT_EQ(right.loss, 0);
  const auto wrong = cross_entropy<float>(Tensor::from_values<float>({1000, 0, -1000}, {1, 3}), {2}, 1);
  EXPECT_NEAR(wrong.loss, 2000, 1e-3);
  for (const float g : wrong.grad.values<float>()) EXPECT_TRUE(std::isfinite(g));
}

TEST(SoftmaxCrossEntropy, ALabelOutsideTheClassesIsNamed) {
  const Tensor logits = Tensor::zeros({1, 3});
  for (const std::int32_t label : {-1, 3}) {
    try {
      cross_entropy<float>(logits, {label}, 1);
      FAIL() << "no error";
    } catch (const IndexOutOfBounds& error) {
      EXPECT_EQ(error.index, label);
      EXPECT_EQ(error.size, 3);
    }
  }
}

}  // namespace
}  // namespace viva
