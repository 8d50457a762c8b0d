// Any bytes as a CSV file: a dataset or a viva::Error, nothing else. What was read is finite and no larger than the
// text.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "viva/data/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The last byte chooses the options.
  const unsigned choice = size == 0 ? 0 : data[size - 1];
  viva::data::CsvDatasetOptions options;
  if (choice % 2 != 0) options.target = viva::data::CsvTarget::kNumber;
  if (choice % 4 >= 2) options.target_column = 0;
  viva::data::Dataset dataset;
  try {
    dataset = viva::data::parse_csv_dataset(std::as_bytes(std::span(data, size)), "fuzz.csv", options);
  } catch (const viva::Error&) {
    return 0;
  }
  const auto columns = static_cast<std::size_t>(viva::element_count(dataset.spec().input_shape));
  if (static_cast<std::size_t>(dataset.size()) * columns > size) std::abort();
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const viva::data::Sample sample = dataset.get(i);
    for (const float value : sample.input.values<float>()) {
      if (!std::isfinite(value)) std::abort();
    }
  }
  return 0;
}
