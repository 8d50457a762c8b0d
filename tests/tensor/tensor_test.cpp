// Tensor: shapes and their limits, views that share memory, bounds, types and conversions.
#include "viva/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace viva {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

// 0, 1, 2, … in float32.
Tensor counting(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from_values(values, std::move(shape));
}

TEST(ElementCount, MultipliesTheAxes) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({7}), 7);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({2, 0, 4}), 0);
  EXPECT_EQ(element_count({kHuge}), kHuge);
}

TEST(ElementCount, RefusesImpossibleShapes) {
  EXPECT_THROW(element_count({-1}), InvalidShape);
  EXPECT_THROW(element_count({0, -1}), InvalidShape);
  EXPECT_THROW(element_count({-1, -1}), InvalidShape);
  EXPECT_THROW(element_count({kHuge + 1}), InvalidShape);
  EXPECT_THROW(element_count({std::int64_t{1} << 31, std::int64_t{1} << 31, 2}), InvalidShape);
  EXPECT_THROW(element_count({std::int64_t{1} << 32, std::int64_t{1} << 32}), InvalidShape) << "wraps to 0";
}

TEST(ElementCount, AZeroAxisHidesNoOverflow) {
  EXPECT_THROW(element_count({0, kHuge, 4}), InvalidShape);
  EXPECT_THROW(element_count({kHuge, 4, 0}), InvalidShape);
}

TEST(Tensor, RefusesMoreBytesThanCanBeCounted) {
  EXPECT_THROW(Tensor::zeros({kHuge}, Dtype::kFloat64), InvalidShape) << "2^62 times 8 wraps to 0";
  EXPECT_THROW(Tensor::zeros({kHuge}, Dtype::kFloat32), InvalidShape);
  Arena arena;
  EXPECT_THROW(Tensor::in(arena, {kHuge}, Dtype::kFloat64), InvalidShape);
}

TEST(Tensor, BeginsWithoutElements) {
  const Tensor tensor;
  EXPECT_THAT(tensor.shape(), ElementsAre(0));
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_EQ(tensor.dtype(), Dtype::kFloat32);
  EXPECT_TRUE(tensor.values<float>().empty());
  EXPECT_EQ(tensor.clone().size(), 0);
  EXPECT_EQ(tensor.slice(0, 0).size(), 0);
}

TEST(Tensor, ZerosAreZeroAndAligned) {
  const Tensor tensor = Tensor::zeros({3, 5}, Dtype::kInt16);
  EXPECT_THAT(tensor.values<std::int16_t>(), testing::Each(0));
  EXPECT_EQ(tensor.size(), 15);
  EXPECT_EQ(tensor.rank(), 2U);
  EXPECT_EQ(tensor.length(), 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % kAlignment, 0U);
}

TEST(Tensor, FromValuesNeedsAsManyAsTheShapeHas) {
  EXPECT_THAT(Tensor::from_values<std::int32_t>({1, 2, 3}).shape(), ElementsAre(3));
  EXPECT_EQ(Tensor::from_values<double>({2.5}, {}).rank(), 0U);
  try {
    Tensor::from_values<float>({1, 2, 3}, {2, 2});
    FAIL() << "three values are not a 2 by 2 matrix";
  } catch (const ShapeMismatch& error) {
    EXPECT_THAT(error.expected, ElementsAre(2, 2));
    EXPECT_THAT(error.got, ElementsAre(3));
  }
}

TEST(Tensor, EachTypeHasItsSizeAndName) {
  const auto check = [](Dtype dtype, std::size_t size, const char* name) {
    EXPECT_EQ(size_of(dtype), size) << name;
    EXPECT_EQ(name_of(dtype), name);
    EXPECT_EQ(visit_dtype(dtype, [](auto type) { return dtype_of<decltype(type)>; }), dtype) << name;
    EXPECT_EQ(Tensor::zeros({3}, dtype).bytes().size(), 3 * size) << name;
  };
  check(Dtype::kFloat32, 4, "float32");
  check(Dtype::kFloat64, 8, "float64");
  check(Dtype::kUInt8, 1, "uint8");
  check(Dtype::kInt8, 1, "int8");
  check(Dtype::kInt16, 2, "int16");
  check(Dtype::kInt32, 4, "int32");
  check(Dtype::kInt64, 8, "int64");
}

TEST(Tensor, NamesBothTypesWhereTheyDiffer) {
  const Tensor tensor = Tensor::zeros({2}, Dtype::kFloat64);
  EXPECT_THROW(tensor.mutable_values<std::int64_t>(), DtypeError);
  try {
    tensor.values<float>();
    FAIL() << "a tensor of float64 has no floats";
  } catch (const DtypeError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("expected a tensor of float32"), HasSubstr("got one of float64")));
  }
}

TEST(Tensor, VisitFloatingNamesWhereAndWhat) {
  EXPECT_EQ(visit_floating(Dtype::kFloat64, "here", [](auto type) { return sizeof type; }), 8U);
  try {
    visit_floating(Dtype::kUInt8, "softmax", [](auto) {});
    FAIL() << "uint8 is not floating";
  } catch (const DtypeError& error) {
    EXPECT_STREQ(error.what(), "softmax: expected float32 or float64, got uint8");
  }
}

TEST(Tensor, CopiesAndViewsShareMemory) {
  const Tensor tensor = counting({3, 4});
  const Tensor copy = tensor, reshaped = tensor.reshape({2, 6}), middle = tensor.slice(1, 3), last = tensor.row(2);
  tensor.mutable_values<float>()[8] = -1;
  EXPECT_EQ(copy.values<float>()[8], -1);
  EXPECT_EQ(reshaped.values<float>()[8], -1);
  EXPECT_EQ(middle.values<float>()[4], -1);
  EXPECT_EQ(last.values<float>()[0], -1);
  last.mutable_values<float>()[3] = -2;
  EXPECT_EQ(tensor.values<float>()[11], -2);
}

