#include "viva/tensor/winograd.h"

#include <algorithm>

#include "viva/tensor/channel_blocks.h"
#include "viva/tensor/tensor.h"
#include "viva/tensor/winograd_kernels.h"

namespace viva {
namespace {

using winograd::kPlanes;
using winograd::Planes;
using winograd::Tiles;
using winograd::Tiling;

// So many tiles at a time: what is transformed and multiplied stays in the second cache.
constexpr std::int64_t kTilesAtATime = 24;

// A plane more than a multiple of a page away would fall on the same lines of the cache as the others.
Planes make_planes(std::int64_t channels, Arena& arena) {
  const std::int64_t plane = kTilesAtATime * channels + 16;
  return {arena.allocate<float>(static_cast<std::size_t>(kPlanes * plane)).data(), plane, channels};
}

// Images that come in (batch, channels, height, width) are brought into blocks of 16 channels, and back.
constexpr std::int64_t kWinogradBlock = 16;

struct ImageOperand {
  Shape shape;
  std::int64_t block;  // as the caller has it

  std::int64_t size() const { return element_count(shape); }
  std::int64_t inner_block() const { return block == 1 ? kWinogradBlock : block; }

  // The image of the caller in blocks, in the arena if it is not.
  const float* in_blocks(const float* image, Arena& arena) const {
    if (block != 1) return image;
    float* const blocked = make(arena);
    to_channel_blocks<float>(shape, kWinogradBlock, image, blocked);
    return blocked;
  }
  // Where to write an image that goes to the caller, and its way there.
  float* to_write(float* image, Arena& arena) const { return block != 1 ? image : make(arena); }
  void give(const float* written, float* image) const {
    if (block == 1) from_channel_blocks<float>(shape, kWinogradBlock, written, image);
  }

 private:
  float* make(Arena& arena) const { return arena.allocate<float>(static_cast<std::size_t>(size())).data(); }
};

ImageOperand input_of(const Conv2dShape& s) { return {s.input_shape(), s.input_block}; }
ImageOperand output_of(const Conv2dShape& s) { return {s.output_shape(), s.output_block}; }

std::int64_t tiles_over(std::int64_t size) { return (size + winograd::kTile - 1) / winograd::kTile; }

// The same tiles, as they lie on the input and on the output.
Tiling tiling_of_input(const Conv2dShape& s) {
  return {s.in_channels,
          input_of(s).inner_block(),
          s.height,
          s.width,
          tiles_over(s.out_height()),
          tiles_over(s.out_width()),
          s.padding_h,
          s.padding_w};
}
Tiling tiling_of_output(const Conv2dShape& s) {
  return {s.out_channels,
          output_of(s).inner_block(),
          s.out_height(),
          s.out_width(),
          tiles_over(s.out_height()),
          tiles_over(s.out_width()),
          0,
          0};
}

// Calls f(tiles) for all tiles of the batch, some at a time.
template <typename F>
void for_each_run(const Conv2dShape& s, F f) {
  const std::int64_t count = s.batch * tiles_over(s.out_height()) * tiles_over(s.out_width());
  for (std::int64_t begin = 0; begin < count; begin += kTilesAtATime) {
    f(Tiles{begin, std::min(kTilesAtATime, count - begin)});
  }
}

// The filters of weight (out, in, 3, 3) side by side, each of the nine elements as a matrix (in, out), or (out, in).
enum class FilterOrder { kInOut, kOutIn };
template <typename F>
void for_each_filter(const Conv2dShape& s, FilterOrder order, F f) {
  const bool by_in = order == FilterOrder::kInOut;
  for (std::int64_t i = 0; i < s.in_channels; ++i) {
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      f((o * s.in_channels + i) * 9, by_in ? i * s.out_channels + o : o * s.in_channels + i);
    }
  }
}

std::int64_t filters_in(const Conv2dShape& s) { return s.in_channels * s.out_channels; }

// The transformed filters: 36 matrices in that order.
Planes transformed_filters(const Conv2dShape& s, const float* weight, FilterOrder order, Arena& arena) {
  const std::int64_t count = filters_in(s);
  float* const planes = arena.allocate<float>(static_cast<std::size_t>(kPlanes * count)).data();
  const Arena::Scope scope(arena);
  float* const filters = arena.allocate<float>(static_cast<std::size_t>(9 * count)).data();
  for_each_filter(s, order, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t e = 0; e < 9; ++e) filters[e * count + to] = weight[from + e];
  });
  winograd::transform_filters(count, filters, planes);
  return {planes, count, order == FilterOrder::kInOut ? s.out_channels : s.in_channels};
}

