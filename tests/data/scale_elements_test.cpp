// Scaling: every pair of types against the formula, at any place and length, in any mode of the host.
#include "viva/data/scale_elements.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cfenv>
#include <cstring>
#include <limits>
#include <vector>

namespace viva::data {
namespace {

template <typename In, typename Out>
void check_formula() {
  const auto in = *rc::gen::container<std::vector<In>>(rc::gen::arbitrary<In>());
  const Scaling scaling{*rc::gen::elementOf(std::vector{1.0 / 255, 1.0, -0.37, 1e-3}),
                        *rc::gen::elementOf(std::vector{0.0, 127.5, -1.0 / 3})};
  std::vector<Out> out(in.size());
  scale_elements(dtype_of<In>, std::as_bytes(std::span(in)), dtype_of<Out>, std::as_writable_bytes(std::span(out)),
                 scaling);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto expected = static_cast<Out>((static_cast<double>(in[i]) - scaling.shift) * scaling.scale);
    RC_ASSERT(std::memcmp(&out[i], &expected, sizeof(Out)) == 0);
  }
}

template <typename In>
void check_both() {
  check_formula<In, float>();
  check_formula<In, double>();
}

RC_GTEST_PROP(ScaleElements, UInt8, ()) { check_both<std::uint8_t>(); }
RC_GTEST_PROP(ScaleElements, Int8, ()) { check_both<std::int8_t>(); }
RC_GTEST_PROP(ScaleElements, Int16, ()) { check_both<std::int16_t>(); }
RC_GTEST_PROP(ScaleElements, Int32, ()) { check_both<std::int32_t>(); }
RC_GTEST_PROP(ScaleElements, Int64, ()) { check_both<std::int64_t>(); }
RC_GTEST_PROP(ScaleElements, Float32, ()) { check_both<float>(); }
RC_GTEST_PROP(ScaleElements, Float64, ()) { check_both<double>(); }

// Long enough for every vector width, so that body and tail are both seen.
TEST(ScaleElements, AnElementDependsOnNothingElse) {
  constexpr std::size_t kCount = 300;
  std::vector<std::uint8_t> in(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = static_cast<std::uint8_t>(i * 7);
  const Scaling scaling{1.0 / 255, 0.1};
  std::vector<float> whole(kCount), part(kCount);
  const auto bytes = std::as_bytes(std::span(in));
  scale_elements(Dtype::kUInt8, bytes, Dtype::kFloat32, std::as_writable_bytes(std::span(whole)), scaling);
  for (std::size_t begin = 0; begin < kCount; begin += 13) {
    const std::size_t count = kCount - begin;
    scale_elements(Dtype::kUInt8, bytes.subspan(begin), Dtype::kFloat32,
                   std::as_writable_bytes(std::span(part).first(count)), scaling);
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + begin, count * sizeof(float)), 0) << "from " << begin;
  }
}

TEST(ScaleElements, TheHostsRoundingModeChangesNothing) {
  std::vector<std::uint8_t> in(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i);
  const Dataset dataset = Dataset::from_tensors(Tensor::from_values(in, {1, 256}), Tensor::zeros({1}), {1.0 / 255, 0});
  const Tensor nearest = dataset.get(0).input;
  std::fesetround(FE_DOWNWARD);
  const Tensor downward = dataset.get(0).input;
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(mode, FE_DOWNWARD);
  EXPECT_TRUE(bitwise_equal(nearest, downward));
}

TEST(ScaleElements, OtherTypesAreRefused) {
  std::vector<std::byte> bytes(4);
  EXPECT_THROW(scale_elements(Dtype::kUInt8, bytes, Dtype::kUInt8, bytes, {}), DtypeError);
}

}  // namespace
}  // namespace viva::data
