// Matrix products against the triple loop, under every setting of the host.
#include "viva/tensor/matmul.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/tensor/guarded.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/openmp_threads.h"
#include "viva/tensor/packed_matmul.h"
#include "viva/tensor/random.h"

namespace viva {
namespace {

template <typename T>
Tensor random_matrix(std::uint64_t seed, std::int64_t rows, std::int64_t columns) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  Tensor tensor = Tensor::zeros({rows, columns}, dtype_of<T>);
  std::uint64_t element = 0;
  for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(2 * random.uniform(element++) - 1);
  return tensor;
}

template <typename T>
struct Product {
  MatmulShape shape;
  Tensor a, b, bias;

  explicit Product(const MatmulShape& s)
      : shape(s),
        a(s.transpose_a ? random_matrix<T>(1, s.k, s.m) : random_matrix<T>(1, s.m, s.k)),
        b(s.transpose_b ? random_matrix<T>(2, s.n, s.k) : random_matrix<T>(2, s.k, s.n)),
        bias(random_matrix<T>(3, 1, s.n)) {}

  Tensor kernel(decltype(&matmul<T>) multiply = matmul<T>) const {
    Arena arena;
    Tensor out = Tensor::zeros({shape.m, shape.n}, dtype_of<T>);
    multiply(shape, a.values<T>().data(), b.values<T>().data(), shape.bias ? bias.values<T>().data() : nullptr,
             out.mutable_values<T>().data(), arena);
    return out;
  }

  double plain(std::int64_t i, std::int64_t j) const {
    const auto at = [](const Tensor& matrix, std::int64_t row, std::int64_t column) {
      return static_cast<double>(matrix.values<T>()[static_cast<std::size_t>(row * matrix.shape()[1] + column)]);
    };
    double sum = shape.bias ? at(bias, 0, j) : 0;
    for (std::int64_t p = 0; p < shape.k; ++p) {
      sum += (shape.transpose_a ? at(a, p, i) : at(a, i, p)) * (shape.transpose_b ? at(b, j, p) : at(b, p, j));
    }
    return shape.relu ? std::max(sum, 0.0) : sum;
  }
};

// Sums of k products of numbers up to 1. Roundings of a growing sum mostly cancel: the error is about a sixth of this.
template <typename T>
void expect_the_triple_loop(const Product<T>& product, const Tensor& out) {
  const auto& [m, k, n, transpose_a, transpose_b, bias, relu, precision] = product.shape;
  const double bound = static_cast<double>(k + 2) * std::numeric_limits<T>::epsilon();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_NEAR(static_cast<double>(out.row(i).template values<T>()[static_cast<std::size_t>(j)]),
                  product.plain(i, j), bound)
          << m << " " << k << " " << n << ", transposes " << transpose_a << transpose_b << ", bias " << bias
          << ", ReLU " << relu;
    }
  }
}

template <typename T>
void expect_the_triple_loop() {
  const std::vector<std::int64_t> sizes{0, 1, 3, 17, 64};
  for (const std::int64_t m : sizes) {
    for (const std::int64_t k : sizes) {
      for (const std::int64_t n : sizes) {
        for (int flags = 0; flags < 16; ++flags) {
          const Product<T> product({m, k, n, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0});
          expect_the_triple_loop(product, product.kernel());
        }
      }
    }
  }
}

TEST(Matmul, IsTheTripleLoopInFloat32) { expect_the_triple_loop<float>(); }
TEST(Matmul, IsTheTripleLoopInFloat64) { expect_the_triple_loop<double>(); }

// The product by packed_matmul() with operands between forbidden pages.
Tensor guarded_product(const Product<float>& product, test::Guard guard) {
  const auto copy = [&](const Tensor& x) {
    return test::Guarded(guard, x.values<float>().data(), x.values<float>().size());
  };
  const auto a = copy(product.a), b = copy(product.b), bias = copy(product.bias);
  Tensor result = Tensor::zeros({product.shape.m, product.shape.n});
  const std::span<float> results = result.mutable_values<float>();
  const test::Guarded out(guard, results.size());
  Arena arena;
  packed_matmul(product.shape, a.data(), b.data(), bias.data(), out.data(), arena);
  std::copy_n(out.data(), results.size(), results.begin());
  return result;
}

