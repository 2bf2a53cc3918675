// SPDX-License-Identifier: MIT
/// A run of hiptool and how it ended: the fields that begin every document.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::report {

/// What a failure was found by.
enum class FailureKind {
  other,
  threshold,    ///< a measurement that missed it
  comparison,   ///< with another run: slower, failed, or not there
  finding,      ///< of the doctor
  stage,        ///< of `check`
  values,       ///< NaN or infinity in a tensor
  self_test,    ///< a planted fault that was not detected
  measurement,  ///< that failed or gave wrong data in one of several runs
  straggler,    ///< slower than the others of several runs
  run,          ///< one of several that did not pass
  no_common,    ///< no measurement was made twice
  error,        ///< that ended the run, with its code of a finding
};

/// "threshold", "self-test", "error".
std::string_view to_string(FailureKind kind) noexcept;
/// `other` for an unknown word.
FailureKind parse_failure_kind(std::string_view text) noexcept;

/// What a failure is about; empty where it says nothing about that.
struct Subject {
  std::string host = {};
  std::string device = {};
  std::string stage = {};
  std::string measurement = {};  ///< its id
  std::string tensor = {};
  std::string file = {};
};

/// One reason for exit code 1: a missed threshold, a failed check, NaN in a tensor.
struct Failure {
  /// "h2d.pinned>=48GB/s h2d.pinned.copy.256MiB@nvidia:0". JUnit writes a case of this name unless
  /// a case of a threshold, check or comparison shows the failure already.
  std::string what;
  Value expected;
  Value got;
  FailureKind kind = FailureKind::other;
  Subject subject = {};
  std::string reason = {};        ///< a sentence; may be empty
  std::string action = {};        ///< what to do about it; may be empty
  std::string code = {};          ///< "HT-COPY-RATE"; empty where the finding has none
  std::string action_class = {};  ///< of the code: "reset-gpu"
};

/// The machine; empty and absent where unknown.
struct Host {
  std::string name;
  std::string kernel;
  std::string cpu;
  std::optional<std::uint64_t> cores;
  std::optional<std::uint64_t> memory_bytes;
};

/// How a document names a device; empty where it does not.
struct DeviceTexts {
  std::string name;
  std::string arch;
  std::string pci_bus_id;
  std::string uuid;
  std::string driver;   ///< version of the kernel driver
  std::string runtime;  ///< version of the vendor's library
};

using NamedDevice = std::pair<std::string, DeviceTexts>;  ///< after its id

struct Run {
  std::string command;  ///< "bench-copy"; empty: no document of hiptool
  std::string tool_version;
  std::string tool_commit;
  Host host;
  std::vector<NamedDevice> devices;  ///< that took part
  std::string started_at;            ///< "2026-03-01T12:00:00Z"
  std::string status;
  Object error;                  ///< code, message, hint and native; empty: none
  std::optional<int> exit_code;  ///< absent only in documents written before they had it
  bool passed = false;           ///< exit code 0, and nothing else
  std::vector<Failure> failures;

  /// The status becomes "interrupted" for a cancelled run, else "failed".
  void set_error(const Error& cause);
  /// Sets the verdict. Exit code 1 turns the status "ok" into "failed".
  void end(int code, std::vector<Failure> reasons = {});
  std::string error_message() const { return text_of(member(error, "message")); }
};

/// Devices as documents have them.
Array devices_value(const std::vector<NamedDevice>& devices);

/// The fields of a run in the order in which every document starts with them.
Object head_of(const Run& run);

/// Code, message, hint and native error, as documents have them.
Object error_value(const Error& error);

/// "exit code 5", or "no exit code" for a document that does not hold it.
std::string exit_text(const Run& run);

/// A failure in one line: "WHAT: expected EXPECTED, got GOT", without the parts that are absent.
std::string failure_text(const Failure& failure);

/// Absent for an empty text.
inline Value text_or_absent(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

}  // namespace hiptool::report
