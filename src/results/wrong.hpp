// SPDX-License-Identifier: MIT
/// Wrong data that a run found: on which devices, and what to do about it.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// The subject of a line about failures: the places of all measurements that have the status,
/// "nvidia:5"; empty where these are all places, which the line names anyway.
template <class Measurements>
std::string devices_with(const Measurements& list, report::Status status) {
  std::vector<std::string> all;
  std::vector<std::string> found;
  for (const report::Measurement& one : list) {
    const std::string place = place_of(one);
    base::add_once(all, place);
    if (one.status == status) base::add_once(found, place);
  }
  return found.size() == all.size() ? std::string() : base::ranges_of(std::move(found));
}

/// A failure with a code, its advice and its class of action. `where` has a device.
report::Failure coded_failure(std::string what, const char* code, report::Subject where);

/// The failure of a measurement with wrong data: values, device and, except for a user's kernel, a
/// code. It has the id of the measurement.
report::Failure failure_of_wrong(const report::Measurement& measured);

template <class Measurements>
void add_failures_of_wrong(const Measurements& list, std::vector<report::Failure>& failures) {
  for (const report::Measurement& one : list) {
    if (one.status == report::Status::mismatch) failures.push_back(failure_of_wrong(one));
  }
}

/// Adds to the verdict "to do: ..." of each action of the run's failures of wrong data, once.
void add_action_lines(report::Report& report);

}  // namespace hiptool::results
