#include "viva/observe/progress.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace viva::observe {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A stream into memory.
class Stream {
 public:
  Stream() : file_(std::tmpfile(), std::fclose) {}
  std::FILE* get() const { return file_.get(); }
  std::string text() const {
    std::fflush(get());
    std::string text(static_cast<std::size_t>(std::ftell(get())), '\0');
    std::rewind(get());
    text.resize(std::fread(text.data(), 1, text.size(), get()));
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

std::ptrdiff_t count(const std::string& text, char c) { return std::count(text.begin(), text.end(), c); }

constexpr ProgressPlan kPlan{.total_steps = 1500, .total_epochs = 5, .steps_per_epoch = 300};

TEST(ProgressText, NamesWhereTrainingStands) {
  EXPECT_EQ(progress_text(kPlan, {.steps = 301, .samples = 77'056, .loss = 0.43219, .seconds = 2}),
            "epoch 2/5  step 301/1,500  loss 0.4322  38,528 samples/s  8 s left");
  EXPECT_EQ(progress_text(kPlan, {.steps = 300, .samples = 300, .loss = 1, .seconds = 3000}),
            "epoch 1/5  step 300/1,500  loss 1.0000  0 samples/s  3 h 20 min left");
  EXPECT_EQ(progress_text(kPlan, {.steps = 1500, .samples = 1500, .loss = 1, .seconds = 1}),
            "epoch 5/5  step 1,500/1,500  loss 1.0000  1,500 samples/s");
  EXPECT_EQ(progress_text(kPlan, {}), "epoch 1/5  step 0/1,500");
}

TEST(ProgressText, AShortLastStepBeginsNoEpoch) {
  EXPECT_THAT(progress_text({.total_steps = 7, .total_epochs = 4, .steps_per_epoch = 5.0 / 3}, {.steps = 7}),
              StartsWith("epoch 4/4  step 7/7"));
}

TEST(ProgressLine, ATerminalsLineIsWrittenAgainAtMostTenTimesASecond) {
  const Stream stream;
  {
    ProgressLine line({stream.get(), 80}, kPlan);
    for (int i = 1; i <= 100; ++i) line.update({.steps = i, .samples = i, .loss = 1, .seconds = i * 0.01});
    line.finish({.steps = 100, .samples = 100, .loss = 1, .seconds = 1.0});
  }
  const std::string text = stream.text();
  EXPECT_GE(count(text, '\r'), 9);
  EXPECT_LE(count(text, '\r'), 11);
  EXPECT_EQ(count(text, '\n'), 1);
  EXPECT_THAT(text, EndsWith("\n"));
}

TEST(ProgressLine, NeverWraps) {
  const Stream stream;
  ProgressLine line({stream.get(), 20}, kPlan);
  line.finish({.steps = 1, .samples = 1, .loss = 1, .seconds = 1});
  EXPECT_EQ(stream.text(), "\repoch 1/5  step 1/1\033[K\n");
}

TEST(ProgressLine, AnErrorEndsTheOpenLine) {
  const Stream stream;
  {
    ProgressLine line({stream.get(), 80}, kPlan);
    line.update({.steps = 1, .samples = 1, .loss = 1, .seconds = 1});
    EXPECT_THAT(stream.text(), Not(EndsWith("\n")));
  }
  EXPECT_THAT(stream.text(), EndsWith("\n"));
}

TEST(ProgressLine, AFileGetsPlainLinesNowAndThen) {
  const Stream stream;
  {
    ProgressLine line({stream.get(), 0}, kPlan);
    // 100 steps a second: an epoch in 3 seconds.
    for (int i = 1; i <= 600; ++i) line.update({.steps = i, .samples = i, .loss = 1, .seconds = i * 0.01});
    // 1 step a second: lines every 5 seconds.
    for (int i = 601; i <= 620; ++i) line.update({.steps = i, .samples = i, .loss = 1, .seconds = i - 594.0});
  }
  const std::string text = stream.text();
  EXPECT_EQ(count(text, '\n'), 2 + 4);
  EXPECT_THAT(text, HasSubstr("epoch 1/5  step 300/1,500"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f')) << static_cast<int>(c);
}

TEST(ProgressTarget, AFileIsNoTerminal) {
  const Stream stream;
  EXPECT_EQ(progress_target(stream.get()).columns, 0);
}

}  // namespace
}  // namespace viva::observe
