// A data set small enough for a test, as IDX files and a recipe, and the viva program run on it.
#pragma once

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_directory.h"

namespace viva::cli {

struct ProgramResult {
  int exit_code = -1;
  std::string out, err;
};

// The last line of a text of whole lines.
inline std::string last_line(const std::string& text) {
  EXPECT_THAT(text, testing::EndsWith("\n"));
  const std::string lines = text.substr(0, text.size() - 1);
  return lines.substr(lines.rfind('\n') + 1);
}

// What a run that succeeded printed for --json.
inline nlohmann::json json_of(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(last_line(result.out));
}

// 20 training images of 2 x 2 and 7 test images with labels 0 to 2, and r.toml, which trains on them.
class TinyProblem {
 public:
  TinyProblem() {
    write_images("train_images", 20);
    write_labels("train_labels", 20);
    write_images("test_images", 7);
    write_labels("test_labels", 7);
    write("r.toml", kRecipe);
  }

  std::string file(const std::string& name) const { return directory_.file(name); }

  void write(const std::string& name, std::string_view content) const {
    directory_.write(name, std::as_bytes(std::span(content)));
  }

  // An IDX file of uint8.
  void write_idx(const std::string& name, const std::vector<std::uint32_t>& shape, const std::string& elements) const {
    std::string content = {'\0', '\0', '\x08', static_cast<char>(shape.size())};
    for (const std::uint32_t length : shape) {
      for (int shift = 24; shift >= 0; shift -= 8) content += static_cast<char>(length >> shift & 0xff);
    }
    write(name, content + elements);
  }

  void write_images(const std::string& name, std::uint32_t count) const {
    std::string pixels;
    for (std::uint32_t i = 0; i < 4 * count; ++i) pixels += static_cast<char>(i * 37 % 256);
    write_idx(name, {count, 2, 2}, pixels);
  }

  void write_labels(const std::string& name, std::uint32_t count) const {
    std::string labels;
    for (std::uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 3);
    write_idx(name, {count}, labels);
  }

  std::string read(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The names of all files and directories, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    const std::filesystem::path root = file("");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      names.push_back(entry.path().lexically_relative(root).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Runs `viva ARGUMENTS` in this directory, by a shell, and waits for it.
  ProgramResult run(const std::string& arguments) const {
    // Beside the directory: what the program itself leaves in it can then be seen.
    const TemporaryDirectory output;
    const std::string command = "cd '" + file("") + "' && '" VIVA_PROGRAM "' " + arguments;
    const std::string redirected = "{ " + command + "; } >'" + output.file("out") + "' 2>'" + output.file("err") + "'";
    const int status = std::system(redirected.c_str());
    const auto read_all = [](const std::string& path) {
      std::ifstream in(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(output.file("out")), read_all(output.file("err"))};
  }

 private:
  static constexpr std::string_view kRecipe = R"([data]
train_images = "train_images"
train_labels = "train_labels"
test_images = "test_images"
test_labels = "test_labels"

[model]
kind = "mlp"
hidden = [5]

[optimizer]
kind = "sgd_momentum"
lr = 0.1

[train]
workers = 3
batch_size = 4
epochs = 4
)";

  TemporaryDirectory directory_;
};

}  // namespace viva::cli
