// Any bytes as a safetensors file: tensors or an IoError, nothing else. What was read can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "viva/base/error.h"
#include "viva/io/digest.h"
#include "viva/io/safetensors.h"
#include "viva/io/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<viva::Param> params;
  try {
    params = viva::io::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  } catch (const viva::IoError&) {
    return 0;
  }
  std::size_t data_size = 0;
  for (const viva::Param& param : params) data_size += param.value.bytes().size();
  const std::string header = viva::io::make_safetensors_header(params, "fuzz.safetensors");
  const auto entries = viva::io::parse_safetensors_header(header, data_size, "fuzz.safetensors");
  if (entries.size() != params.size()) std::abort();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name != params[i].name || entries[i].shape != params[i].value.shape()) std::abort();
  }
  viva::io::digest(params);
  return 0;
}
