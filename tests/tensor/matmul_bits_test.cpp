// A matrix product has the same bits whatever the host's settings are when its kernel is made and run. Each product
// runs on a thread of its own, because a thread keeps the kernels it has made.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/tensor/floating.h"
#include "tests/tensor/host_settings.h"
#include "viva/tensor/matmul.h"
#include "viva/tensor/random.h"

namespace viva {
namespace {

template <typename T>
Tensor random_elements(std::uint64_t seed, std::int64_t size) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  const Tensor tensor = Tensor::zeros({size}, dtype_of<T>);
  std::uint64_t element = 0;
  for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(2 * random.uniform(element++) - 1);
  return tensor;
}

// A layer's forward pass, and gradients of weights over many samples: with a transposed left operand and a long sum,
// oneDNN adds up in another order on several threads.
std::vector<MatmulShape> products() {
  return {{.m = 64, .k = 784, .n = 256, .transpose_b = true, .bias = true, .relu = true},
          {.m = 10, .k = 4096, .n = 64, .transpose_a = true},
          {.m = 128, .k = 4096, .n = 10, .transpose_a = true}};
}

template <typename T>
Tensor multiplied_on_a_new_thread(const MatmulShape& shape, std::uint64_t control, int openmp_threads) {
  const Tensor a = random_elements<T>(1, shape.m * shape.k), b = random_elements<T>(2, shape.k * shape.n);
  const Tensor bias = random_elements<T>(3, shape.n), out = Tensor::zeros({shape.m, shape.n}, dtype_of<T>);
  std::thread([&] {
    const HostSettings host(control, openmp_threads);
    Arena arena;
    matmul<T>(shape, a.values<T>().data(), b.values<T>().data(), shape.bias ? bias.values<T>().data() : nullptr,
              out.mutable_values<T>().data(), arena);
  }).join();
  return out;
}

template <typename T>
class MatmulBits : public testing::Test {};
TYPED_TEST_SUITE(MatmulBits, Floating);

TYPED_TEST(MatmulBits, AreTheSameUnderAnySettingsOfTheHost) {
  for (const MatmulShape& shape : products()) {
    const Tensor expected = multiplied_on_a_new_thread<TypeParam>(shape, host_float_controls().front(), 1);
    for (const int openmp_threads : {1, 2, 4}) {
      for (const std::uint64_t control : host_float_controls()) {
        EXPECT_TRUE(bitwise_equal(multiplied_on_a_new_thread<TypeParam>(shape, control, openmp_threads), expected))
            << "m " << shape.m << ", " << openmp_threads << " OpenMP threads, control register " << control;
      }
    }
  }
}

}  // namespace
}  // namespace viva
