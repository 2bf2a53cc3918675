// SPDX-License-Identifier: MIT
#include "scenarios_test.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <vector>

#include "scenarios/platform.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"
#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

constexpr int full_rounds = 1'000;

/// doctest cases are plain functions; each finds its scenario by a number that counts up.
constexpr std::size_t most_scenarios = 64;

scenarios::FixedPlatform& platform() {
  static scenarios::FixedPlatform instance(under_test().platform, *under_test().api,
                                           under_test().device_count);
  return instance;
}

template <std::size_t Index>
void run_case() {
  const scenarios::Scenario& scenario = scenarios::all()[Index];
  const auto devices = platform().devices();
  try {
    scenario.run({devices, full_rounds});
  } catch (const scenarios::ScenarioFailed& failure) {
    FAIL_CHECK(std::string(failure.what()));
  } catch (const Error& error) {
    FAIL_CHECK(to_string(error.code()) << ": " << std::string(error.what()));
  }
}

template <std::size_t... Index>
std::vector<void (*)()> make_cases(std::index_sequence<Index...>) {
  return {&run_case<Index>...};
}

}  // namespace

void register_scenarios() {
  static const auto cases = make_cases(std::make_index_sequence<most_scenarios>{});
  static std::vector<std::string> names;  // doctest keeps the pointers
  const auto all = scenarios::all();
  names.reserve(all.size());
  const auto devices = platform().devices();
  for (std::size_t index = 0; index < all.size(); ++index) {
    names.push_back("scenario: " + std::string(all[index].name));
    const std::string reason = scenarios::reason_to_skip(all[index], devices);
    if (!reason.empty()) std::cout << "skipped: " << names.back() << ": " << reason << '\n';
    doctest::detail::TestCase test_case(cases.at(index), __FILE__, __LINE__,
                                        doctest::detail::TestSuite() * "scenarios");
    doctest::detail::regTest(test_case * names.back().c_str() * doctest::skip(!reason.empty()));
  }
}

}  // namespace hiptool::conformance
