// SPDX-License-Identifier: MIT
/// Runs the suite for one platform: conformance --platform=cpu|nvidia|amd [--library=PATH] [doctest
/// options]. It says which library it was: a fake's path shows that it is one.
#include <doctest/doctest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"
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

/// Takes the value of an option out of the arguments.
std::string take_option(std::vector<const char*>& arguments, std::string_view name) {
  std::string value;
  const auto is_option = [&](const char* argument) {
    const bool is_it = std::string_view(argument).substr(0, name.size()) == name;
    if (is_it) value = argument + name.size();
    return is_it;
  };
  arguments.erase(std::remove_if(arguments.begin(), arguments.end(), is_option), arguments.end());
  return value;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::vector<const char*> others(arguments, arguments + argument_count);
  const std::string word = take_option(others, "--platform=");
  const std::string library = take_option(others, "--library=");
  const auto platform = platform_of(word);
  if (!platform) {
    std::cerr << "conformance --platform=cpu|nvidia|amd [--library=PATH] [doctest options]\n";
    return exit_usage;
  }

  hiptool::hip::BindRequest request;
  request.library = library;
  request.cpu_devices = 2;  // so that peers are tested too
  const auto binding = hiptool::hip::make_registry()->bind(*platform, request);
  if (!binding.status.usable || binding.api == nullptr) {
    std::cout << "no " << word << " platform: " << binding.status.reason << '\n';
    // The cpu is always there, and so is a library that was named.
    return *platform == Platform::cpu || !library.empty() ? 1 : exit_skipped;
  }
  std::cout << word << " platform over " << binding.status.library << ", runtime "
            << binding.status.runtime_version << '\n';
  if (binding.api->hipInit(0) != hiptool::hip::hipSuccess) {
    std::cout << "hipInit failed on a platform that claims to be usable\n";
    return 1;
  }
  auto& under_test = hiptool::conformance::under_test();
  under_test = {*platform, binding.api, binding.status.device_count};
  hiptool::conformance::register_scenarios();

  doctest::Context context(static_cast<int>(others.size()), others.data());
  return hiptool::test::run_cases(context);
}
