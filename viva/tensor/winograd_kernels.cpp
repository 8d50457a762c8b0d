#include "viva/tensor/winograd_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "viva/tensor/winograd_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set

#include <hwy/highway.h>

#include "viva/tensor/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace viva::winograd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors within a block of channels.
template <int64_t kBlock>
using BlockTag = hn::CappedTag<float, static_cast<size_t>(kBlock)>;

// The points but 0 and infinity: a, -a, b, -b. Their powers, and what is made of them here, are exact.
constexpr float kA = 0.625F, kA2 = kA * kA, kA3 = kA2 * kA;
constexpr float kB = 1.5F, kB2 = kB * kB, kB3 = kB2 * kB;

// The matrices of winograd_kernels.h: x[0 … kIn-1] to y[0 … kOut-1].
struct InputTransform {  // Bᵀ
  static constexpr int kIn = 6, kOut = 6;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    const V product = hn::Set(d, kA2 * kB2), sum = hn::Set(d, kA2 + kB2);
    pair(d, kA, kB2, x, y + 1);
    pair(d, kB, kA2, x, y + 3);
    y[0] = hn::NegMulAdd(sum, x[2], hn::MulAdd(product, x[0], x[4]));
    y[5] = hn::NegMulAdd(sum, x[3], hn::MulAdd(product, x[1], x[5]));
  }

 private:
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void pair(D d, float point, float other_squared, const V* x, V* y) {
    const V squared = hn::Set(d, other_squared), factor = hn::Set(d, point);
    const V even = hn::NegMulAdd(squared, x[2], x[4]), odd = hn::NegMulAdd(squared, x[1], x[3]);
    y[0] = hn::MulAdd(factor, odd, even);
    y[1] = hn::NegMulAdd(factor, odd, even);
  }
};

struct InputGradient {  // B
  static constexpr int kIn = 6, kOut = 6;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    const V product = hn::Set(d, kA2 * kB2), sum = hn::Set(d, kA2 + kB2);
    const V even1 = hn::Add(x[1], x[2]), odd1 = hn::Sub(x[1], x[2]);
    const V even2 = hn::Add(x[3], x[4]), odd2 = hn::Sub(x[3], x[4]);
    y[0] = hn::Mul(product, x[0]);
    y[1] = hn::NegMulAdd(hn::Set(d, kA * kB2), odd1, hn::NegMulAdd(hn::Set(d, kB * kA2), odd2, hn::Mul(product, x[5])));
    y[2] = hn::NegMulSub(sum, x[0], hn::MulAdd(hn::Set(d, kB2), even1, hn::Mul(hn::Set(d, kA2), even2)));
    y[3] = hn::NegMulAdd(sum, x[5], hn::MulAdd(hn::Set(d, kA), odd1, hn::Mul(hn::Set(d, kB), odd2)));
    y[4] = hn::Add(x[0], hn::Add(even1, even2));
    y[5] = x[5];
  }
};

struct OutputTransform {  // Aᵀ
  static constexpr int kIn = 6, kOut = 4;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    const V even1 = hn::Add(x[1], x[2]), odd1 = hn::Sub(x[1], x[2]);
    const V even2 = hn::Add(x[3], x[4]), odd2 = hn::Sub(x[3], x[4]);
    y[0] = hn::Add(x[0], hn::Add(even1, even2));
    y[1] = hn::MulAdd(hn::Set(d, kA), odd1, hn::Mul(hn::Set(d, kB), odd2));
    y[2] = hn::MulAdd(hn::Set(d, kA2), even1, hn::Mul(hn::Set(d, kB2), even2));
    y[3] = hn::MulAdd(hn::Set(d, kA3), odd1, hn::MulAdd(hn::Set(d, kB3), odd2, x[5]));
  }
};

struct OutputGradient {  // A
  static constexpr int kIn = 4, kOut = 6;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    y[0] = x[0];
    pair(d, kA, kA2, x, y + 1);
    pair(d, kB, kB2, x, y + 3);
    y[5] = x[3];
  }

 private:
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void pair(D d, float point, float point_squared, const V* x, V* y) {
    const V squared = hn::Set(d, point_squared), factor = hn::Set(d, point);
    const V even = hn::MulAdd(squared, x[2], x[0]), odd = hn::MulAdd(squared, x[3], x[1]);
    y[0] = hn::MulAdd(factor, odd, even);
    y[1] = hn::NegMulAdd(factor, odd, even);
  }
};

