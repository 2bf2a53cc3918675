// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/wrapper_table.hpp"
#include "hip/api.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"
#include "scenarios/scenario.hpp"

namespace hiptool::sweep {

/// What is swept.
struct Subject {
  Platform platform = Platform::cpu;
  const hip::Api& api;
  int device_count = 0;
  std::string_view scenario_part;  ///< only scenarios whose names contain it
  bool is_late = false;            ///< faults strike while work on streams completes late
};

/// How one run of a scenario ended.
struct Outcome {
  std::optional<Error> error;        ///< what the library refused
  std::optional<std::string> wrong;  ///< a wrong result
  std::vector<std::string> notes;    ///< what went to the trace
  std::string leaked;                ///< empty when nothing is left behind
};

/// Runs a scenario on devices that nothing is known of, through a wrapper's table, and ends the
/// process if it hangs; `what` says what is going on then.
Outcome run(const Subject& subject, const scenarios::Scenario& scenario,
            const test::WrapperTable& table, const std::string& what);

/// Visits those that can run and prints why the others cannot.
void for_each_scenario(const Subject& subject, std::span<const scenarios::Scenario> all,
                       const std::function<void(const scenarios::Scenario&)>& visit);

}  // namespace hiptool::sweep
