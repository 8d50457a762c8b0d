#include "viva/tensor/pool2d_blocked.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/pool2d_blocked.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::pool2d_blocked::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A window cut to the image; top and left are where it would begin.
struct Window {
  int64_t top, left, row_begin, row_end, column_begin, column_end;
};

HWY_ATTR Window window_at(const Pool2dShape& s, int64_t out_row, int64_t out_column) {
  const int64_t top = out_row * s.stride_h - s.padding_h, left = out_column * s.stride_w - s.padding_w;
  return {top,
          left,
          std::max<int64_t>(top, 0),
          std::min(top + s.kernel_h, s.height),
          std::max<int64_t>(left, 0),
          std::min(left + s.kernel_w, s.width)};
}

// Calls begin(image) for each image of a block, where it begins in the input, then f(image, output, window) for each of
// its windows, where the result is.
template <int64_t kBlock, typename Begin, typename F>
HWY_INLINE void for_each_window(const Pool2dShape& s, Begin begin, F f) {
  const int64_t image_size = s.height * s.width * kBlock, images = s.batch * s.channels / kBlock;
  const int64_t out_h = s.out_height(), out_w = s.out_width();
  int64_t output = 0;
  for (int64_t i = 0; i < images; ++i) {
    begin(i * image_size);
    for (int64_t y = 0; y < out_h; ++y) {
      for (int64_t x = 0; x < out_w; ++x, output += kBlock) f(i * image_size, output, window_at(s, y, x));
    }
  }
}

// Calls f(input, place) for each element of a window: where it is in its image, and its place in the window.
template <int64_t kBlock, typename F>
HWY_INLINE void for_each_place(const Pool2dShape& s, const Window& w, F f) {
  for (int64_t row = w.row_begin; row < w.row_end; ++row) {
    for (int64_t column = w.column_begin; column < w.column_end; ++column) {
      f((row * s.width + column) * kBlock, (row - w.top) * s.kernel_w + column - w.left);
    }
  }
}

constexpr auto kNothing = [](int64_t) {};

// Clears a gradient image by image, so that it is in the cache when it is added to.
template <int64_t kBlock, typename T>
auto clear_image(const Pool2dShape& s, T* grad_input) {
  return [&s, grad_input](int64_t image) { std::fill_n(grad_input + image, s.height * s.width * kBlock, T{0}); };
}

// Vectors within a block.
template <typename T, int64_t kBlock>
using BlockTag = hn::CappedTag<T, static_cast<size_t>(kBlock)>;

// Places in a window to and from memory. In vectors they are elements' own type, which has them exactly.
template <class D, class V>
HWY_INLINE void store_places([[maybe_unused]] D d, V places, uint16_t* to) {
  const hn::Rebind<uint16_t, D> narrow;
  const hn::Rebind<int32_t, D> whole;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(hn::DemoteTo(narrow, hn::DemoteTo(whole, places)), narrow, to);
  } else {
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(whole, places)), narrow, to);
  }
}
template <class D>
HWY_INLINE auto load_places(D d, const uint16_t* from) {
  const hn::Rebind<int32_t, D> whole;
  const auto places = hn::PromoteTo(whole, hn::LoadU(hn::Rebind<uint16_t, D>(), from));
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::PromoteTo(d, places);
  } else {
    return hn::ConvertTo(d, places);
  }
}

template <int64_t kBlock, typename T>
void max_forward_impl(const Pool2dShape& s, const T* input, T* output, uint16_t* index) {
  const BlockTag<T, kBlock> d;
  for_each_window<kBlock>(s, kNothing, [&](int64_t image, int64_t out, const Window& w) HWY_ATTR {
    const int64_t first = (w.row_begin * s.width + w.column_begin) * kBlock;
    const int64_t first_place = (w.row_begin - w.top) * s.kernel_w + w.column_begin - w.left;
    for (int64_t lane = 0; lane < kBlock; lane += static_cast<int64_t>(hn::Lanes(d))) {
      const T* from = input + image + lane;
      auto best = hn::LoadU(d, from + first);
      auto best_place = hn::Set(d, static_cast<T>(first_place));
      for_each_place<kBlock>(s, w, [&](int64_t element, int64_t place) HWY_ATTR {
        const auto x = hn::LoadU(d, from + element);
        const auto better = hn::Or(hn::Gt(x, best), hn::IsNaN(x));
        best = hn::IfThenElse(better, x, best);
        best_place = hn::IfThenElse(better, hn::Set(d, static_cast<T>(place)), best_place);
      });
      hn::StoreU(best, d, output + out + lane);
      store_places(d, best_place, index + out + lane);
    }
  });
}

