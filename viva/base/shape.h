// Shape: the sizes of a tensor's axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

namespace viva {

// A sequence of axis sizes, outermost first; empty for a scalar. Copies of up to six axes allocate nothing.
class Shape {
 public:
  using value_type = std::int64_t;
  using iterator = std::int64_t*;
  using const_iterator = const std::int64_t*;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> axes) : Shape(axes.begin(), axes.end()) {}
  Shape(std::size_t rank, std::int64_t axis) {
    resize(rank);
    std::fill(begin(), end(), axis);
  }
  template <std::input_iterator Iterator>
  Shape(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return size_ <= kFew ? few_.data() : many_.data(); }
  const_iterator begin() const { return size_ <= kFew ? few_.data() : many_.data(); }
  iterator end() { return begin() + size_; }
  const_iterator end() const { return begin() + size_; }
  std::int64_t& operator[](std::size_t i) { return begin()[i]; }
  std::int64_t operator[](std::size_t i) const { return begin()[i]; }
  std::int64_t& front() { return *begin(); }
  std::int64_t front() const { return *begin(); }
  std::int64_t& back() { return end()[-1]; }
  std::int64_t back() const { return end()[-1]; }

  // New axes are 0.
  void resize(std::size_t rank) {
    if (rank > kFew) {
      if (size_ <= kFew) many_.assign(few_.begin(), few_.begin() + size_);
      many_.resize(rank);
    } else {
      if (size_ > kFew) std::copy_n(many_.begin(), rank, few_.begin());
      if (rank > size_) std::fill(few_.begin() + size_, few_.begin() + rank, 0);
    }
    size_ = rank;
  }
  void clear() { resize(0); }
  void push_back(std::int64_t axis) {
    resize(size_ + 1);
    back() = axis;
  }
  void pop_back() { resize(size_ - 1); }
  void insert(const_iterator before, std::int64_t axis) {
    const std::ptrdiff_t i = before - begin();
    push_back(axis);
    std::rotate(begin() + i, end() - 1, end());
  }
  void erase(const_iterator at) {
    const std::ptrdiff_t i = at - begin();
    std::copy(begin() + i + 1, end(), begin() + i);
    pop_back();
  }

  friend bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  static constexpr std::size_t kFew = 6;

  std::size_t size_ = 0;
  std::array<std::int64_t, kFew> few_{};
  std::vector<std::int64_t> many_;  // all of them, where they are more
};

// "[2, 3]".
std::string to_string(const Shape& shape);

}  // namespace viva
