// The viva program in a process of its own: what a person waits for, and what it takes.
#pragma once

#include <string>

namespace viva::bench {

struct ProgramRun {
  double seconds_to_first_step = 0;  // from the start of the program, its loading included
  double peak_mebibytes = 0;
};

// Trains bench/recipes/MODEL.toml for some steps on two CPUs. Error where the program fails.
ProgramRun run_program(const std::string& model, const std::string& options);

// Fashion-MNIST's training data as plain IDX files in a temporary directory, while it lives.
class PlainImages {
 public:
  PlainImages();
  ~PlainImages();
  PlainImages(const PlainImages&) = delete;
  PlainImages& operator=(const PlainImages&) = delete;

  // What makes a recipe read them.
  std::string options() const;

 private:
  std::string directory_;
};

}  // namespace viva::bench