// viva's own kernel, wherever oneDNN's would be used; sizes below, at and beyond those of its blocks.
RC_GTEST_PROP(PackedMatmul, IsTheTripleLoop, ()) {
  const auto size = [](int most) { return static_cast<std::int64_t>(*rc::gen::inRange(1, most)); };
  const bool transpose_a = *rc::gen::arbitrary<bool>(), transpose_b = *rc::gen::arbitrary<bool>();
  const Product<float> product({size(60), size(400), size(300), transpose_a, transpose_b, *rc::gen::arbitrary<bool>(),
                                *rc::gen::arbitrary<bool>()});
  const KernelScope scope;
  const Tensor out = product.kernel(packed_matmul);
  expect_the_triple_loop(product, out);
  for (const auto guard : {test::Guard::kBefore, test::Guard::kBehind}) {
    EXPECT_TRUE(bitwise_equal(guarded_product(product, guard), out));
  }
}

TEST(PackedMatmul, KeepsNaN) {
  const KernelScope scope;
  for (const bool transpose_b : {false, true}) {
    const Product<float> product({2, 3, 4, false, transpose_b, true, true});
    product.a.mutable_values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    const Tensor out = product.kernel(packed_matmul);
    for (const float x : out.row(0).values<float>()) EXPECT_TRUE(std::isnan(x));
    for (const float x : out.row(1).values<float>()) EXPECT_FALSE(std::isnan(x));
  }
}

template <typename T>
void expect_the_same_bits_for_any_host() {
  for (const bool transpose_a : {false, true}) {
    const Product<T> product({256, 64, 784, transpose_a});
    const Tensor expected = product.kernel();
    const int quiet = openmp_threads::current();
    for (const int threads : {1, 2, 5}) {
      openmp_threads::set(threads);
      std::fesetround(FE_UPWARD);
      const Tensor got = product.kernel();
      EXPECT_EQ(std::fegetround(), FE_UPWARD);
      EXPECT_EQ(openmp_threads::current(), threads);
      std::fesetround(FE_TONEAREST);
      EXPECT_TRUE(bitwise_equal(got, expected)) << threads;
    }
    openmp_threads::set(quiet);
    Tensor elsewhere;
    std::thread([&] { elsewhere = product.kernel(); }).join();
    EXPECT_TRUE(bitwise_equal(elsewhere, expected));
  }
}

TEST(Matmul, TheSameBitsForAnyHostInFloat32) { expect_the_same_bits_for_any_host<float>(); }
TEST(Matmul, TheSameBitsForAnyHostInFloat64) { expect_the_same_bits_for_any_host<double>(); }

// Many shapes in turn, more than are kept: each is right when it comes again.
TEST(Matmul, ShapesComeAndGo) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t m = 1; m <= 300; ++m) {
      const Product<float> product({m, 2, 1});
      ASSERT_NEAR(product.kernel().row(m - 1).values<float>()[0], product.plain(m - 1, 0), 1e-6);
    }
  }
}

TEST(Matmul, OfTensorsChecksItsOperands) {
  const Tensor a = random_matrix<float>(1, 2, 3), b = random_matrix<float>(2, 3, 4);
  EXPECT_EQ(matmul(a, b).shape(), (Shape{2, 4}));
  EXPECT_EQ(matmul(a, a, {.transpose_b = true}).shape(), (Shape{2, 2}));
  EXPECT_EQ(matmul(a, a, {.transpose_a = true}).shape(), (Shape{3, 3}));
  try {
    matmul(a, a);
    FAIL() << "no error";
  } catch (const ShapeMismatch& error) {
    EXPECT_EQ(error.expected, (Shape{3, 3}));
    EXPECT_EQ(error.got, (Shape{2, 3}));
  }
  EXPECT_THROW(matmul(a, Tensor::zeros({3})), ShapeMismatch);
  EXPECT_THROW(matmul(a, b.to(Dtype::kFloat64)), DtypeError);
  EXPECT_THROW(matmul(a.to(Dtype::kInt32), b.to(Dtype::kInt32)), DtypeError);
}

}  // namespace
}  // namespace viva
