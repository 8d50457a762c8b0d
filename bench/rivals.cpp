#include "bench/rivals.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "viva/base/error.h"

namespace viva::bench {
namespace {

struct Output {
  std::string text;
  int status = 0;
};

// What a shell command prints on stdout and stderr.
Output output_of(const std::string& command) {
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
  const Output output = output_of("/usr/bin/python3 " VIVA_RIVALS_DIRECTORY "/torch_ddp.py --describe");
  const nlohmann::json answer = nlohmann::json::parse(last_line(output.text), nullptr, false);
  if (output.status != 0 || !answer.is_object()) {
    reason_ = "PyTorch cannot be imported (./dev setup rivals installs it): " + last_line(output.text);
    return;
  }
  description_ =
      fmt::format("PyTorch {}, {}", answer.at("version").get<std::string>(), answer.at("blas").get<std::string>());
  slow_blas_ = answer.at("reference_blas").get<bool>();
  fused_ = answer.at("fused").get<bool>();
  compiles_ = answer.at("compile").get<bool>();
  if (!fused_) skipped_.emplace_back("fused optimizers: this PyTorch has none for CPUs");
  if (!compiles_) skipped_.emplace_back("torch.compile: this PyTorch or this machine has none");
}

std::vector<RivalSetup> Torch::setups(const Problem& problem) const {
  const RivalSetup base{.model = problem.name,
                        .batch_size = problem.batch_size,
                        .steps = problem.steps / 2,
                        .warm_up_steps = problem.warm_up_steps,
                        .parameters = problem.parameters(),
                        .learnt_loss = problem.learnt_loss};
  struct Form {
    int processes, threads, batches;
  };
  std::vector<RivalSetup> setups;
  for (const Form& form : std::vector<Form>{{2, 1, 1}, {1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, 2, 2}}) {
    for (const bool compiled : {false, true}) {
      for (const bool fused : {false, true}) {
        if ((compiled && !compiles_) || (fused && !fused_)) continue;
        RivalSetup setup = base;
        setup.processes = form.processes;
        setup.threads = form.threads;
        setup.batch_size *= form.batches;
        setup.fused = fused;
        setup.compiled = compiled;
        setups.push_back(setup);
      }
    }
  }
  return setups;
}

double Torch::measure(const RivalSetup& setup) const {
  const OnCpus pinned(setup.processes * setup.threads);
  const std::string command = fmt::format(
      "timeout 600 /usr/bin/python3 {}/torch_ddp.py --model {} --processes {} --threads {} --batch-size {} --steps {} "
      "--warm-up {}{}{}",
      VIVA_RIVALS_DIRECTORY, setup.model, setup.processes, setup.threads, setup.batch_size, setup.steps,
      setup.warm_up_steps, setup.fused ? " --fused" : "", setup.compiled ? " --compile" : "");
  const Output output = output_of(command);
  const nlohmann::json answer = nlohmann::json::parse(last_line(output.text), nullptr, false);
  if (output.status != 0 || !answer.is_object()) {
    throw Error(fmt::format("bench: the rival failed: {}\n{}", command, output.text));
  }
  if (answer.at("parameters") != setup.parameters || !(answer.at("loss").get<double>() < setup.learnt_loss) ||
      !answer.at("same_parameters").get<bool>()) {
    throw Error(fmt::format("bench: the rival's answer is wrong: {}\n{}", command, answer.dump()));
  }
  return answer.at("samples_per_second").get<double>();
}

}  // namespace viva::bench
