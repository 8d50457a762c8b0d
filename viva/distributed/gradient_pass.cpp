#include "viva/distributed/gradient_pass.h"

#include <algorithm>

#include "viva/tensor/magnitude.h"

namespace viva::distributed {

std::vector<Piece> pieces_of(const optim::Layout& layout) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < layout.entries().size(); ++i) {
    const optim::LayoutEntry& entry = layout.entries()[i];
    for (std::int64_t begin = entry.offset, end = 0; begin < entry.end; begin = end) {
      end = std::min(entry.end, (begin / optim::kChunk + 1) * optim::kChunk);
      pieces.push_back({i, {begin, end}});
    }
  }
  return pieces;
}

GradientPass::GradientPass(const TrainConfig& config, const comm::ReductionPlan& plan, const optim::Layout& layout,
                           optim::Range owned, std::size_t id, Tensor gradient)
    : config_(config),
      sum_(plan, layout),
      owned_(owned),
      id_(id),
      gradient_(std::move(gradient)),
      pieces_(pieces_of(layout)) {}

void GradientPass::reduce(const optim::FlatState& state, const std::vector<PartialView>& partials,
                          const StepFactors& factors, StepBoard& board) {
  board.bad_sums[id_].reset();
  const auto first = std::ranges::lower_bound(pieces_, owned_.begin, {}, [](const Piece& p) { return p.range.begin; });
  visit_floating(state.layout().dtype(), "GradientPass", [&](auto type) {
    for (auto piece = first; piece != pieces_.end() && piece->range.begin < owned_.end; ++piece) {
      reduce_piece<decltype(type)>(state, partials, factors, static_cast<std::size_t>(piece - pieces_.begin()), board);
    }
  });
}

template <typename T>
void GradientPass::reduce_piece(const optim::FlatState& state, const std::vector<PartialView>& partials,
                                const StepFactors& factors, std::size_t piece, StepBoard& board) {
  const auto [entry, range] = pieces_[piece];
  board.squares[piece] = 0;
  if (!board.given.gave(entry) || state.frozen(entry)) return;
  T* values = gradient_.mutable_values<T>().data() + range.begin;
  const auto count = static_cast<std::size_t>(range.size());
  optim::GradientSum<T> sum = sum_.over<T>(partials, range);
  const bool buffer = state.is_buffer(entry);
  sum.scale = static_cast<T>(buffer ? factors.statistic : factors.gradient);
  optim::store_sum<T>(values, sum, count);
  // Before clipping by value, which would hide an infinity.
  if (config_.non_finite != NonFinite::kIgnore && !board.bad_sums[id_]) {
    board.bad_sums[id_] = first_non_finite(state.layout(), gradient_, entry, range);
  }
  if (buffer) return;
  if (config_.clipping.value) clamp(values, static_cast<T>(*config_.clipping.value), count);
  if (config_.clipping.norm) board.squares[piece] = sum_of_squares(values, count);
}

void GradientPass::apply(const optim::FlatState& state, const GivenGrads& given, const StepFactors& factors,
                         double clip) const {
  const auto& entries = state.layout().entries();
  visit_floating(state.layout().dtype(), "GradientPass", [&](auto type) {
    using T = decltype(type);
    const T* gradient = gradient_.values<T>().data();
    for (std::size_t i = state.layout().first_entry(owned_); i < entries.size(); ++i) {
      if (entries[i].offset >= owned_.end) break;
      if (!given.gave(i) || state.frozen(i)) continue;
      const optim::Range range{std::max(entries[i].offset, owned_.begin), std::min(entries[i].end, owned_.end)};
      if (range.size() == 0) continue;
      optim::GradientSum<T> reduced{{gradient + range.begin, 1}, {}, 1};
      if (state.is_buffer(i)) {
        state.update_buffer<T>(static_cast<T>(factors.buffer_momentum), range, reduced);
      } else {
        reduced.scale = static_cast<T>(clip);
        state.update<T>(state.next_factors<T>(i, factors.lr), range, reduced);
      }
    }
  });
}

}  // namespace viva::distributed