template <int64_t kBlock, typename T>
void max_backward_impl(const Pool2dShape& s, const T* grad_output, const uint16_t* index, T* grad_input) {
  const BlockTag<T, kBlock> d;
  for_each_window<kBlock>(
      s, clear_image<kBlock>(s, grad_input), [&](int64_t image, int64_t out, const Window& w) HWY_ATTR {
        for (int64_t lane = 0; lane < kBlock; lane += static_cast<int64_t>(hn::Lanes(d))) {
          T* to = grad_input + image + lane;
          const auto grad = hn::LoadU(d, grad_output + out + lane);
          const auto best_place = load_places(d, index + out + lane);
          for_each_place<kBlock>(s, w, [&](int64_t element, int64_t place) HWY_ATTR {
            const auto is_best = hn::Eq(best_place, hn::Set(d, static_cast<T>(place)));
            hn::StoreU(hn::Add(hn::LoadU(d, to + element), hn::IfThenElseZero(is_best, grad)), d, to + element);
          });
        }
      });
}

template <int64_t kBlock, typename T>
void average_forward_impl(const Pool2dShape& s, const T* input, T* output) {
  const BlockTag<T, kBlock> d;
  const auto places = hn::Set(d, static_cast<T>(s.kernel_h * s.kernel_w));
  for_each_window<kBlock>(s, kNothing, [&](int64_t image, int64_t out, const Window& w) HWY_ATTR {
    for (int64_t lane = 0; lane < kBlock; lane += static_cast<int64_t>(hn::Lanes(d))) {
      const T* from = input + image + lane;
      auto sum = hn::Zero(d);
      for_each_place<kBlock>(
          s, w, [&](int64_t element, int64_t) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(d, from + element)); });
      hn::StoreU(hn::Div(sum, places), d, output + out + lane);
    }
  });
}

template <int64_t kBlock, typename T>
void average_backward_impl(const Pool2dShape& s, const T* grad_output, T* grad_input) {
  const BlockTag<T, kBlock> d;
  const auto places = hn::Set(d, static_cast<T>(s.kernel_h * s.kernel_w));
  for_each_window<kBlock>(s, clear_image<kBlock>(s, grad_input),
                          [&](int64_t image, int64_t out, const Window& w) HWY_ATTR {
                            for (int64_t lane = 0; lane < kBlock; lane += static_cast<int64_t>(hn::Lanes(d))) {
                              T* to = grad_input + image + lane;
                              const auto share = hn::Div(hn::LoadU(d, grad_output + out + lane), places);
                              for_each_place<kBlock>(s, w, [&](int64_t element, int64_t) HWY_ATTR {
                                hn::StoreU(hn::Add(hn::LoadU(d, to + element), share), d, to + element);
                              });
                            }
                          });
}

// Calls f with the block as a constant.
template <typename F>
void with_block(const Pool2dShape& s, F f) {
  if (s.channel_block == 16) return f(std::integral_constant<int64_t, 16>());
  f(std::integral_constant<int64_t, 8>());
}

template <typename T>
void max_forward_any(const Pool2dShape& s, const T* input, T* output, uint16_t* index) {
  with_block(s, [&](auto block) { max_forward_impl<block()>(s, input, output, index); });
}
template <typename T>
void max_backward_any(const Pool2dShape& s, const T* grad_output, const uint16_t* index, T* grad_input) {
  with_block(s, [&](auto block) { max_backward_impl<block()>(s, grad_output, index, grad_input); });
}
template <typename T>
void average_forward_any(const Pool2dShape& s, const T* input, T* output) {
  with_block(s, [&](auto block) { average_forward_impl<block()>(s, input, output); });
}
template <typename T>
void average_backward_any(const Pool2dShape& s, const T* grad_output, T* grad_input) {
  with_block(s, [&](auto block) { average_backward_impl<block()>(s, grad_output, grad_input); });
}

void max_forward_f32(const Pool2dShape& s, const float* x, float* y, uint16_t* i) { max_forward_any(s, x, y, i); }
void max_forward_f64(const Pool2dShape& s, const double* x, double* y, uint16_t* i) { max_forward_any(s, x, y, i); }
void max_backward_f32(const Pool2dShape& s, const float* x, const uint16_t* i, float* y) {
  max_backward_any(s, x, i, y);
}
void max_backward_f64(const Pool2dShape& s, const double* x, const uint16_t* i, double* y) {
  max_backward_any(s, x, i, y);
}
void average_forward_f32(const Pool2dShape& s, const float* x, float* y) { average_forward_any(s, x, y); }
void average_forward_f64(const Pool2dShape& s, const double* x, double* y) { average_forward_any(s, x, y); }
void average_backward_f32(const Pool2dShape& s, const float* x, float* y) { average_backward_any(s, x, y); }
void average_backward_f64(const Pool2dShape& s, const double* x, double* y) { average_backward_any(s, x, y); }

}  // namespace
}  // namespace viva::pool2d_blocked::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::pool2d_blocked {

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

}  // namespace viva::pool2d_blocked
#endif