// The reciprocals of the products of the distances of 0, ±a and ±b from the other points.
constexpr double kAExact = kA2, kBExact = kB2;
constexpr auto kScale0 = static_cast<float>(1 / (kAExact * kBExact));
constexpr auto kScaleA = static_cast<float>(1 / (2 * kAExact * (kAExact - kBExact)));
constexpr auto kScaleB = static_cast<float>(1 / (2 * kBExact * (kBExact - kAExact)));

struct FilterTransform {  // G
  static constexpr int kIn = 3, kOut = 6;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    y[0] = hn::Mul(hn::Set(d, kScale0), x[0]);
    pair(d, kA, kA2, kScaleA, x, y + 1);
    pair(d, kB, kB2, kScaleB, x, y + 3);
    y[5] = x[2];
  }

 private:
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void pair(D d, float point, float point_squared, float scale, const V* x, V* y) {
    const V even = hn::MulAdd(hn::Set(d, point_squared), x[2], x[0]), odd = hn::Mul(hn::Set(d, point), x[1]);
    y[0] = hn::Mul(hn::Set(d, scale), hn::Add(even, odd));
    y[1] = hn::Mul(hn::Set(d, scale), hn::Sub(even, odd));
  }
};

struct FilterGradient {  // Gᵀ
  static constexpr int kIn = 6, kOut = 3;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE void apply(D d, const V* x, V* y) {
    const V scale1 = hn::Set(d, kScaleA), scale2 = hn::Set(d, kScaleB);
    const V even1 = hn::Mul(scale1, hn::Add(x[1], x[2])), odd1 = hn::Mul(scale1, hn::Sub(x[1], x[2]));
    const V even2 = hn::Mul(scale2, hn::Add(x[3], x[4])), odd2 = hn::Mul(scale2, hn::Sub(x[3], x[4]));
    y[0] = hn::MulAdd(hn::Set(d, kScale0), x[0], hn::Add(even1, even2));
    y[1] = hn::MulAdd(hn::Set(d, kA), odd1, hn::Mul(hn::Set(d, kB), odd2));
    y[2] = hn::MulAdd(hn::Set(d, kA2), even1, hn::MulAdd(hn::Set(d, kB2), even2, x[5]));
  }
};

// The matrix on columns, then on rows: store(i, j, element) for what load(i, j) gives.
template <class M, class D, typename Load, typename Store>
HWY_INLINE void transform(D d, Load load, Store store) {
  using V = hn::Vec<D>;
  V half[M::kIn][M::kOut];
  for (int j = 0; j < M::kIn; ++j) {
    V x[M::kIn];
    for (int i = 0; i < M::kIn; ++i) x[i] = load(i, j);
    M::apply(d, x, half[j]);
  }
  for (int i = 0; i < M::kOut; ++i) {
    V x[M::kIn], y[M::kOut];
    for (int j = 0; j < M::kIn; ++j) x[j] = half[j][i];
    M::apply(d, x, y);
    for (int j = 0; j < M::kOut; ++j) store(i, j, y[j]);
  }
}

// Where a tile of kEdge x kEdge elements is: its first element within the first block of its image, and the part of it
// that lies within the image.
struct Place {
  int64_t offset;
  int64_t row_begin, row_end, column_begin, column_end;
  bool whole;

  bool has(int64_t i, int64_t j) const { return i >= row_begin && i < row_end && j >= column_begin && j < column_end; }
};

template <int64_t kEdge>
Place place_of(const Tiling& t, int64_t tile) {
  const int64_t image = tile / (t.down * t.across), within = tile % (t.down * t.across);
  const int64_t top = within / t.across * kTile - t.padding_h, left = within % t.across * kTile - t.padding_w;
  Place place{(image * t.channels * t.height * t.width) + (top * t.width + left) * t.block,
              std::max<int64_t>(0, -top),
              std::min(kEdge, t.height - top),
              std::max<int64_t>(0, -left),
              std::min(kEdge, t.width - left),
              false};
  place.whole = place.row_begin == 0 && place.row_end == kEdge && place.column_begin == 0 && place.column_end == kEdge;
  return place;
}