// Adds the gradients of one slice.
void add_slice(const Conv2dShape& s, const float* input, const float* grad_output, float* grad_weight, float* grad_bias,
               Arena& arena) {
  const Arena::Scope scope(arena);
  const float* const in_image = input_of(s).in_blocks(input, arena);
  const float* const out_image = output_of(s).in_blocks(grad_output, arena);
  const std::int64_t count = filters_in(s);
  const Planes sums{arena.allocate<float>(static_cast<std::size_t>(kPlanes * count)).data(), count, s.out_channels};
  const auto bias_sums = arena.allocate<float>(static_cast<std::size_t>(s.out_channels));
  std::fill_n(sums.data, kPlanes * count, 0.0F);
  std::fill(bias_sums.begin(), bias_sums.end(), 0.0F);
  const Planes in = make_planes(s.in_channels, arena), out = make_planes(s.out_channels, arena);
  const Tiling in_tiling = tiling_of_input(s), out_tiling = tiling_of_output(s);
  for_each_run(s, [&](Tiles tiles) {
    winograd::transform_input(in_tiling, tiles, in_image, in);
    winograd::transform_output_gradient(out_tiling, tiles, out_image, out, s.bias ? bias_sums.data() : nullptr);
    winograd::add_transposed_products(tiles.count, in, out, sums);
  });
  float* const filters = arena.allocate<float>(static_cast<std::size_t>(9 * count)).data();
  winograd::transform_filter_gradients(count, sums.data, filters);
  for_each_filter(s, FilterOrder::kInOut, [&](std::int64_t to, std::int64_t from) {
    for (std::int64_t e = 0; e < 9; ++e) grad_weight[to + e] += filters[e * count + from];
  });
  if (!s.bias) return;
  for (std::int64_t o = 0; o < s.out_channels; ++o) grad_bias[o] += bias_sums[static_cast<std::size_t>(o)];
}

}  // namespace

bool winograd_available(const Conv2dShape& s) {
  return s.precision == Precision::kF32 && s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 && s.stride_w == 1 &&
         s.dilation_h == 1 && s.dilation_w == 1 && s.groups == 1 && s.in_channels % 16 == 0 && s.out_channels % 16 == 0;
}

void winograd_forward(const Conv2dShape& s, const float* input, const float* weight, const float* bias, float* output,
                      Arena& arena) {
  const Arena::Scope scope(arena);
  const float* const image = input_of(s).in_blocks(input, arena);
  float* const result = output_of(s).to_write(output, arena);
  const Planes filters = transformed_filters(s, weight, FilterOrder::kInOut, arena);
  const Planes in = make_planes(s.in_channels, arena), out = make_planes(s.out_channels, arena);
  const Tiling in_tiling = tiling_of_input(s), out_tiling = tiling_of_output(s);
  for_each_run(s, [&](Tiles tiles) {
    winograd::transform_input(in_tiling, tiles, image, in);
    winograd::multiply_planes(tiles.count, in, filters, out);
    winograd::transform_output(out_tiling, tiles, out, s.bias ? bias : nullptr, s.relu, result);
  });
  output_of(s).give(result, output);
}

void winograd_backward_data(const Conv2dShape& s, const float* grad_output, const float* weight, float* grad_input,
                            Arena& arena) {
  const Arena::Scope scope(arena);
  const float* const image = output_of(s).in_blocks(grad_output, arena);
  float* const result = input_of(s).to_write(grad_input, arena);
  std::fill_n(result, input_of(s).size(), 0.0F);
  const Planes filters = transformed_filters(s, weight, FilterOrder::kOutIn, arena);
  const Planes out = make_planes(s.out_channels, arena), in = make_planes(s.in_channels, arena);
  const Tiling in_tiling = tiling_of_input(s), out_tiling = tiling_of_output(s);
  for_each_run(s, [&](Tiles tiles) {
    winograd::transform_output_gradient(out_tiling, tiles, image, out, nullptr);
    winograd::multiply_planes(tiles.count, out, filters, in);
    winograd::add_input_gradient(in_tiling, tiles, in, result);
  });
  input_of(s).give(result, grad_input);
}

void winograd_backward_weights(const Conv2dShape& s, const float* input, const float* grad_output, float* grad_weight,
                               float* grad_bias, Arena& arena) {
  std::fill_n(grad_weight, 9 * filters_in(s), 0.0F);
  if (s.bias) std::fill_n(grad_bias, s.out_channels, 0.0F);
  for_each_slice(s.batch, [&](std::int64_t begin, std::int64_t size) {
    Conv2dShape slice = s;
    slice.batch = size;
    const std::int64_t in_begin = begin * s.in_channels * s.height * s.width;
    const std::int64_t out_begin = begin * s.out_channels * s.out_height() * s.out_width();
    add_slice(slice, input + in_begin, grad_output + out_begin, grad_weight, grad_bias, arena);
  });
}

}  // namespace viva
