// SPDX-License-Identifier: MIT
/// What a run measured, the same for copies, kernels and loads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.hpp"
#include "report/run.hpp"

namespace hiptool::report {

enum class Status { ok, skipped, failed, mismatch, interrupted, unknown };

/// "ok", "skipped", "failed", "mismatch" or "interrupted"; empty for unknown.
std::string_view to_string(Status status) noexcept;
Status parse_status(std::string_view text) noexcept;

/// Checked data that was wrong.
struct WrongData {
  std::optional<std::uint64_t> first_index;  ///< absent where one value represents all
  Value expected;                            ///< the number at that index; absent for copies
  Value got;                                 ///< absent where a second look found another number
  std::uint64_t xor_bits = 0;                ///< all bits that are wrong in any value
  std::uint64_t count = 0;                   ///< wrong values
  bool reread_agrees = false;  ///< a second read gave the same; else the transfer is at fault
  std::size_t argument = 0;    ///< of a user's kernel: where it found this
};

/// "a second read returned the same value", or another one.
std::string_view second_read_text(const WrongData& wrong) noexcept;

/// "1 value wrong, the first at 3, bits 0x400".
std::string wrong_text(const WrongData& wrong);

struct Measurement {
  std::string id;           ///< unique in its run: a label, "@" and the devices
  std::string label;        ///< what was measured, without the devices: "h2d.pinned.copy.256MiB"
  std::string series;       ///< the label without its size
  std::string kind;         ///< "h2d", "kernel", "operation", "library", "module", "load", ...
  std::string stage;        ///< of `check` that measured it; empty elsewhere
  std::string source;       ///< of a copy: "host" or device ids with commas; empty for others
  std::string destination;  ///< of a copy; else the device
  std::vector<std::string> devices;  ///< that took part, each once
  std::uint64_t size_bytes = 0;
  std::string dtype;
  std::string shape;    ///< "4096x4096"
  std::string layout;   ///< "packed"
  std::string library;  ///< that computed: "own", "rocblas"

  Status status = Status::ok;
  std::string reason;              ///< for any other status
  std::optional<Error> error;      ///< of a failed one
  std::optional<WrongData> wrong;  ///< of a mismatch

  std::vector<double> samples_s;  ///< positive ones only if has_bad_sample is false
  bool has_bad_sample = false;    ///< a document has one that is not a number above zero
  /// How many of the samples are of each process, in their order; empty: all are of one.
  std::vector<std::size_t> process_samples;
  std::optional<double> median_s;
  std::optional<double> bytes_per_s;  ///< the median
  std::optional<double> low_bytes_per_s;
  std::optional<double> high_bytes_per_s;
  std::optional<double> flops_per_s;
  std::optional<double> limit_bytes_per_s;
  std::optional<double> share_of_limit;
  std::string limit_source;     ///< "pcie-link", "xgmi-link", "memory-clock", "sku-table", "user"
  std::string share_reason;     ///< why a measured rate has no share, or one above 1
  bool is_above_limit = false;  ///< the reason is that the rate is above the limit

  std::uint64_t checked = 0;  ///< values that were compared, over all checks
  double max_error = 0;       ///< largest difference seen, in the unit of `tolerance`
  double tolerance = 0;       ///< 0: compared bit by bit
  Object details = {};        ///< what only measurements of this kind have, for the document

  bool has_failed() const noexcept {
    return status == Status::failed || status == Status::mismatch;
  }
  /// It has times that another run's can be compared with.
  bool was_measured() const noexcept { return status == Status::ok && !samples_s.empty(); }
  /// Between two different devices.
  bool is_pair() const;
  /// Sets label, series and devices from id, source, destination and size. An id without "@" leaves
  /// label and series as they are.
  void set_names();
};

/// Of wrong data with its first values, and the measurement's own reason: "1 value wrong, the first
/// at 3, bits 0x400, expected 2.5, got 2.25; REASON".
std::string wrong_text(const Measurement& measured);

/// Where it was measured: "nvidia:5", or "nvidia:3>nvidia:5" of a pair.
std::string place_of(const Measurement& measured);

/// The median time of each process that measured it, in their order; none without samples.
std::vector<double> process_medians(const Measurement& measured);

/// How many have a status, of measurements of any kind.
template <class Measurements>
std::size_t count_status(const Measurements& list, Status wanted) {
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [wanted](const auto& one) { return one.status == wanted; }));
}

/// The reasons of measurements of any kind, each once.
template <class Measurements>
std::vector<std::string> distinct_reasons(const Measurements& list) {
  std::vector<std::string> reasons;
  for (const auto& one : list) {
    if (std::find(reasons.begin(), reasons.end(), one.reason) == reasons.end()) {
      reasons.push_back(one.reason);
    }
  }
  return reasons;
}

/// Gives a share above 1 of a document a reason where the document has none: those of versions up
/// to 0.2.0 had shares of limits that were none.
template <class Measured>
void explain_share(Measured& measured) {
  if (measured.share_of_limit.value_or(0) > 1 && measured.share_reason.empty()) {
    measured.share_reason = "the document has no reason for it; the limit may not be one";
  }
}

