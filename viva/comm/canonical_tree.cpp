#include "viva/comm/canonical_tree.h"

#include <algorithm>
#include <bit>

namespace viva::comm {
namespace {

std::int64_t count(TreeNode node) { return node.hi - node.lo; }

// Whether `left` and `right` are the two children of one node of the tree over [0, num_workers).
bool are_siblings(TreeNode left, TreeNode right, std::int64_t num_workers) {
  TreeNode node{0, num_workers};
  while (count(node) > 1) {
    const std::int64_t middle = split_of(node);
    if (node.lo == left.lo && node.hi == right.hi) return middle == left.hi && middle == right.lo;
    node = left.lo < middle ? TreeNode{node.lo, middle} : TreeNode{middle, node.hi};
  }
  return false;
}

}  // namespace

std::int64_t split_of(TreeNode node) {
  return node.lo + static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count(node) - 1)));
}

double canonical_sum(std::span<const double> values) {
  if (values.empty()) return 0;
  if (values.size() == 1) return values.front();
  const auto middle = static_cast<std::size_t>(split_of({0, static_cast<std::int64_t>(values.size())}));
  return canonical_sum(values.first(middle)) + canonical_sum(values.subspan(middle));
}

ReductionPlan::ReductionPlan(std::int64_t num_workers, std::int64_t num_executors) {
  const auto log2_up = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(num_workers - 1)));
  // Even blocks first; where one would need too many buffers, its ends move to the next multiple of 2, 4, …. One block
  // of everything, the last resort, never does.
  for (std::int64_t multiple = 1;; multiple *= 2) {
    make_blocks(num_workers, num_executors, multiple);
    if (std::ranges::all_of(blocks_, [&](const Block& b) { return b.slots <= log2_up + 1; })) break;
  }
  add_up({0, num_workers}, 0);
}

void ReductionPlan::make_blocks(std::int64_t num_workers, std::int64_t num_executors, std::int64_t multiple) {
  blocks_.clear();
  partials_.clear();
  for (std::int64_t e = 0; e < num_executors; ++e) {
    const auto boundary = [&](std::int64_t part) {
      if (part == num_executors) return num_workers;
      // floor(num_workers * part / num_executors) without overflow, then to the nearest multiple.
      const std::int64_t even = num_workers / num_executors * part + num_workers % num_executors * part / num_executors;
      return std::min((even + multiple / 2) / multiple * multiple, num_workers);
    };
    blocks_.push_back(make_block({boundary(e), boundary(e + 1)}, num_workers));
  }
}

// The block's fold, and its partials behind the others.
ReductionPlan::Block ReductionPlan::make_block(TreeNode workers, std::int64_t num_workers) {
  Block block;
  block.workers = workers;
  block.first_partial = partials_.size();
  std::vector<TreeNode> stack;
  for (std::int64_t w = workers.lo; w < workers.hi; ++w) {
    stack.push_back({w, w + 1});
    block.slots = std::max(block.slots, static_cast<std::int64_t>(stack.size()));
    std::int64_t merges = 0;
    while (stack.size() > 1 && are_siblings(stack[stack.size() - 2], stack.back(), num_workers)) {
      const std::int64_t hi = stack.back().hi;
      stack.pop_back();
      stack.back().hi = hi;
      ++merges;
    }
    block.merges.push_back(merges);
  }
  block.num_partials = stack.size();
  partials_.insert(partials_.end(), stack.begin(), stack.end());
  return block;
}

// Plans the sum of `node`, with its result in place `depth`; returns the operand that holds it.
std::size_t ReductionPlan::add_up(TreeNode node, std::size_t depth) {
  const auto partial = std::find(partials_.begin(), partials_.end(), node);
  if (partial != partials_.end()) return static_cast<std::size_t>(partial - partials_.begin());
  const std::int64_t middle = split_of(node);
  const std::size_t left = add_up({node.lo, middle}, depth);
  const std::size_t right = add_up({middle, node.hi}, depth + 1);
  additions_.push_back({left, right, depth});
  places_ = std::max(places_, depth + 1);
  return partials_.size() + depth;
}

}  // namespace viva::comm
