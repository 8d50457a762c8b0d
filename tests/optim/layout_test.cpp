// How parameters lie in a flat buffer, and the sink that fills one.
#include "viva/optim/layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "viva/optim/grad_sink.h"

namespace viva::optim {
namespace {

std::vector<Param> params_of(const std::vector<std::int64_t>& sizes, Dtype dtype = Dtype::kFloat32) {
  std::vector<Param> params;
  for (const std::int64_t size : sizes)
    params.push_back({fmt::format("p{}", params.size()), Tensor::zeros({size}, dtype)});
  return params;
}

TEST(Layout, EntriesBeginOnCacheLinesInOrder) {
  const Layout layout(params_of({1, 16, 17, 0, 5}));
  std::vector<std::int64_t> offsets, ends;
  for (const LayoutEntry& entry : layout.entries()) {
    offsets.push_back(entry.offset);
    ends.push_back(entry.end);
  }
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 16, 32, 64, 64}));
  EXPECT_EQ(ends, (std::vector<std::int64_t>{16, 32, 64, 64, 80}));
  EXPECT_EQ(layout.size(), 80);
  EXPECT_EQ(Layout(params_of({1, 9}, Dtype::kFloat64)).size(), 24);
}

TEST(Layout, ViewsShareTheBuffer) {
  const Layout layout(params_of({3, 2}));
  const Tensor buffer = layout.make_buffer();
  const Tensor view = layout.view(buffer, 1);
  view.mutable_values<float>()[1] = 7;
  EXPECT_EQ(buffer.values<float>()[17], 7);
  EXPECT_EQ(view.shape(), Shape{2});
  EXPECT_EQ(layout.param_views(buffer)[1].name, "p1");
}

TEST(Layout, FindsByName) {
  const Layout layout(params_of({1, 1, 1}));
  EXPECT_EQ(layout.find("p2"), 2);
  EXPECT_EQ(layout.find("p3"), -1);
  EXPECT_EQ(layout.find(""), -1);
}

TEST(Layout, WhatCannotBeLaidOutIsRefused) {
  const Tensor x = Tensor::zeros({1});
  const auto lay = [](const std::vector<Param>& params) { const Layout layout(params); };
  EXPECT_THROW(lay({{"a", x}, {"a", x}}), DimensionError);
  EXPECT_THROW(lay({{"", x}}), DimensionError);
  EXPECT_THROW(lay({{"a", x}, {"b", Tensor::zeros({1}, Dtype::kFloat64)}}), DtypeError);
  EXPECT_THROW(lay({{"a", Tensor::zeros({1}, Dtype::kInt32)}}), DtypeError);
  EXPECT_NO_THROW(lay({}));
}

RC_GTEST_PROP(LayoutProperty, PartsCoverTheBufferOnChunkBoundaries, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 20000));
  const auto parts = *rc::gen::inRange<std::int64_t>(1, 70);
  const Layout layout(params_of(sizes));
  std::int64_t next = 0;
  for (std::int64_t p = 0; p < parts; ++p) {
    const Range range = layout.part(p, parts);
    RC_ASSERT(range.begin == next);
    RC_ASSERT(range.size() >= 0);
    RC_ASSERT(range.end == layout.size() || range.end % kChunk == 0);
    RC_ASSERT(range.size() <= (layout.size() / kChunk / parts + 2) * kChunk);
    next = range.end;
  }
  RC_ASSERT(next == layout.size());
}

TEST(GradSink, MarksWhatWasGivenAndCopiesIn) {
  const Layout layout(params_of({2, 3}));
  const Tensor buffer = layout.make_buffer();
  GradSink sink(layout, buffer);
  EXPECT_FALSE(sink.given(0));
  sink.set("p1", Tensor::from_values<float>({1, 2, 3}));
  EXPECT_TRUE(sink.given(1));
  EXPECT_FALSE(sink.given(0));
  EXPECT_EQ(buffer.values<float>()[18], 3);
  sink.grad("p0").mutable_values<float>()[1] = 9;
  EXPECT_TRUE(sink.given(0));
  EXPECT_EQ(buffer.values<float>()[1], 9);
  sink.clear();
  EXPECT_FALSE(sink.given(1));
}

TEST(GradSink, WhatDoesNotFitIsRefused) {
  const Layout layout(params_of({2}));
  GradSink sink(layout, layout.make_buffer());
  EXPECT_THROW(sink.grad(1), IndexOutOfBounds);
  EXPECT_THROW(sink.grad("q"), DimensionError);
  EXPECT_THROW(sink.set("q", Tensor::zeros({2})), DimensionError);
  EXPECT_THROW(sink.set("p0", Tensor::zeros({3})), ShapeMismatch);
  EXPECT_THROW(sink.set("p0", Tensor::zeros({2}, Dtype::kFloat64)), DtypeError);
  EXPECT_FALSE(sink.given(0));
}

}  // namespace
}  // namespace viva::optim