/// What a load of one model measured and how it ended.
struct LoadedModel {
  struct Copied {
    std::string device;
    std::uint64_t size_bytes = 0;
    std::optional<double> time_s;
    std::optional<double> bytes_per_s;
  };
  std::string path;        ///< of the model, as it was given
  bool has_model = false;  ///< it was opened
  std::string status;      ///< "verified"
  std::uint64_t size_bytes = 0;
  std::optional<double> load_time_s;
  std::optional<double> bytes_per_s;
  std::optional<double> share_of_limit;
  std::string share_reason;  ///< why it has none, or how its limit was found; may be empty
  std::vector<Copied> devices;

  bool passed = false;
  std::optional<int> exit_code;  ///< of a load of this model alone
  std::optional<double> verdict_time_s;
  Object error;  ///< as a run has it; empty: none
  std::vector<Failure> failures;
  std::vector<std::string> wrong;     ///< each place with wrong data or a wrong result
  std::optional<std::string> values;  ///< where they were checked: how many are NaN or infinite
  bool has_bad_values = false;
};

/// "load.NAME" of each model, and "load-copy.NAME.DEVICE" of each of its devices, as far as they
/// were measured. The name is the last part of the path, the whole path where another one ends
/// alike, with a number where the path is the same.
std::vector<Measurement> load_measurements(const std::vector<LoadedModel>& loads);

/// A threshold and the measurement, or the measurements, that it was compared with.
struct ThresholdResult {
  std::string threshold;  ///< as it was written
  std::string id;         ///< of the measurement; empty: the threshold is for several
  bool is_met = false;
  std::vector<std::string> missed;          ///< a text for each measurement that missed it
  std::optional<double> least_bytes_per_s;  ///< absent in one for several
  std::optional<double> measured_bytes_per_s;
  std::optional<double> most_s;  ///< of a latency; the two rates are absent then
  std::optional<double> measured_s;
  std::size_t met = 0;            ///< how many times it was met
  std::size_t measured = 0;       ///< how many times it was measured
  std::vector<Failure> failures;  ///< of those that missed it

  std::string reason() const;         ///< all that missed it in one line
  std::string measured_text() const;  ///< "48.2 GB/s" or "12.0 us"; empty in one for several
  std::string bound_text() const;     ///< "at least 50.0 GB/s" or "at most 10.0 us"; the same
};

/// The failure of a measurement that missed a threshold.
Failure missed_by(const std::string& threshold, const std::string& id, Value expected, Value got);

std::vector<Failure> failures_of(const std::vector<ThresholdResult>& thresholds);

/// "1 of 2 thresholds missed: ..." with the first that missed; empty where all are met.
std::string missed_text(const std::vector<ThresholdResult>& thresholds);

/// The same measurement in two runs.
struct Comparison {
  struct Side {
    std::optional<double> median_s;
    std::optional<double> bytes_per_s;
    std::size_t samples = 0;
    Status status = Status::unknown;
    std::size_t processes = 1;
  };
  std::string id;
  base::Comparison times;
  std::string reason;  ///< why it is ambiguous; empty for other verdicts
  Side before;
  Side after;
  std::optional<double> rate_change;  ///< of the median rates; absent where a side has none
  base::Interval ignored = {};        ///< changes of the time that mean nothing
  /// The smallest effect that the noise between processes can decide; absent where it is unknown.
  std::optional<double> decidable_effect = {};
  /// Of an ambiguous one: processes on each side that would decide; absent where that is unknown.
  std::optional<std::size_t> repeats_to_decide = {};

  /// The median rate of a side, or its time where one of the sides has no rate.
  std::string shown(const Side& side) const;
  bool after_failed() const noexcept {
    return after.status == Status::failed || after.status == Status::mismatch;
  }
  /// "rate +3.0 %", or of the time where one of the sides has no rate; empty where unknown.
  std::string change_text() const;
};

/// "SAME", "FASTER", "SLOWER" or "AMBIGUOUS".
std::string_view to_string(base::Verdict verdict) noexcept;

/// What a device did while a stage of `check` ran; absent where it was not read.
struct StageTelemetry {
  std::optional<double> median_clock_hz;
  std::optional<double> median_memory_clock_hz;
  std::optional<double> most_power_w;
  std::optional<double> most_temperature_c;
};

/// An examined property of a device or the machine; fields that the document lacks are empty.
struct Check {
  std::string id;        ///< "link-down"
  std::string severity;  ///< "pass", "info", "warn", "fail" or "unknown"
  std::string device;
  std::string read;
  std::string expected;
  std::string fix;
  std::string code = {};          ///< "HT-LINK-DOWN"; empty where it has none
  std::string action_class = {};  ///< of the code: "config"
  StageTelemetry telemetry = {};
};

/// A size as ids and labels have it, a word from which nothing is lost: "256MiB", "1500B".
std::string size_word(std::uint64_t size_bytes);

/// The platform of a device id: "nvidia" of "nvidia:0"; empty for any other text.
std::string platform_of(const std::string& id);

/// The order of device ids: by platform and number, so that nvidia:10 follows nvidia:9.
bool is_device_before(const std::string& left, const std::string& right);

}  // namespace hiptool::report
