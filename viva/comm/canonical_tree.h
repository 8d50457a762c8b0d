// The canonical sum: one fixed order of additions for any number of workers, and who does which of them.
//
// Note [Canonical sum]: the sum over workers lo … hi-1 is the worker's own value where there is one, and otherwise
// left + right, split at the largest power of two below their number. The order depends on the number of workers alone.
// A contiguous block of workers is covered by O(log W) complete subtrees; whoever computes the block folds it into one
// partial sum a subtree, and the rest of the tree is added up from the partials. docs/algorithms.md has a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace viva::comm {

// A node of the tree: the sum over workers [lo, hi).
struct TreeNode {
  std::int64_t lo = 0, hi = 0;
  bool operator==(const TreeNode&) const = default;
};

// Where the node's left child ends and its right one begins. The node has at least two workers.
std::int64_t split_of(TreeNode node);

// The canonical sum of the values themselves; 0 where there are none.
double canonical_sum(std::span<const double> values);

// out = left + right. Operands below the number of partials are partials; the others are sums: operand p + k is the
// sum that stands in place k.
struct Addition {
  std::size_t left = 0, right = 0;
  std::size_t out = 0;  // the place of the sum
};

// How `num_executors` executors compute the canonical sum over `num_workers` workers. Their blocks are as even as the
// bound on buffers allows. Immutable; thread-safe.
class ReductionPlan {
 public:
  // Both at least 1. Executors beyond the workers have empty blocks.
  ReductionPlan(std::int64_t num_workers, std::int64_t num_executors);

  struct Block {
    TreeNode workers;                  // the executor's own, computed in ascending order
    std::vector<std::int64_t> merges;  // by worker of the block: how many sibling pairs are merged once it is computed
    std::int64_t slots = 0;            // the most partials that are alive at once: at most ⌈log2 W⌉ + 1
    std::size_t first_partial = 0;     // the number of the block's first partial among all
    std::size_t num_partials = 0;      // subtrees that cover the block
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  // Every block's partials, in the workers' order. Those of a block lie in its slots 0, 1, ….
  const std::vector<TreeNode>& partials() const { return partials_; }
  // The additions from the partials up to the root, in an order that has every operand ready. The last one, if any, is
  // the root; without one the only partial is.
  const std::vector<Addition>& additions() const { return additions_; }
  // Places for sums that are alive at once.
  std::size_t places() const { return places_; }

 private:
  void make_blocks(std::int64_t num_workers, std::int64_t num_executors, std::int64_t multiple);
  Block make_block(TreeNode workers, std::int64_t num_workers);
  std::size_t add_up(TreeNode node, std::size_t depth);

  std::vector<Block> blocks_;
  std::vector<TreeNode> partials_;
  std::vector<Addition> additions_;
  std::size_t places_ = 0;
};

}  // namespace viva::comm
