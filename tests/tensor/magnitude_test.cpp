// The loops over magnitudes against plain ones, over body and tail.
#include "viva/tensor/magnitude.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva {
namespace {

template <typename T>
std::vector<T> random_values() {
  const auto count = *rc::gen::inRange<std::size_t>(0, 5000);
  const RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), RandomPurpose::kInitialize, 0);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(4 * random.uniform(i) - 2);
  return values;
}

template <typename T>
void one_bad_element_is_found() {
  std::vector<T> values = random_values<T>();
  const auto finite = [&] {
    return all_finite(Tensor::from_values(values).template values<T>().data(), values.size());
  };
  RC_ASSERT(finite());
  if (values.empty()) return;
  T& any = values[*rc::gen::inRange<std::size_t>(0, values.size())];
  any = *rc::gen::element(std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest());
  RC_ASSERT(finite());
  constexpr T kInf = std::numeric_limits<T>::infinity();
  any = *rc::gen::element(kInf, -kInf, std::numeric_limits<T>::quiet_NaN());
  RC_ASSERT(!finite());
}

RC_GTEST_PROP(AllFinite, OneBadElementIsFoundInFloat32, ()) { one_bad_element_is_found<float>(); }
RC_GTEST_PROP(AllFinite, OneBadElementIsFoundInFloat64, ()) { one_bad_element_is_found<double>(); }

template <typename T>
void clamp_is_the_plain_loop() {
  std::vector<T> values = random_values<T>();
  const T limit = static_cast<T>(*rc::gen::inRange(1, 20)) / 8;
  const Tensor tensor = Tensor::from_values(values);
  clamp(tensor.mutable_values<T>().data(), limit, values.size());
  for (T& x : values) x = std::clamp(x, -limit, limit);
  RC_ASSERT(bitwise_equal(tensor, Tensor::from_values(values)));
}

RC_GTEST_PROP(Clamp, IsThePlainLoopInFloat32, ()) { clamp_is_the_plain_loop<float>(); }
RC_GTEST_PROP(Clamp, IsThePlainLoopInFloat64, ()) { clamp_is_the_plain_loop<double>(); }

TEST(Clamp, InfinityIsTheLimitAndNanStays) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from_values<float>({kInf, -kInf, std::numeric_limits<float>::quiet_NaN()});
  clamp(x.mutable_values<float>().data(), 2.0F, 3);
  EXPECT_EQ(x.values<float>()[0], 2);
  EXPECT_EQ(x.values<float>()[1], -2);
  EXPECT_TRUE(std::isnan(x.values<float>()[2]));
}

// Element i in lane i mod 16; then ((0+1)+(2+3))+… over the lanes.
template <typename T>
void squares_are_added_by_virtual_lanes() {
  const std::vector<T> values = random_values<T>();
  std::array<double, 16> lanes{};
  double plain = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double square = static_cast<double>(values[i]) * static_cast<double>(values[i]);
    lanes[i % 16] += square;
    plain += square;
  }
  std::vector<double> sums(lanes.begin(), lanes.end());
  for (; sums.size() > 1; sums.resize(sums.size() / 2)) {
    for (std::size_t k = 0; 2 * k < sums.size(); ++k) sums[k] = sums[2 * k] + sums[2 * k + 1];
  }
  const double got = sum_of_squares(Tensor::from_values(values).template values<T>().data(), values.size());
  RC_ASSERT(got == sums[0]);
  RC_ASSERT(std::abs(got - plain) <= 1e-12 * plain);
}

RC_GTEST_PROP(SumOfSquares, IsAddedByVirtualLanesInFloat32, ()) { squares_are_added_by_virtual_lanes<float>(); }
RC_GTEST_PROP(SumOfSquares, IsAddedByVirtualLanesInFloat64, ()) { squares_are_added_by_virtual_lanes<double>(); }

}  // namespace
}  // namespace viva