TEST(Tensor, AViewKeepsTheMemoryAlive) {
  Tensor row;
  { row = counting({3, 4}).row(1); }
  EXPECT_THAT(row.values<float>(), ElementsAre(4, 5, 6, 7));
}

TEST(Tensor, CloneSharesNothing) {
  const Tensor tensor = counting({2, 3}), clone = tensor.slice(1, 2).clone();
  tensor.mutable_values<float>()[3] = -1;
  EXPECT_THAT(clone.values<float>(), ElementsAre(3, 4, 5));
  EXPECT_THAT(clone.shape(), ElementsAre(1, 3));
}

TEST(Tensor, ReshapeKeepsTheCount) {
  EXPECT_THAT(counting({6}).reshape({2, 3}).shape(), ElementsAre(2, 3));
  EXPECT_EQ(counting({1}).reshape({}).rank(), 0U);
  EXPECT_THROW(counting({6}).reshape({4}), ShapeMismatch);
  EXPECT_THROW(counting({6}).reshape({-6}), InvalidShape);
}

RC_GTEST_PROP(Tensor, ASliceHasTheRowsFromBeginToEnd, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 8), columns = *rc::gen::inRange<std::int64_t>(0, 5);
  const auto begin = *rc::gen::inRange<std::int64_t>(0, rows + 1), end = *rc::gen::inRange(begin, rows + 1);
  const Tensor slice = counting({rows, columns}).slice(begin, end);
  RC_ASSERT(slice.shape() == (Shape{end - begin, columns}));
  RC_ASSERT(slice.size() == (end - begin) * columns);
  for (std::int64_t i = 0; i < slice.size(); ++i) {
    RC_ASSERT(slice.values<float>()[static_cast<std::size_t>(i)] == static_cast<float>(begin * columns + i));
  }
}

TEST(Tensor, SliceAndRowStayWithinAxisZero) {
  const Tensor tensor = counting({3, 2});
  EXPECT_THROW(tensor.slice(-1, 2), IndexOutOfBounds);
  EXPECT_THROW(tensor.slice(4, 4), IndexOutOfBounds);
  EXPECT_THROW(tensor.slice(0, 4), IndexOutOfBounds);
  EXPECT_THROW(tensor.slice(2, 1), IndexOutOfBounds);
  EXPECT_THROW(tensor.row(-1), IndexOutOfBounds);
  EXPECT_THROW(tensor.row(3), IndexOutOfBounds);
  EXPECT_THAT(tensor.row(2).shape(), ElementsAre(2));
  try {
    tensor.row(5);
    FAIL() << "there is no row 5";
  } catch (const IndexOutOfBounds& error) {
    EXPECT_EQ(error.index, 5);
    EXPECT_EQ(error.size, 3);
  }
}

TEST(Tensor, AScalarHasNoAxisZero) {
  const Tensor scalar = Tensor::zeros({});
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_THROW(scalar.length(), InvalidShape);
  EXPECT_THROW(scalar.row(0), InvalidShape);
  EXPECT_THROW(scalar.slice(0, 1), InvalidShape);
}

TEST(Tensor, ItemIsTheOnlyElement) {
  EXPECT_EQ(Tensor::from_values<std::uint8_t>({200}).item(), 200.0);
  EXPECT_EQ(Tensor::from_values<float>({0.5F}, {}).item(), 0.5);
  EXPECT_THROW(counting({2}).item(), InvalidShape);
  EXPECT_THROW(Tensor().item(), InvalidShape);
}

TEST(Tensor, ToConvertsAsStaticCastDoes) {
  const Tensor doubles = Tensor::from_values<double>({1.9, -1.9, 0.1}, {3, 1});
  EXPECT_THAT(doubles.to(Dtype::kInt32).values<std::int32_t>(), ElementsAre(1, -1, 0));
  EXPECT_THAT(doubles.to(Dtype::kFloat32).values<float>(), ElementsAre(1.9F, -1.9F, 0.1F));
  EXPECT_THAT(doubles.to(Dtype::kFloat32).shape(), ElementsAre(3, 1));
  EXPECT_THAT(Tensor::from_values<std::uint8_t>({255}).to(Dtype::kFloat64).values<double>(), ElementsAre(255.0));
  EXPECT_THAT(Tensor::from_values<std::int64_t>({-7}).to(Dtype::kInt8).values<std::int8_t>(), ElementsAre(-7));
}

TEST(Tensor, ToTheSameTypeIsStillACopy) {
  const Tensor tensor = counting({2}), same = tensor.to(Dtype::kFloat32);
  tensor.mutable_values<float>()[0] = 9;
  EXPECT_THAT(same.values<float>(), ElementsAre(0, 1));
}

TEST(BitwiseEqual, ComparesShapeTypeAndBytes) {
  EXPECT_TRUE(bitwise_equal(counting({2, 3}), counting({2, 3})));
  EXPECT_TRUE(bitwise_equal(Tensor(), Tensor::zeros({0})));
  EXPECT_FALSE(bitwise_equal(counting({2, 3}), counting({3, 2})));
  EXPECT_FALSE(bitwise_equal(Tensor::zeros({2}, Dtype::kInt32), Tensor::zeros({2}, Dtype::kFloat32)));
  EXPECT_FALSE(bitwise_equal(Tensor::from_values<float>({0.0F}), Tensor::from_values<float>({-0.0F})));
}

}  // namespace
}  // namespace viva
