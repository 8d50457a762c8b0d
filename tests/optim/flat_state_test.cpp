// FlatState: moments under a split range, the padding, and the settings of the host.
#include "viva/optim/flat_state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/tensor/host_settings.h"
#include "viva/tensor/kernel_scope.h"
#include "viva/tensor/random.h"

namespace viva::optim {
namespace {

std::vector<Optimizer> rules_of_each_kind() {
  return {sgd(0.1), sgd_momentum(0.1), rmsprop(0.01), adam(0.01), adamw(0.01, 0.1)};
}

template <typename T>
Tensor random_values(std::int64_t size, std::uint64_t seed, double scale = 1) {
  const RandomStream random(seed, RandomPurpose::kInitialize, 0);
  const Tensor tensor = Tensor::zeros({size}, dtype_of<T>);
  std::uint64_t element = 0;
  for (T& x : tensor.mutable_values<T>()) x = static_cast<T>(scale * (random.uniform(element++) - 0.5));
  return tensor;
}

void expect_same_state(const Optimizer& a, const Optimizer& b) {
  RC_ASSERT(a.state().size() == b.state().size());
  for (const auto& [name, state] : a.state()) {
    const ParamState& other = b.state().at(name);
    RC_ASSERT(state.steps == other.steps);
    RC_ASSERT(state.moments.size() == other.moments.size());
    for (std::size_t m = 0; m < state.moments.size(); ++m) {
      RC_ASSERT(bitwise_equal(state.moments[m], other.moments[m]));
    }
  }
}

// Cuts at any chunks, not only the even ones that owners have.
template <typename T>
void splitting_changes_no_moment() {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 20'000);
  auto cuts = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, size / kChunk + 1));
  const Optimizer rule = *rc::gen::elementOf(rules_of_each_kind());
  const KernelScope scope;
  const std::vector<Param> params{{"w", random_values<T>(size, 1)}};
  FlatState whole(rule, params), split(rule, params);
  const Layout& layout = whole.layout();
  for (std::int64_t& cut : cuts) cut *= kChunk;
  cuts.push_back(0);
  cuts.push_back(layout.size());
  std::sort(cuts.begin(), cuts.end());

  for (std::uint64_t repeat = 0; repeat < 3; ++repeat) {
    const Tensor gradient = layout.make_buffer();
    std::ranges::copy(random_values<T>(size, 2 + repeat).template values<T>(), gradient.mutable_values<T>().begin());
    const T* values = gradient.values<T>().data();
    whole.update<T>(whole.next_factors<T>(0), {0, layout.size()}, {{values, 1}, {}, T(0.25)});
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      split.update<T>(split.next_factors<T>(0), {cuts[c], cuts[c + 1]}, {{values + cuts[c], 1}, {}, T(0.25)});
    }
    whole.count_update(0);
    split.count_update(0);
  }
  RC_ASSERT(bitwise_equal(whole.params()[0].value, split.params()[0].value));
  expect_same_state(whole.optimizer(), split.optimizer());
}

RC_GTEST_PROP(FlatState, SplittingARangeChangesNoMomentInFloat32, ()) { splitting_changes_no_moment<float>(); }
RC_GTEST_PROP(FlatState, SplittingARangeChangesNoMomentInFloat64, ()) { splitting_changes_no_moment<double>(); }

TEST(FlatState, PaddingStaysZero) {
  for (const Optimizer& rule : rules_of_each_kind()) {
    const KernelScope scope;
    const std::vector<Param> params{{"w", random_values<float>(5, 1)}};
    FlatState state(rule, params);
    const Tensor gradient = state.layout().make_buffer();
    for (std::size_t i = 0; i < 5; ++i) gradient.mutable_values<float>()[i] = 1;
    for (int repeat = 0; repeat < 3; ++repeat) {
      state.update<float>(state.next_factors<float>(0), {0, 16}, {{gradient.values<float>().data(), 1}, {}, 1});
      state.count_update(0);
    }
    // The whole line: beyond the parameter's own five elements it is padding.
    const float* line = state.params()[0].value.values<float>().data();
    for (int i = 5; i < 16; ++i) EXPECT_EQ(line[i], 0.0F) << name_of(rule.kind()) << " element " << i;
  }
}

TEST(FlatState, CopiesWhatItIsGiven) {
  const std::vector<Param> params{{"w", random_values<float>(5, 1)}};
  const FlatState state(sgd(0.1), params);
  params[0].value.mutable_values<float>()[0] = 99;
  EXPECT_NE(state.params()[0].value.values<float>()[0], 99);
  const auto copies = state.copy_params();
  copies[0].value.mutable_values<float>()[1] = 99;
  EXPECT_NE(state.params()[0].value.values<float>()[1], 99);
}

// Gradients so small that their squares are subnormal tell flush-to-zero; thirds tell the rounding mode.
TEST(FlatState, AStepIsTheSameUnderAnySettingsOfTheHost) {
  const std::vector<Param> params{{"w", random_values<float>(100, 1)}};
  const std::vector<GradPair> large{{"w", random_values<float>(100, 2)}};
  const std::vector<GradPair> small{{"w", random_values<float>(100, 3, 1e-19)}};
  for (const Optimizer& rule : rules_of_each_kind()) {
    for (const auto& grads : {large, small}) {
      const StepResult expected = step(rule, params, grads);
      for (const std::uint64_t control : host_float_controls()) {
        StepResult got{{}, rule};
        {
          const HostSettings host(control, 3);
          got = step(rule, params, grads);
        }
        EXPECT_TRUE(bitwise_equal(got.params[0].value, expected.params[0].value)) << name_of(rule.kind());
        for (std::size_t m = 0; m < rule.num_moments(); ++m) {
          EXPECT_TRUE(
              bitwise_equal(got.optimizer.state().at("w").moments[m], expected.optimizer.state().at("w").moments[m]))
              << name_of(rule.kind()) << " moment " << m << " control register " << control;
        }
      }
    }
  }
}

}  // namespace
}  // namespace viva::optim
