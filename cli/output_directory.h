// OutputDirectory: where a training leaves its parameters.
#pragma once

#include <span>
#include <string>

#include "viva/optim/param.h"

namespace viva::cli {

class OutputDirectory {
 public:
  // Makes the directory where it is missing and sees whether the file can be written, before hours have been spent.
  // IoError.
  explicit OutputDirectory(std::string path);
  // Removes the directory again where it was made here and nothing was written.
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // <path>/params.safetensors, atomically.
  void write_params(std::span<const Param> params) const;

 private:
  std::string path_, params_file_;
  bool made_here_ = false;
};

}  // namespace viva::cli