// Calls f(place, whole, offset, channel) for each vector of channels of each tile: its first element is at `offset` in
// the image, if it is within it, and it is channel `channel` of the tile. `whole` is a constant.
template <int64_t kBlock, int64_t kEdge, typename F>
HWY_INLINE void for_each_vector(const Tiling& t, Tiles tiles, F f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(BlockTag<kBlock>()));
  const int64_t block_size = t.height * t.width * kBlock;
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    const Place place = place_of<kEdge>(t, tiles.begin + tile);
    for (int64_t channel = 0; channel < t.channels; channel += lanes) {
      const int64_t offset = place.offset + channel / kBlock * block_size + channel % kBlock;
      if (place.whole) {
        f(place, std::true_type(), offset, tile * t.channels + channel);
      } else {
        f(place, std::false_type(), offset, tile * t.channels + channel);
      }
    }
  }
}

// M of each tile of an image, to planes; with kSum also the sum of the tiles' elements, added to sums (channels).
template <class M, int64_t kBlock, bool kSum>
HWY_INLINE void tiles_to_planes(const Tiling& t, Tiles tiles, const float* image, Planes to, float* sums) {
  const BlockTag<kBlock> d;
  const int64_t row = t.width * kBlock;
  for_each_vector<kBlock, M::kIn>(
      t, tiles, [&](const Place& place, auto whole, int64_t offset, int64_t element) HWY_ATTR {
        auto sum = hn::Zero(d);
        transform<M>(
            d,
            [&](int i, int j) HWY_ATTR {
              if (!whole() && !place.has(i, j)) return hn::Zero(d);
              const auto x = hn::LoadU(d, image + offset + i * row + j * kBlock);
              if constexpr (kSum) sum = hn::Add(sum, x);
              return x;
            },
            [&](int i, int j, auto value)
                HWY_ATTR { hn::StoreU(value, d, to.data + (i * M::kOut + j) * to.plane + element); });
        if constexpr (kSum) {
          float* const total = sums + element % t.channels;
          hn::StoreU(hn::Add(hn::LoadU(d, total), sum), d, total);
        }
      });
}

// M of planes: store(where, value, channel) for each result that is within the image.
template <class M, int64_t kBlock, typename Store>
HWY_INLINE void planes_to_tiles(const Tiling& t, Tiles tiles, Planes from, Store store) {
  const BlockTag<kBlock> d;
  const int64_t row = t.width * kBlock;
  for_each_vector<kBlock, M::kOut>(
      t, tiles, [&](const Place& place, auto whole, int64_t offset, int64_t element) HWY_ATTR {
        transform<M>(
            d, [&](int i, int j) HWY_ATTR { return hn::LoadU(d, from.data + (i * M::kIn + j) * from.plane + element); },
            [&](int i, int j, auto value) HWY_ATTR {
              if (!whole() && !place.has(i, j)) return;
              store(offset + i * row + j * kBlock, value, element % t.channels);
            });
      });
}

// Calls f with the block as a constant.
template <typename F>
void with_block(const Tiling& t, F f) {
  if (t.block == 16) return f(std::integral_constant<int64_t, 16>());
  f(std::integral_constant<int64_t, 8>());
}

void input_impl(const Tiling& t, Tiles tiles, const float* image, Planes to) {
  with_block(
      t, [&](auto block) HWY_ATTR { tiles_to_planes<InputTransform, block(), false>(t, tiles, image, to, nullptr); });
}

void output_gradient_impl(const Tiling& t, Tiles tiles, const float* image, Planes to, float* sums) {
  with_block(t, [&](auto block) HWY_ATTR {
    if (sums == nullptr) return tiles_to_planes<OutputGradient, block(), false>(t, tiles, image, to, nullptr);
    tiles_to_planes<OutputGradient, block(), true>(t, tiles, image, to, sums);
  });
}

void input_gradient_impl(const Tiling& t, Tiles tiles, Planes from, float* image) {
  with_block(t, [&](auto block) HWY_ATTR {
    const BlockTag<block()> d;
    planes_to_tiles<InputGradient, block()>(t, tiles, from, [&](int64_t where, auto value, int64_t) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, image + where), value), d, image + where);
    });
  });
}

void output_impl(const Tiling& t, Tiles tiles, Planes from, const float* bias, bool relu, float* image) {
  with_block(t, [&](auto block) HWY_ATTR {
    const BlockTag<block()> d;
    planes_to_tiles<OutputTransform, block()>(t, tiles, from, [&](int64_t where, auto value, int64_t channel) HWY_ATTR {
      if (bias != nullptr) value = hn::Add(value, hn::LoadU(d, bias + channel));
      if (relu) value = hn::Max(value, hn::Zero(d));
      hn::StoreU(value, d, image + where);
    });
  });
}

