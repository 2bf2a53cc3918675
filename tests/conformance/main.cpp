// SPDX-License-Identifier: MIT
/// Runs the suite for one platform: conformance --platform=cpu|nvidia|amd [doctest options].
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hip/binding.hpp"
#include "scenarios_test.hpp"
#include "under_test.hpp"

namespace {

using hiptool::Platform;

constexpr int exit_skipped = 77;  // what Meson takes for "skipped"
constexpr int exit_usage = 2;

std::optional<Platform> platform_of(std::string_view word) {
  if (word == "cpu") return Platform::cpu;
  if (word == "nvidia") return Platform::nvidia;
  if (word == "amd") return Platform::amd;
  return std::nullopt;
}

}  // namespace

int main(int argument_count, char** arguments) {
  constexpr std::string_view option = "--platform=";
  std::string_view word;
  std::vector<const char*> others;
  for (int index = 0; index < argument_count; ++index) {
    const std::string_view argument = arguments[index];
    if (argument.substr(0, option.size()) == option) {
      word = argument.substr(option.size());
    } else {
      others.push_back(arguments[index]);
    }
  }
  const auto platform = platform_of(word);
  if (!platform) {
    std::cerr << "conformance --platform=cpu|nvidia|amd [doctest options]\n";
    return exit_usage;
  }

  hiptool::hip::BindRequest request;
  request.cpu_devices = 2;  // so that peers are tested too
  const auto binding = hiptool::hip::make_registry()->bind(*platform, request);
  if (!binding.status.usable || binding.api == nullptr) {
    std::cout << "no " << word << " platform: " << binding.status.reason << '\n';
    return *platform == Platform::cpu ? 1 : exit_skipped;  // the cpu is always there
  }
  if (binding.api->hipInit(0) != hiptool::hip::hipSuccess) {
    std::cout << "hipInit failed on a platform that claims to be usable\n";
    return 1;
  }
  hiptool::conformance::under_test() = {*platform, binding.api, binding.status.device_count};
  hiptool::conformance::register_scenarios();

  doctest::Context context(static_cast<int>(others.size()), others.data());
  return context.run();
}
