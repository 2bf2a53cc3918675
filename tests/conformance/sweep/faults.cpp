// SPDX-License-Identifier: MIT
#include "sweep/faults.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "core/call.hpp"
#include "sanitized.hpp"

namespace hiptool::sweep {
namespace {

using scenarios::Scenario;
using test::WrapperTable;

struct Fault {
  std::string_view call;
  std::uint64_t nth = 1;
  hip::hipError_t code = hip::hipErrorUnknown;
};

constexpr std::chrono::microseconds longest_fault_delay{500};

using Counts = std::map<std::string_view, std::uint64_t>;

/// Only give texts; they have no error to answer.
constexpr std::array<std::string_view, 2> texts{"hipGetErrorName", "hipGetErrorString"};

/// Nobody could catch what these fail with: they are called in destructors, or after a failure.
constexpr std::array<std::string_view, 14> may_be_noted{"hipFree",
                                                        "hipHostFree",
                                                        "hipHostUnregister",
                                                        "hipStreamDestroy",
                                                        "hipEventDestroy",
                                                        "hipModuleUnload",
                                                        "hipStreamEndCapture",
                                                        "hipGraphDestroy",
                                                        "hipGraphExecDestroy",
                                                        "hipGetDevice",
                                                        "hipSetDevice",
                                                        "hipStreamSynchronize",
                                                        "hipDeviceSynchronize",
                                                        "hipDeviceDisablePeerAccess"};

/// What these do not say is unknown, and no failure.
constexpr std::array<std::string_view, 10> may_be_unknown{
    "hipDeviceGetAttribute", "hipDeviceGetName",
    "hipDeviceGetUuid",      "hipDeviceGetPCIBusId",
    "hipDeviceTotalMem",     "hipGetDevicePropertiesR0600",
    "hipFuncGetAttribute",   "hipGetDevicePropertiesR0000",
    "hipDriverGetVersion",   "hipMemGetInfo"};

template <std::size_t Size>
bool contains(const std::array<std::string_view, Size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Counts counts_of(const WrapperTable& table) {
  Counts counts;
  hip::Api::for_each([&](auto, std::string_view name, hip::Need) {
    if (const std::uint64_t count = table.count(name); count > 0) counts[name] = count;
  });
  return counts;
}

/// The first call, one by chance and the last one, for a sanitizer. Out of memory has ways of its
/// own.
std::vector<Fault> sample_of(std::string_view call, std::uint64_t count) {
  std::mt19937_64 random(count);
  std::vector<Fault> faults{{call, 1, hip::hipErrorOutOfMemory}};
  for (const std::uint64_t nth : std::set<std::uint64_t>{1, 1 + random() % count, count}) {
    faults.push_back({call, nth});
  }
  return faults;
}

/// The first calls one by one, then the last: each is another place in the code. All of them fail
/// with an unknown error, the first and the last also with the codes that mean more. Without
/// RELEASE=1 in the environment few of them.
std::vector<Fault> faults_of(std::string_view call, std::uint64_t count, bool few) {
  const bool is_release = std::getenv("RELEASE") != nullptr;
  if (test::is_sanitized && !is_release) return sample_of(call, count);
  few = few || !is_release;
  const std::uint64_t one_by_one = few ? 2 : 8;
  constexpr std::array codes{hip::hipErrorOutOfMemory, hip::hipErrorInvalidValue,
                             hip::hipErrorIllegalAddress};
  std::vector<Fault> faults;
  for (std::uint64_t nth = 1; nth <= std::min(count, one_by_one); ++nth) {
    faults.push_back({call, nth});
  }
  if (count > one_by_one) faults.push_back({call, count});
  for (const hip::hipError_t code : codes) {
    faults.push_back({call, 1, code});
    if (count > 1 && !few) faults.push_back({call, count, code});
  }
  return faults;
}

std::string to_text(const Fault& fault) {
  return std::string(fault.call) + " number " + std::to_string(fault.nth) + " answers " +
         std::to_string(fault.code);
}

ErrorCode expected_code(const Fault& fault) {
  const bool is_host_memory = fault.call == "hipHostMalloc" || fault.call == "hipHostRegister";
  if (is_host_memory && fault.code == hip::hipErrorOutOfMemory) {
    return ErrorCode::host_out_of_memory;
  }
  return core::error_code_of(fault.code);
}

bool is_noted(const Outcome& outcome, const Fault& fault) {
  const std::string start = std::string(fault.call) + ": ";
  return std::any_of(outcome.notes.begin(), outcome.notes.end(),
                     [&](const std::string& note) { return note.starts_with(start); });
}

/// What is wrong with how a run with a fault ended; empty if nothing is.
std::string judge(const Scenario& scenario, const Outcome& outcome, const Fault& fault) {
  // A guard that cannot put a device back can only say so, and the thread stays on the other one.
  const bool stays_away = fault.call == "hipSetDevice" && is_noted(outcome, fault);
  if (outcome.wrong && !stays_away) return "a wrong result instead of an error: " + *outcome.wrong;
  if (!outcome.leaked.empty()) return "leaks: " + outcome.leaked;
  if (!outcome.error) {
    // An attribute that the runtime does not know is not worth a note.
    const bool is_plain = fault.code == hip::hipErrorInvalidValue;
    if (contains(may_be_unknown, fault.call) && (is_plain || is_noted(outcome, fault))) return {};
    if (contains(may_be_noted, fault.call) && is_noted(outcome, fault)) return {};
    if (scenario.refused_call == fault.call && fault.code == hip::hipErrorOutOfMemory) return {};
    return "nobody is told";
  }
  const Error& error = *outcome.error;
  const std::string found = std::string(to_string(error.code())) + ", " + error.what();
  if (error.code() != expected_code(fault)) return "the wrong kind of error: " + found;
  if (error.operation() != fault.call) return "the error names another call: " + found;
  if (!error.native() || error.native()->code != static_cast<int>(fault.code)) {
    return "the error has not the native code: " + found;
  }
  if (std::string_view(error.what()).find(fault.call) == std::string_view::npos) {
    return "the text does not name the call: " + found;
  }
  return {};
}

std::string judge_clean(const Outcome& outcome) {
  if (outcome.error) return outcome.error->what();
  if (outcome.wrong) return *outcome.wrong;
  if (!outcome.leaked.empty()) return "leaks: " + outcome.leaked;
  if (!outcome.notes.empty()) return "noted: " + outcome.notes.front();
  return {};
}

class FaultSweep {
 public:
  explicit FaultSweep(const Subject& subject) : subject_(subject), table_(subject.api) {}

  void visit(const Scenario& scenario) {
    const std::string name(scenario.name);
    begin();
    if (!check(name, judge_clean(run(subject_, scenario, table_, name)))) return;
    const Counts counts = counts_of(table_);
    for (const auto& [call, count] : counts) {
      if (contains(texts, call)) continue;
      for (const Fault& fault : faults_of(call, count, scenario.is_long)) visit(scenario, fault);
      begin();
      const std::string what = name + " after faults of " + std::string(call);
      check(what, judge_clean(run(subject_, scenario, table_, what)));
    }
    ++scenarios_;
  }

  bool finish() const {
    std::cout << scenarios_ << " scenarios, " << runs_ << " runs with a fault, " << findings_
              << " findings\n";
    return findings_ == 0 && runs_ > 0;
  }

 private:
  void begin() {
    table_.reset();
    if (subject_.is_late) table_.delay_streams(++seed_, longest_fault_delay);
  }

  void visit(const Scenario& scenario, const Fault& fault) {
    const std::string what = std::string(scenario.name) + ", " + to_text(fault);
    begin();
    table_.fail(fault.call, fault.code, fault.nth);
    const Outcome outcome = run(subject_, scenario, table_, what);
    // Threads take another path now and then.
    const bool was_reached = table_.count(fault.call) >= fault.nth;
    check(what, was_reached ? judge(scenario, outcome, fault) : judge_clean(outcome));
    runs_ += was_reached ? 1 : 0;
  }

  bool check(const std::string& what, const std::string& finding) {
    if (finding.empty()) return true;
    std::cout << what << ": " << finding << '\n';
    ++findings_;
    return false;
  }

  const Subject& subject_;
  WrapperTable table_;
  std::uint64_t seed_ = 0;
  int scenarios_ = 0;
  int runs_ = 0;
  int findings_ = 0;
};

}  // namespace

bool sweep_faults(const Subject& subject) {
  FaultSweep sweep(subject);
  for_each_scenario(subject, scenarios::all(),
                    [&](const Scenario& scenario) { sweep.visit(scenario); });
  return sweep.finish();
}

}  // namespace hiptool::sweep
