// The loops of Winograd's minimal filtering F(4x4, 3x3): transforms of tiles, and the products between them.
//
// In one dimension four results y of a filter g over six inputs d are y = Aᵀ((G g) ⊙ (Bᵀ d)): the polynomials with the
// coefficients g and d are multiplied at the points 0, a, -a, b, -b and infinity; see Lavin, Gray, "Fast algorithms for
// convolutional neural networks", 2016. Each matrix is applied to rows and columns. A transform's gradient is its
// transpose: with Z = A dy Aᵀ, dg = Gᵀ(Z ⊙ (Bᵀ d B))G and dd = B((G g Gᵀ) ⊙ Z)Bᵀ. a = 5/8 and b = 3/2 are exact and lie
// around 1: results are rounded half as much as with the usual 1 and 2.
#pragma once

#include <cstdint>

namespace viva::winograd {

inline constexpr std::int64_t kTile = 4;     // results of a tile in one dimension
inline constexpr std::int64_t kPlanes = 36;  // transformed elements of a tile

// Images (batch, channels / block, height, width, block), block 8 or 16, in tiles: tile t of an image begins at row
// 4 · (t / across) - padding_h and column 4 · (t mod across) - padding_w. What lies outside of the image is zero.
struct Tiling {
  std::int64_t channels, block, height, width;
  std::int64_t down, across;  // tiles of one image
  std::int64_t padding_h, padding_w;
};

// 36 row-major matrices, `plane` elements apart: of transformed tiles, each a row of its channels, or of transformed
// filters.
struct Planes {
  float* data;
  std::int64_t plane, columns;
};

// A run of tiles, counted through all images of the batch.
struct Tiles {
  std::int64_t begin, count;
};

// Bᵀ d B: tiles of 6 x 6.
void transform_input(const Tiling& tiling, Tiles tiles, const float* image, Planes to);
// Adds B m Bᵀ to the image, whose tiles overlap.
void add_input_gradient(const Tiling& tiling, Tiles tiles, Planes from, float* image);
// Aᵀ m A: tiles of 4 x 4, plus bias (channels) unless it is null, without negative values where `relu`.
void transform_output(const Tiling& tiling, Tiles tiles, Planes from, const float* bias, bool relu, float* image);
// A dy Aᵀ. The sum of each channel's dy is added to sums (channels) unless it is null.
void transform_output_gradient(const Tiling& tiling, Tiles tiles, const float* image, Planes to, float* sums);

// G g Gᵀ and Gᵀ u G of `count` filters, a multiple of 16: element (i, j) of filter f is filters[(3 i + j) · count + f],
// and planes are `count` apart.
void transform_filters(std::int64_t count, const float* filters, float* planes);
void transform_filter_gradients(std::int64_t count, const float* planes, float* filters);

// In each plane c = a · b, and c += aᵀ · b, where a has `rows` rows. Sums run from the first term to the last; b and c
// have a multiple of 16 columns.
void multiply_planes(std::int64_t rows, Planes a, Planes b, Planes c);
void add_transposed_products(std::int64_t rows, Planes a, Planes b, Planes c);

}  // namespace viva::winograd
