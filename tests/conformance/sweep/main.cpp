// SPDX-License-Identifier: MIT
/// Runs every scenario again and again while a wrapper table lets one call fail in each run, or
/// lets work on streams complete late and out of order:
/// sweep faults [--late] | delays [--seeds=N]
///   --platform=cpu|nvidia|amd [--library=PATH] [--scenario=PART]
#include <charconv>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "hip/binding.hpp"
#include "sweep/delays.hpp"
#include "sweep/faults.hpp"

namespace {

using hiptool::Platform;
using hiptool::sweep::Subject;

constexpr int exit_skipped = 77;  // what Meson takes for "skipped"
constexpr int exit_usage = 2;

struct Options {
  std::string_view mode;
  std::string_view platform_word;
  std::optional<Platform> platform;
  std::string library;
  std::string_view scenario_part;
  int seeds = 10;
  bool is_late = false;
};

bool take(std::string_view word, std::string_view option, std::string_view& value) {
  if (!word.starts_with(option)) return false;
  value = word.substr(option.size());
  return true;
}

std::optional<Platform> platform_of(std::string_view word) {
  for (const Platform platform : {Platform::cpu, Platform::nvidia, Platform::amd}) {
    if (word == to_string(platform)) return platform;
  }
  return std::nullopt;
}

std::optional<Options> parse(int argument_count, char** arguments) {
  Options options;
  for (int index = 1; index < argument_count; ++index) {
    const std::string_view word = arguments[index];
    std::string_view value;
    if (take(word, "--platform=", options.platform_word)) continue;
    if (take(word, "--scenario=", options.scenario_part)) continue;
    if (take(word, "--library=", value)) {
      options.library = value;
    } else if (take(word, "--seeds=", value)) {
      std::from_chars(value.data(), value.data() + value.size(), options.seeds);
    } else if (word == "--late") {
      options.is_late = true;
    } else if (word == "faults" || word == "delays") {
      options.mode = word;
    } else {
      return std::nullopt;
    }
  }
  options.platform = platform_of(options.platform_word);
  if (!options.platform || options.mode.empty() || options.seeds < 1) return std::nullopt;
  return options;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const auto options = parse(argument_count, arguments);
  if (!options) {
    std::cerr << "sweep faults|delays --platform=cpu|nvidia|amd [--library=PATH] "
                 "[--scenario=PART] [--seeds=N] [--late]\n";
    return exit_usage;
  }
  hiptool::hip::BindRequest request;
  request.library = options->library;
  request.cpu_devices = 2;  // so that peers are there
  const auto binding = hiptool::hip::make_registry()->bind(*options->platform, request);
  if (!binding.status.usable || binding.api == nullptr) {
    std::cout << "no " << options->platform_word << " platform: " << binding.status.reason << '\n';
    return *options->platform == Platform::cpu ? 1 : exit_skipped;  // the cpu is always there
  }
  if (binding.api->hipInit(0) != hiptool::hip::hipSuccess) {
    std::cout << "hipInit failed on a platform that claims to be usable\n";
    return 1;
  }
  const Subject subject{*options->platform, *binding.api, binding.status.device_count,
                        options->scenario_part, options->is_late};
  const bool is_good = options->mode == "faults"
                           ? hiptool::sweep::sweep_faults(subject)
                           : hiptool::sweep::sweep_delays(subject, options->seeds);
  return is_good ? 0 : 1;
}
