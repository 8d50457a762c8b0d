#include "cli/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace viva::cli {
namespace {

TEST(EditDistance, CountsTheFewestEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("lr", ""), 2);
  EXPECT_EQ(edit_distance("wokers", "workers"), 1);
  EXPECT_EQ(edit_distance("worekrs", "workers"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBounded, (const std::string& a, const std::string& b)) {
  const std::size_t distance = edit_distance(a, b);
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT((distance == 0) == (a == b));
  RC_ASSERT(distance <= std::max(a.size(), b.size()));
}

TEST(Nearest, IsEmptyWhereNothingIsNear) {
  const std::array<std::string_view, 3> known = {"data", "model", "train"};
  EXPECT_EQ(nearest("modle", known), "model");
  EXPECT_EQ(nearest("trian", known), "train");
  EXPECT_EQ(nearest("whatever", known), "");
  EXPECT_EQ(nearest("", known), "");
}

}  // namespace
}  // namespace viva::cli
