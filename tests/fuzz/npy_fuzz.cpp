// Any bytes as an NPY file: a tensor or an IoError, nothing else. What was read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "viva/data/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  viva::Tensor tensor;
  try {
    tensor = viva::data::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
  } catch (const viva::IoError&) {
    return 0;
  }
  // No tensor may hold more than there was.
  if (tensor.bytes().size() > size) std::abort();
  if (!bitwise_equal(viva::data::parse_npy(viva::data::npy_bytes(tensor), "again.npy"), tensor)) std::abort();
  return 0;
}
