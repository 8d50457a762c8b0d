#include "bench/program.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bench/command.h"
#include "bench/measure.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw Error("bench: failed: " + command);
}

// The program itself counts from its main().
double seconds_to_load() {
  const Clock::time_point begin = Clock::now();
  run(VIVA_PROGRAM " --version >/dev/null");
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

ProgramRun run_program(const std::string& model, const std::string& options) {
  const OnCpus pinned(2);
  const nlohmann::json answer = answer_of(fmt::format("{} train {}/{}.toml --steps 20 --quiet --json {}", VIVA_PROGRAM,
                                                      VIVA_RECIPES_DIRECTORY, model, options));
  return {answer.at("seconds_to_first_step").get<double>() + seconds_to_load(), answer.at("peak_mebibytes")};
}

PlainImages::PlainImages() : directory_((std::filesystem::temp_directory_path() / "viva-bench-XXXXXX").string()) {
  if (::mkdtemp(directory_.data()) == nullptr) throw Error("bench: cannot make " + directory_);
  for (const std::string part : {"images-idx3", "labels-idx1"}) {
    run(fmt::format("gzip -dc /usr/share/datasets/fashion-mnist/train-{0}-ubyte.gz >{1}/{0}", part, directory_));
  }
}

PlainImages::~PlainImages() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string PlainImages::options() const {
  return fmt::format("--set data.train_images={0}/images-idx3 --set data.train_labels={0}/labels-idx1", directory_);
}

}  // namespace viva::bench
