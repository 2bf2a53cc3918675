// SPDX-License-Identifier: MIT
#include "scenarios_test.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cases.hpp"
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
  const std::string reason = scenarios::reason_to_skip(scenario, devices);
  if (!reason.empty()) return test::skip_case(reason);
  const std::size_t checks_before = scenarios::checks_made();
  try {
    scenario.run({devices, full_rounds});
  } catch (const scenarios::ScenarioFailed& failure) {
    FAIL(std::string(failure.what()));
  } catch (const Error& error) {
    FAIL(to_string(error.code()) << ": " << std::string(error.what()));
  }
  CHECK(scenarios::checks_made() > checks_before);
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
  for (std::size_t index = 0; index < all.size(); ++index) {
    names.push_back("scenario: " + std::string(all[index].name));
    doctest::detail::TestCase test_case(cases.at(index), __FILE__, __LINE__,
                                        doctest::detail::TestSuite() * "scenarios");
    doctest::detail::regTest(test_case * names.back().c_str());
  }
}

}  // namespace hiptool::conformance
