#include "viva/tensor/pool2d_plain.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/pool2d_plain.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::pool2d_plain::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// At most this many windows of a row at once, on every instruction set.
constexpr int64_t kMostLanes = 16;
template <typename T>
using RowTag = hn::CappedTag<T, static_cast<size_t>(kMostLanes)>;

// The places, first to last, of a window that begins at `begin` that are within an axis.
struct Range {
  int64_t first, last;
};
HWY_INLINE Range places_within(int64_t begin, int64_t kernel, int64_t size) {
  return {std::max<int64_t>(-begin, 0), std::min(kernel, size - begin)};
}

// Calls f(input, y, output) for each row of results: its image, its number, the place of its first result.
template <typename F>
HWY_INLINE void for_each_row(const Pool2dShape& s, F f) {
  const int64_t images = s.batch * s.channels, out_h = s.out_height(), out_w = s.out_width();
  for (int64_t i = 0; i < images; ++i) {
    for (int64_t y = 0; y < out_h; ++y) f(i * s.height * s.width, y, (i * out_h + y) * out_w);
  }
}

// Elements `begin`, begin + stride, … of `size` ones. Gathering is slow: neighbours and every second element are loaded
// as they lie where the vectors are within the whole. What is outside is any element.
template <class D, typename T, class Columns>
HWY_INLINE auto load_strided(D d, const T* values, int64_t size, int64_t begin, int64_t stride, const T* row,
                             Columns inside) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (begin >= 0 && begin + stride * lanes <= size) {
    if (stride == 1) return hn::LoadU(d, values + begin);
#if HWY_TARGET != HWY_SCALAR
    if (stride == 2) return hn::ConcatEven(d, hn::LoadU(d, values + begin + lanes), hn::LoadU(d, values + begin));
#endif
  }
  return hn::GatherIndex(d, row, inside);
}

// Calls f(values, valid, place) for each place of the windows of row y that begin with number x: one element of each,
// and which of them are in the image that begins at `image`. What is not `valid` is any element.
template <class D, typename T, typename F>
HWY_INLINE void for_each_place(D d, const Pool2dShape& s, const T* input, int64_t image, int64_t y, int64_t x, F f) {
  const hn::RebindToSigned<D> di;
  using Column = hn::TFromD<decltype(di)>;
  const int64_t size = s.batch * s.channels * s.height * s.width;
  const int64_t top = y * s.stride_h - s.padding_h, left = x * s.stride_w - s.padding_w;
  const auto windows = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<Column>(s.stride_w)));
  const auto zero = hn::Zero(di), last = hn::Set(di, static_cast<Column>(s.width - 1));
  const Range rows = places_within(top, s.kernel_h, s.height);
  for (int64_t row = rows.first; row < rows.last; ++row) {
    const int64_t row_begin = image + (top + row) * s.width;
    for (int64_t place = 0; place < s.kernel_w; ++place) {
      const auto column = hn::Add(windows, hn::Set(di, static_cast<Column>(left + place)));
      const auto inside = hn::Min(hn::Max(column, zero), last);
      const auto values = load_strided(d, input, size, row_begin + left + place, s.stride_w, input + row_begin, inside);
      f(values, hn::RebindMask(d, hn::Eq(column, inside)), row * s.kernel_w + place);
    }
  }
}

template <typename T>
void max_forward_impl(const Pool2dShape& s, const T* input, T* output, uint16_t* index) {
  const int64_t width = s.out_width();  // a division
  const RowTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto none = hn::Set(d, T{-1});
  T largest[kMostLanes], places[kMostLanes];
  for_each_row(s, [&](int64_t image, int64_t y, int64_t out) HWY_ATTR {
    for (int64_t x = 0; x < width; x += lanes) {
      auto best = none, best_place = none;
      for_each_place(d, s, input, image, y, x, [&](auto value, auto valid, int64_t place) HWY_ATTR {
        const auto better = hn::Or(hn::Or(hn::Gt(value, best), hn::IsNaN(value)), hn::Eq(best_place, none));
        const auto chosen = hn::And(better, valid);
        best = hn::IfThenElse(chosen, value, best);
        best_place = hn::IfThenElse(chosen, hn::Set(d, static_cast<T>(place)), best_place);
      });
      hn::StoreU(best, d, largest);
      hn::StoreU(best_place, d, places);
      const int64_t count = std::min(lanes, width - x);
      std::copy_n(largest, count, output + out + x);
      for (int64_t i = 0; i < count; ++i) index[out + x + i] = static_cast<uint16_t>(places[i]);
    }
  });
}

template <typename T>
void average_forward_impl(const Pool2dShape& s, const T* input, T* output) {
  const int64_t width = s.out_width();  // a division
  const RowTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto count = hn::Set(d, static_cast<T>(s.kernel_h * s.kernel_w));
  T averages[kMostLanes];
  for_each_row(s, [&](int64_t image, int64_t y, int64_t out) HWY_ATTR {
    for (int64_t x = 0; x < width; x += lanes) {
      auto sum = hn::Zero(d);
      for_each_place(d, s, input, image, y, x, [&](auto value, auto valid, int64_t) HWY_ATTR {
        sum = hn::Add(sum, hn::IfThenElseZero(valid, value));
      });
      hn::StoreU(hn::Div(sum, count), d, averages);
      std::copy_n(averages, std::min(lanes, width - x), output + out + x);
    }
  });
}

