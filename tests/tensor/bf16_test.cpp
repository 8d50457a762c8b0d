// Products of bfloat16 operands: what is rounded, and how far the results are from float64's.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "viva/tensor/conv2d.h"
#include "viva/tensor/matmul.h"
#include "viva/tensor/random.h"
#include "viva/tensor/tensor.h"

namespace viva {
namespace {

// To nearest, ties to even, in plain integer arithmetic.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U);
}

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint64_t element = 0;
  for (float& x : values) x = static_cast<float>(2 * random.uniform(element++) - 1);
  return values;
}

std::vector<double> rounded_doubles(const std::vector<float>& values) {
  std::vector<double> out;
  for (const float x : values) out.push_back(static_cast<double>(rounded(x)));
  return out;
}

class Bf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!bf16_possible()) GTEST_SKIP() << "oneDNN computes no bfloat16 products on this processor";
  }
  // Sums are float32's: the results are as near to float64's of the rounded operands as those of float32 are.
  void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double terms) const {
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 4e-7 * std::sqrt(terms) * 4 + 1e-6) << i;
    }
  }
  Arena arena_;
};

TEST_F(Bf16, MatrixProductsRoundTheirOperandsAndNothingElse) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{64, 100, 48}, {1, 1, 1}, {7, 33, 10}}) {
        MatmulShape s{m, k, n, ta, tb};
        s.bias = true;
        s.precision = Precision::kBf16;
        const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2), bias = random_floats(n, 3);
        std::vector<float> got(static_cast<std::size_t>(m * n));
        matmul<float>(s, a.data(), b.data(), bias.data(), got.data(), arena_);
        s.precision = Precision::kF32;
        std::vector<double> expected(got.size());
        const std::vector<double> exact_bias(bias.begin(), bias.end());
        matmul<double>(s, rounded_doubles(a).data(), rounded_doubles(b).data(), exact_bias.data(), expected.data(),
                       arena_);
        expect_near(got, expected, static_cast<double>(k));
      }
    }
  }
}

TEST_F(Bf16, ConvolutionsToo) {
  for (const std::int64_t batch : {2, 19}) {
    Conv2dShape s{.batch = batch, .in_channels = 16, .height = 9, .width = 8, .out_channels = 32};
    s.kernel_h = s.kernel_w = 3;
    s.bias = true;
    s.algorithm = Conv2dAlgorithm::kWinograd;
    s.precision = Precision::kBf16;
    const auto x = random_floats(element_count(s.input_shape()), 1);
    const auto w = random_floats(element_count(s.weight_shape()), 2), b = random_floats(32, 3);
    const auto dy = random_floats(element_count(s.output_shape()), 4);
    std::vector<float> y(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
    conv2d_forward<float>(s, x.data(), w.data(), b.data(), y.data(), arena_);
    conv2d_backward_data<float>(s, dy.data(), w.data(), dx.data(), arena_);
    conv2d_backward_weights<float>(s, x.data(), dy.data(), dw.data(), db.data(), arena_);

    const auto rx = rounded_doubles(x), rw = rounded_doubles(w), rdy = rounded_doubles(dy);
    const std::vector<double> exact_bias(b.begin(), b.end());
    std::vector<double> ey(y.size()), edx(dx.size()), edw(dw.size()), edb(db.size());
    conv2d_forward<double>(s, rx.data(), rw.data(), exact_bias.data(), ey.data(), arena_);
    conv2d_backward_data<double>(s, rdy.data(), rw.data(), edx.data(), arena_);
    conv2d_backward_weights<double>(s, rx.data(), rdy.data(), edw.data(), edb.data(), arena_);
    expect_near(y, ey, 16 * 9);
    expect_near(dx, edx, 32 * 9);
    const auto sums = static_cast<double>(batch * s.out_height() * s.out_width());
    expect_near(dw, edw, sums);
    expect_near(db, edb, sums);
  }
}

}  // namespace
}  // namespace viva