// M of `count` filters side by side.
template <class M>
HWY_INLINE void filters_impl(int64_t count, const float* from, float* to) {
  const BlockTag<16> d;
  for (int64_t f = 0; f < count; f += static_cast<int64_t>(hn::Lanes(d))) {
    transform<M>(
        d, [&](int i, int j) HWY_ATTR { return hn::LoadU(d, from + (i * M::kIn + j) * count + f); },
        [&](int i, int j, auto value) HWY_ATTR { hn::StoreU(value, d, to + (i * M::kOut + j) * count + f); });
  }
}
void filter_transform_impl(int64_t count, const float* filters, float* planes) {
  filters_impl<FilterTransform>(count, filters, planes);
}
void filter_gradient_impl(int64_t count, const float* planes, float* filters) {
  filters_impl<FilterGradient>(count, planes, filters);
}

// `part` without its pointers; all of its columns, in each plane.
void multiply_each(viva::HWY_NAMESPACE::ProductPart part, Planes a, Planes b, Planes c) {
  const BlockTag<16> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  part.b_row = part.c_row = c.columns;
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    part.a = a.data + plane * a.plane;
    part.b = b.data + plane * b.plane;
    part.c = c.data + plane * c.plane;
    const float* const end = part.b + c.columns;
    for (; part.b + 2 * lanes <= end; part.b += 2 * lanes, part.c += 2 * lanes) {
      viva::HWY_NAMESPACE::MultiplyPart<2>(d, part);
    }
    for (; part.b < end; part.b += lanes, part.c += lanes) viva::HWY_NAMESPACE::MultiplyPart<1>(d, part);
  }
}
void multiply_impl(int64_t rows, Planes a, Planes b, Planes c) {
  viva::HWY_NAMESPACE::ProductPart part{};
  part.rows = rows;
  part.depth = part.a_row = a.columns;
  part.a_depth = 1;
  multiply_each(part, a, b, c);
}
void add_transposed_impl(int64_t rows, Planes a, Planes b, Planes c) {
  viva::HWY_NAMESPACE::ProductPart part{};
  part.rows = part.a_depth = a.columns;
  part.depth = rows;
  part.a_row = 1;
  part.accumulate = true;
  multiply_each(part, a, b, c);
}

}  // namespace
}  // namespace viva::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace viva::winograd {

HWY_EXPORT(input_impl);
HWY_EXPORT(input_gradient_impl);
HWY_EXPORT(output_impl);
HWY_EXPORT(output_gradient_impl);
HWY_EXPORT(filter_transform_impl);
HWY_EXPORT(filter_gradient_impl);
HWY_EXPORT(multiply_impl);
HWY_EXPORT(add_transposed_impl);

void transform_input(const Tiling& tiling, Tiles tiles, const float* image, Planes to) {
  HWY_DYNAMIC_DISPATCH(input_impl)(tiling, tiles, image, to);
}
void add_input_gradient(const Tiling& tiling, Tiles tiles, Planes from, float* image) {
  HWY_DYNAMIC_DISPATCH(input_gradient_impl)(tiling, tiles, from, image);
}
void transform_output(const Tiling& tiling, Tiles tiles, Planes from, const float* bias, bool relu, float* image) {
  HWY_DYNAMIC_DISPATCH(output_impl)(tiling, tiles, from, bias, relu, image);
}
void transform_output_gradient(const Tiling& tiling, Tiles tiles, const float* image, Planes to, float* sums) {
  HWY_DYNAMIC_DISPATCH(output_gradient_impl)(tiling, tiles, image, to, sums);
}
void transform_filters(std::int64_t count, const float* filters, float* planes) {
  HWY_DYNAMIC_DISPATCH(filter_transform_impl)(count, filters, planes);
}
void transform_filter_gradients(std::int64_t count, const float* planes, float* filters) {
  HWY_DYNAMIC_DISPATCH(filter_gradient_impl)(count, planes, filters);
}
void multiply_planes(std::int64_t rows, Planes a, Planes b, Planes c) {
  HWY_DYNAMIC_DISPATCH(multiply_impl)(rows, a, b, c);
}
void add_transposed_products(std::int64_t rows, Planes a, Planes b, Planes c) {
  HWY_DYNAMIC_DISPATCH(add_transposed_impl)(rows, a, b, c);
}

}  // namespace viva::winograd
#endif
