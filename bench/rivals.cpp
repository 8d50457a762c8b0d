#include "bench/rivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/command.h"
#include "bench/measure.h"

namespace viva::bench {
namespace {

constexpr const char* kDebian = "/usr/bin/python3";
constexpr const char* kNewest = VIVA_RIVALS_PYTHON;

}  // namespace

Rival::Rival(const std::string& python, const std::string& script, Setups ways)
    : command_(fmt::format("{} -B {}/{}", python, VIVA_RIVALS_DIRECTORY, script)),
      setups_(ways),
      name_(fmt::format("{} by {}", script, python)) {
  if (!std::filesystem::exists(python)) {
    reason_ = "not installed (./dev setup rivals does)";
    return;
  }
  try {
    const nlohmann::json answer = answer_of(command_ + " --describe");
    name_ = answer.at("name");
    details_ = answer.at("details");
    warning_ = answer.at("warning");
    for (const auto& [what, why] : answer.at("lacks").items()) {
      if (!why.get<std::string>().empty()) lacks_[what] = why;
    }
  } catch (const Error& error) {
    reason_ = fmt::format("cannot be imported (./dev setup rivals installs it): {}", error.what());
  }
}

std::vector<RivalSetup> Rival::setups(const Problem& problem) const {
  std::vector<RivalSetup> setups = setups_(problem);
  std::erase_if(setups, [&](const RivalSetup& setup) {
    return std::ranges::any_of(setup.needs, [&](const std::string& need) { return lacks_.contains(need); });
  });
  return setups;
}

RivalRun Rival::run(const Problem& problem, const RivalSetup& setup) const {
  const OnCpus pinned(setup.cpus);
  // Python's time.monotonic() reads the same clock.
  const std::chrono::duration<double> started = Clock::now().time_since_epoch();
  const std::string command = fmt::format(
      "{} --model {} --workers {} --batch-size {} --steps {} --warm-up {} --started {:.6f}{}", command_, problem.name,
      setup.workers, setup.batch_size, problem.steps / 2, problem.warm_up_steps, started.count(), setup.options);
  nlohmann::json answer;
  try {
    answer = answer_of(command);
  } catch (const Error& error) {
    throw RivalFailed(error.what());
  }
  if (answer.at("parameters") != problem.parameters() || !(answer.at("loss").get<double>() < problem.learnt_loss) ||
      !answer.at("same_parameters").get<bool>()) {
    throw RivalFailed(fmt::format("a wrong answer: {}\n{}", command, answer.dump()));
  }
  return {answer.at("samples_per_second"), answer.at("seconds_to_first_step"), answer.at("peak_mebibytes")};
}

std::vector<Rival> all_rivals() {
  return {Rival(kDebian, "torch_ddp.py", torch_setups), Rival(kNewest, "torch_ddp.py", torch_setups),
          Rival(kNewest, "jax_dp.py", jax_setups)};
}

}  // namespace viva::bench
