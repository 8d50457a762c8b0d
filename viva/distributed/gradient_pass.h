// The second half of a step in two passes, for what must see the whole gradient before anything is applied: the guard
// and clipping. docs/algorithms.md has the formulas.
#pragma once

#include <cstddef>
#include <vector>

#include "viva/distributed/reduce_apply.h"
#include "viva/distributed/step_board.h"
#include "viva/distributed/train.h"
#include "viva/optim/flat_state.h"

namespace viva::distributed {

// What lies within one entry and one chunk of the flat buffer; the entry's padding included. Squares are summed by
// piece, and owned ranges never cut one, so that the norm does not depend on who owns what.
struct Piece {
  std::size_t entry = 0;
  optim::Range range;
};
std::vector<Piece> pieces_of(const optim::Layout& layout);

// One executor's. All of them share the gradient's buffer, of which each writes its owned range.
class GradientPass {
 public:
  GradientPass(const TrainConfig& config, const comm::ReductionPlan& plan, const optim::Layout& layout,
               optim::Range owned, std::size_t id, Tensor gradient);

  // First pass: the canonical sum of the partials, scaled and clipped by value, into the gradient; its squares and
  // what is not finite onto the board. Call within a KernelScope, as apply().
  void reduce(const optim::FlatState& state, const std::vector<PartialView>& partials, const StepFactors& factors,
              StepBoard& board);

  // Second pass, after all have reduced: updates the owned range with `clip` times the gradient. Buffers take part in
  // both passes, but neither in squares nor in clipping.
  void apply(const optim::FlatState& state, const GivenGrads& given, const StepFactors& factors, double clip) const;

 private:
  template <typename T>
  void reduce_piece(const optim::FlatState& state, const std::vector<PartialView>& partials, const StepFactors& factors,
                    std::size_t piece, StepBoard& board);

  const TrainConfig& config_;
  RangeSum sum_;
  optim::Range owned_;
  std::size_t id_;
  Tensor gradient_;
  std::vector<Piece> pieces_;  // of the whole buffer
};

}  // namespace viva::distributed
