#include "bench/rivals.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

constexpr int kParameters = 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10;
constexpr double kLearntLoss = 1.0;

struct Output {
  std::string text;
  int status = 0;
};

// What a shell command prints on stdout and stderr.
Output run(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error("bench: cannot start " + command);
  Output output;
  std::array<char, 4096> part{};
  while (const std::size_t got = fread(part.data(), 1, part.size(), pipe)) output.text.append(part.data(), got);
  output.status = pclose(pipe);
  return output;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Torch::Torch() {
  const Output output = run("/usr/bin/python3 " VIVA_RIVALS_DIRECTORY "/torch_ddp.py --describe");
  const nlohmann::json answer = nlohmann::json::parse(last_line(output.text), nullptr, false);
  if (output.status != 0 || !answer.is_object()) {
    reason_ = "PyTorch cannot be imported (./dev setup rivals installs it): " + last_line(output.text);
    return;
  }
  description_ =
      fmt::format("PyTorch {}, {}", answer.at("version").get<std::string>(), answer.at("blas").get<std::string>());
  slow_blas_ = answer.at("reference_blas").get<bool>();
}

double Torch::measure(const TorchSetup& setup) const {
  const OnCpus pinned(setup.processes * setup.threads);
  const std::string command =
      fmt::format("timeout 300 /usr/bin/python3 {}/torch_ddp.py --processes {} --threads {} --batch-size {} --steps {}",
                  VIVA_RIVALS_DIRECTORY, setup.processes, setup.threads, setup.batch_size, setup.steps);
  const Output output = run(command);
  const nlohmann::json answer = nlohmann::json::parse(last_line(output.text), nullptr, false);
  if (output.status != 0 || !answer.is_object()) {
    throw Error(fmt::format("bench: the rival failed: {}\n{}", command, output.text));
  }
  if (answer.at("parameters") != kParameters || !(answer.at("loss").get<double>() < kLearntLoss) ||
      !answer.at("same_parameters").get<bool>()) {
    throw Error(fmt::format("bench: the rival's answer is wrong: {}\n{}", command, answer.dump()));
  }
  return answer.at("samples_per_second").get<double>();
}

}  // namespace viva::bench
