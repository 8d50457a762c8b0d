#include "viva/io/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "viva/base/error.h"

namespace viva::io {
namespace {

std::vector<Param> example() {
  return {{"layers.0.weight", Tensor::from_values<float>({1, -2, 0.5, 3, 4, -0.25}, {2, 3})},
          {"layers.0.bias", Tensor::from_values<double>({0.1, -0.0})},
          {"count", Tensor::from_values<std::int64_t>({7}, {})}};
}

// The expected values come from Python's struct and hashlib, following the grammar in digest.h.
TEST(Digest, HasTheDocumentedBytes) {
  EXPECT_EQ(digest(example()), "1ae3fdae1994fed6822068a6e6ea7ad66319a42b3432e51d781e140b3116d877");
  EXPECT_EQ(digest({}), "7a9f3496dc7b9068090122cdf8ca935bc213e92beb9f9e523510f11701f5523d");
}

TEST(Digest, DoesNotDependOnTheOrder) {
  std::vector<Param> params = example();
  const std::string expected = digest(params);
  std::sort(params.begin(), params.end(), [](const Param& a, const Param& b) { return a.name < b.name; });
  do {
    EXPECT_EQ(digest(params), expected);
  } while (std::next_permutation(params.begin(), params.end(),
                                 [](const Param& a, const Param& b) { return a.name < b.name; }));
}

TEST(Digest, RefusesANameThatOccursTwice) {
  std::vector<Param> params = example();
  params.push_back({"count", Tensor::zeros({1})});
  try {
    digest(params);
    FAIL();
  } catch (const DimensionError& error) {
    EXPECT_EQ(error.name, "count");
  }
}

TEST(Digest, ZeroAndMinusZeroDiffer) {
  EXPECT_NE(digest(std::vector<Param>{{"a", Tensor::from_values<float>({0.0F})}}),
            digest(std::vector<Param>{{"a", Tensor::from_values<float>({-0.0F})}}));
}

RC_GTEST_PROP(Digest, DependsOnEveryPart, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::int32_t>>());
  const auto name = *rc::gen::arbitrary<std::string>();
  const auto count = static_cast<std::int64_t>(values.size());
  const auto digest_of = [](const std::string& param_name, const Tensor& value) {
    return digest(std::vector<Param>{{param_name, value}});
  };
  const Tensor tensor = Tensor::from_values(values);
  const std::string base = digest_of(name, tensor);
  RC_ASSERT(digest_of(name, tensor.clone()) == base);
  RC_ASSERT(digest_of(name + "x", tensor) != base);
  RC_ASSERT(digest_of(name, tensor.reshape({count, 1})) != base);
  RC_ASSERT(digest_of(name, tensor.to(Dtype::kInt64)) != base);
  const Tensor changed = tensor.clone();
  const auto i = *rc::gen::inRange<std::size_t>(0, values.size());
  changed.mutable_values<std::int32_t>()[i] ^= 1;
  RC_ASSERT(digest_of(name, changed) != base);
}

}  // namespace
}  // namespace viva::io
