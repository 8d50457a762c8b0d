// Loops over arrays of any length and place, for kernels that are compiled once for each instruction set.

// Highway's toggle in place of #pragma once: the file is included once for each instruction set.
#if defined(VIVA_TENSOR_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIVA_TENSOR_VECTORS_INL_H_
#undef VIVA_TENSOR_VECTORS_INL_H_
#else
#define VIVA_TENSOR_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace viva::HWY_NAMESPACE {

template <typename T>
using VectorTag = hwy::HWY_NAMESPACE::ScalableTag<T>;
template <typename T>
using Vector = hwy::HWY_NAMESPACE::Vec<VectorTag<T>>;

// The first `count` elements, zeros behind them.
template <typename T>
Vector<T> LoadPart(const T* from, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const VectorTag<T> d;
  return count >= hn::Lanes(d) ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, count), d, from);
}

template <typename T>
void StorePart(Vector<T> value, T* to, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const VectorTag<T> d;
  if (count >= hn::Lanes(d)) {
    hn::StoreU(value, d, to);
  } else {
    hn::BlendedStore(value, hn::FirstN(d, count), d, to);
  }
}

// Calls body(i, n) for whole vectors, with n their number of lanes, and once, with a smaller n, for the rest. An
// element's arithmetic is that of its lane alone, wherever it stands.
template <typename T, typename Body>
void ForVectors(size_t count, Body body) {
  const size_t lanes = hwy::HWY_NAMESPACE::Lanes(VectorTag<T>());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, lanes);
  if (i < count) body(i, count - i);
}

// The sum over the lanes.
template <typename T>
T SumOf(Vector<T> v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const VectorTag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, v));
}

}  // namespace viva::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
