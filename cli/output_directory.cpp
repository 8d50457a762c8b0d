#include "cli/output_directory.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "viva/base/error.h"
#include "viva/io/atomic_file.h"
#include "viva/io/safetensors.h"

namespace viva::cli {

namespace fs = std::filesystem;

OutputDirectory::OutputDirectory(std::string path)
    : path_(std::move(path)), params_file_((fs::path(path_) / "params.safetensors").string()) {
  std::error_code error;
  made_here_ = fs::create_directories(path_, error);
  if (error) throw IoError(path_, -1, "cannot make the output directory: " + error.message());
  if (fs::is_directory(params_file_, error)) throw IoError(params_file_, -1, "expected a file, found a directory");
  try {
    const io::AtomicFile probe(params_file_);
  } catch (const IoError&) {
    if (made_here_) fs::remove(path_, error);
    throw;
  }
}

OutputDirectory::~OutputDirectory() {
  std::error_code error;
  // Fails, as it should, on a directory that has something in it.
  if (made_here_) fs::remove(path_, error);
}

void OutputDirectory::write_params(std::span<const Param> params) const { io::write_safetensors(params_file_, params); }

}  // namespace viva::cli
