// The real Fashion-MNIST files. The expected values were computed with Python's gzip and struct modules.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"
#include "viva/data/dataloader.h"
#include "viva/data/idx.h"

namespace viva::data {
namespace {

const std::string kDirectory = "/usr/share/datasets/fashion-mnist/";

class FashionMnist : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kDirectory)) GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  }
};

std::uint64_t sum_of(const Tensor& pixels) {
  const auto values = pixels.values<std::uint8_t>();
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

TEST_F(FashionMnist, TrainingSet) {
  const Tensor images = read_idx(kDirectory + "train-images-idx3-ubyte.gz");
  EXPECT_EQ(images.shape(), Shape({60000, 28, 28}));
  EXPECT_EQ(sum_of(images), 3431114169U);
  EXPECT_EQ(sum_of(images.row(0)), 76247U);
  EXPECT_EQ(sum_of(images.row(59999)), 16684U);
  const auto row = images.row(0).row(12).values<std::uint8_t>().subspan(10, 8);
  EXPECT_EQ(std::vector<int>(row.begin(), row.end()), (std::vector<int>{6, 0, 99, 244, 222, 220, 218, 203}));
}

TEST_F(FashionMnist, TestSetAsADataset) {
  const Dataset dataset =
      load_idx_dataset(kDirectory + "t10k-images-idx3-ubyte.gz", kDirectory + "t10k-labels-idx1-ubyte.gz");
  ASSERT_EQ(dataset.size(), 10000);
  EXPECT_EQ(dataset.get(0).target.item(), 9);
  EXPECT_EQ(dataset.get(1).target.item(), 2);
  EXPECT_EQ(dataset.get(-1).target.item(), 5);

  double pixels = 0;
  std::vector<int> classes(10);
  for (const Batch& batch : DataLoader(dataset, {.batch_size = 1000, .shuffle = true, .seed = 1}).batches()) {
    for (const float pixel : batch.inputs.values<float>()) pixels += static_cast<double>(pixel);
    for (const std::int32_t label : batch.targets.values<std::int32_t>()) ++classes.at(static_cast<std::size_t>(label));
  }
  EXPECT_EQ(classes, std::vector<int>(10, 1000));
  EXPECT_NEAR(pixels * 255, 573469082.0, 100.0);
}

}  // namespace
}  // namespace viva::data