// Gradients go one by one to where they belong.

template <typename T>
void max_backward_impl(const Pool2dShape& s, const T* grad_output, const uint16_t* index, T* grad_input) {
  const int64_t width = s.out_width();  // a division
  // place / kernel_w for a place below 2^16, by multiplication: rounding up cannot reach the next whole number.
  const uint64_t reciprocal =
      ((uint64_t{1} << 32) + static_cast<uint64_t>(s.kernel_w) - 1) / static_cast<uint64_t>(s.kernel_w);
  for_each_row(s, [&](int64_t image, int64_t y, int64_t out) {
    if (y == 0) std::fill_n(grad_input + image, s.height * s.width, T{0});
    T* const corner = grad_input + image + (y * s.stride_h - s.padding_h) * s.width - s.padding_w;
    for (int64_t x = 0; x < width; ++x) {
      const uint64_t place = index[out + x];
      const auto row = static_cast<int64_t>(place * reciprocal >> 32);
      corner[row * (s.width - s.kernel_w) + static_cast<int64_t>(place) + x * s.stride_w] += grad_output[out + x];
    }
  });
}

template <typename T>
void average_backward_impl(const Pool2dShape& s, const T* grad_output, T* grad_input) {
  const int64_t width = s.out_width();  // a division
  const T count = static_cast<T>(s.kernel_h * s.kernel_w);
  for_each_row(s, [&](int64_t image, int64_t y, int64_t out) {
    if (y == 0) std::fill_n(grad_input + image, s.height * s.width, T{0});
    const int64_t top = y * s.stride_h - s.padding_h;
    const Range rows = places_within(top, s.kernel_h, s.height);
    for (int64_t row = top + rows.first; row < top + rows.last; ++row) {
      T* to = grad_input + image + row * s.width;
      // Windows within places: long loops. The last place first, so that an element adds up its windows in their order.
      for (int64_t place = s.kernel_w - 1; place >= 0; --place) {
        for (int64_t x = 0; x < width; ++x) {
          const int64_t column = x * s.stride_w - s.padding_w + place;
          if (column >= 0 && column < s.width) to[column] += grad_output[out + x] / count;
        }
      }
    }
  });
}

void max_forward_f32(const Pool2dShape& s, const float* x, float* y, uint16_t* i) { max_forward_impl(s, x, y, i); }
void max_forward_f64(const Pool2dShape& s, const double* x, double* y, uint16_t* i) { max_forward_impl(s, x, y, i); }
void max_backward_f32(const Pool2dShape& s, const float* x, const uint16_t* i, float* y) {
  max_backward_impl(s, x, i, y);
}
void max_backward_f64(const Pool2dShape& s, const double* x, const uint16_t* i, double* y) {
  max_backward_impl(s, x, i, y);
}
void average_forward_f32(const Pool2dShape& s, const float* x, float* y) { average_forward_impl(s, x, y); }
void average_forward_f64(const Pool2dShape& s, const double* x, double* y) { average_forward_impl(s, x, y); }
void average_backward_f32(const Pool2dShape& s, const float* x, float* y) { average_backward_impl(s, x, y); }
void average_backward_f64(const Pool2dShape& s, const double* x, double* y) { average_backward_impl(s, x, y); }

}  // namespace
}  // namespace viva::pool2d_plain::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::pool2d_plain {

HWY_EXPORT(max_forward_f32);
HWY_EXPORT(max_forward_f64);
HWY_EXPORT(max_backward_f32);
HWY_EXPORT(max_backward_f64);
HWY_EXPORT(average_forward_f32);
HWY_EXPORT(average_forward_f64);
HWY_EXPORT(average_backward_f32);
HWY_EXPORT(average_backward_f64);

void max_forward(const Pool2dShape& shape, const float* input, float* output, std::uint16_t* index) {
  HWY_DYNAMIC_DISPATCH(max_forward_f32)(shape, input, output, index);
}
void max_forward(const Pool2dShape& shape, const double* input, double* output, std::uint16_t* index) {
  HWY_DYNAMIC_DISPATCH(max_forward_f64)(shape, input, output, index);
}
void max_backward(const Pool2dShape& shape, const float* grad_output, const std::uint16_t* index, float* grad_input) {
  HWY_DYNAMIC_DISPATCH(max_backward_f32)(shape, grad_output, index, grad_input);
}
void max_backward(const Pool2dShape& shape, const double* grad_output, const std::uint16_t* index, double* grad_input) {
  HWY_DYNAMIC_DISPATCH(max_backward_f64)(shape, grad_output, index, grad_input);
}
void average_forward(const Pool2dShape& shape, const float* input, float* output) {
  HWY_DYNAMIC_DISPATCH(average_forward_f32)(shape, input, output);
}
void average_forward(const Pool2dShape& shape, const double* input, double* output) {
  HWY_DYNAMIC_DISPATCH(average_forward_f64)(shape, input, output);
}
void average_backward(const Pool2dShape& shape, const float* grad_output, float* grad_input) {
  HWY_DYNAMIC_DISPATCH(average_backward_f32)(shape, grad_output, grad_input);
}
void average_backward(const Pool2dShape& shape, const double* grad_output, double* grad_input) {
  HWY_DYNAMIC_DISPATCH(average_backward_f64)(shape, grad_output, grad_input);
}

}  // namespace viva::pool2d_plain
#endif
