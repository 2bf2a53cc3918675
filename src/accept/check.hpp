// SPDX-License-Identifier: MIT
/// Accepts or refuses devices: stages that each use them in another way, and a verdict for each
/// device and stage.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accept/expectations.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "machine/codes.hpp"
#include "machine/doctor/doctor.hpp"
#include "measure/library/measure.hpp"
#include "report/measurement.hpp"

namespace hiptool::accept {

/// How much is done; five seconds, half a minute, three minutes and an hour on eight GPUs are
/// goals. `prolog` is what a scheduler runs before each job: it uses the chosen devices only.
enum class CheckLevel { prolog, quick, standard, extended };
/// "prolog", "quick", "standard", "long".
std::string_view to_string(CheckLevel level) noexcept;
std::optional<CheckLevel> parse_check_level(std::string_view text) noexcept;

enum class StageStatus { passed, failed, skipped };
/// "passed", "failed", "skipped".
std::string_view to_string(StageStatus status) noexcept;

struct StageContext;
struct JointStageEnd;
class Heartbeat;
class StageWork;
/// See workers.hpp.
using OnLook = std::function<void(const std::function<std::string(std::size_t)>& step_of)>;

/// A stage, and what it does.
struct Stage {
  std::string name;
  bool is_rated = false;    ///< measures rates, which expectations and siblings judge
  bool has_levels = false;  ///< does more at a higher level
  /// Uses one device, while the same is done on the others; for the model the reference is computed
  /// first. Null for the doctor, who examines the machine, and where all are used together.
  void (*use)(const Device&, const StageContext&, Heartbeat&, StageWork&) = nullptr;
  /// Uses all devices: within a patience, with a work for each of them and one for the machine.
  JointStageEnd (*use_all)(const std::vector<Device>&, const std::shared_ptr<const StageContext>&,
                           double, const std::vector<std::shared_ptr<StageWork>>&,
                           const OnLook&) = nullptr;
};

/// All stages in their order: "doctor", "copy", "memory", "kernels", "operations", "libraries",
/// "model", "coherence", "collective", "network", "soak".
const std::vector<Stage>& all_stages();

/// Those that run at a level if none are chosen: at `prolog` "doctor", "copy" and "kernels", else
/// all but "network", which is for jobs of several processes, and the soak at `long` alone.
std::vector<std::string> stages_of_level(CheckLevel level);

/// The names of all of them, or of those that have a property: `names_of_stages(&Stage::is_rated)`.
std::vector<std::string> names_of_stages(bool Stage::*property = nullptr);

/// One reason to refuse a device, or to warn of it.
struct Fault {
  std::string code;            ///< of machine/codes.hpp; never empty
  std::string what;            ///< "h2d.pinned.copy.64MiB", "throttle"; of several devices the id
  std::string device;          ///< that it is of; empty: the machine, or several devices
  std::string reason;          ///< "12.1 GB/s, at least 48.0 GB/s expected"
  std::string action;          ///< what to do about it; never empty
  std::optional<Error> error;  ///< wrong data or a failed call; absent: a check or a rate
  report::Value expected = {};
  report::Value got = {};
  /// Only `fail` refuses; `warn` and `unknown` (something was not looked at) are in `warnings`.
  machine::Severity severity = machine::Severity::fail;

  /// "h2d.pinned.copy.64MiB@nvidia:1".
  std::string id() const { return device.empty() ? what : what + "@" + device; }
};

/// A fault of a measurement, without a reason yet.
Fault fault_of(std::string code, const report::Measurement& measured);

/// The code of a failed call or step; wrong data have codes of their own.
std::string code_of(const Error& error);

/// That of its error; exit_check_failed for a check or a rate.
int exit_code_of(const Fault& fault) noexcept;

/// Whether the first has a worse exit code than the second: see severity_of().
bool is_worse(const Fault& left, const Fault& right) noexcept;

/// One stage on one device.
struct StageResult {
  std::string stage;
  std::string device;  ///< "nvidia:0"; empty: the machine
  StageStatus status = StageStatus::skipped;
  std::string reason;            ///< of a skipped one
  std::string figures;           ///< the most important ones: "h2d 52.4 GB/s, d2h 51.0 GB/s"
  std::vector<Fault> faults;     ///< of a failed one, the worst first
  std::vector<Fault> warnings;   ///< of any; they refuse nothing
  bool was_unreachable = false;  ///< skipped because this or another device hangs
  bool was_interrupted = false;  ///< skipped, with the figures of what was done before
  double time_s = 0;
  report::Value telemetry = {};  ///< clocks, power, temperature of the device; absent: not read

  /// A fault of it, without the device where that is its own.
  std::string text_of(const Fault& fault) const;
  /// The fault in a line, "and 2 more" included, or why it was skipped, or the figures.
  std::string text() const;
};

/// A measurement of a stage.
struct StageMeasurement : report::Measurement {
  /// Measures the same again, alone on the machine; empty where it is not judged by its rate. Must
  /// own all that it uses.
  std::function<report::Measurement()> again;
  std::string wrong_data_action;          ///< what to do if it then has wrong data
  bool is_for_expectations_only = false;  ///< never compared with siblings
  /// When it was measured; absent: since the one before in its stage, until it was added.
  std::optional<std::chrono::steady_clock::time_point> started_at = {};
  std::optional<std::chrono::steady_clock::time_point> ended_at = {};
  /// What the slot, or the links between two GPUs, allow at their best; absent where unknown.
  std::optional<double> path_bytes_per_s = {};
};

/// A device that was checked.
struct CheckedDevice {
  std::string id;
  Platform platform = Platform::cpu;
  DeviceInfo info;
  bool has_passed = false;
};

struct CheckResult {
  std::vector<CheckedDevice> devices;
  std::vector<StageResult> stages;  ///< stage by stage, device by device
  std::vector<StageMeasurement> measurements;
  ExpectationResults expectations;
  std::vector<std::string> without_limits;  ///< names of GPUs of which no rate is published
  bool was_cancelled = false;
  bool has_left_threads = false;  ///< the process must end without destructors

  /// The worst fault and its stage; null if no stage failed.
  const StageResult* worst() const;
  std::size_t count(StageStatus status) const;
};

/// The model that all devices compute with.
struct CheckModel {
  std::filesystem::path path;
  bool is_made = true;  ///< the small one that check made; else the user's
};

/// How far a stage that takes long is on each device.
struct StageProgress {
  std::string stage;
  double elapsed_s = 0;
  std::vector<std::pair<std::string, std::string>> steps;  ///< device and what it does
};

/// The job of several processes that this one belongs to.
struct CheckJob {
  bool has_others = false;
  std::vector<std::string> hosts;  ///< that exchange data; the same on each of them
  std::size_t own = 0;             ///< which of them this is
  std::uint16_t port = 0;
  std::string why_no_peers;  ///< why none is exchanged; empty: it is
};

struct CheckOptions {
  CheckLevel level = CheckLevel::quick;
  std::vector<std::string> stages = stages_of_level(CheckLevel::quick);  ///< that run
  double soak_s = 600;                                                   ///< of the stage "soak"
  std::uint64_t size_bytes = 0;  ///< of copies and arrays; 0: depends on the device
  double patience_s = 30;        ///< for one step
  double spread = 0.1;           ///< a device may be so much slower than its siblings
  std::filesystem::path root = "/";
  measure::LibraryChild child;  ///< an empty program: libraries run in this process
  CheckModel model;
  CheckJob job;
  std::optional<Expectations> expectations;
  /// Names of the kernels and operations to run; empty: the level's.
  std::vector<std::string> kernels;
  std::vector<std::string> operations;
  const CancelToken* cancel = nullptr;  ///< never null; must outlive the process' threads
  /// Called on the calling thread as soon as a stage is done on a device; may be empty.
  std::function<void(const StageResult&)> on_stage;
  /// Called on the calling thread once a second while devices work; may be empty.
  std::function<void(const StageProgress&)> on_progress;
};

/// What `devices --doctor` found, as the results of the stage "doctor".
std::vector<StageResult> doctor_stage(const std::vector<machine::Check>& checks,
                                      const std::vector<CheckedDevice>& devices, double time_s);

/// Runs all stages but the doctor on all devices, adds results to `result`, which has the devices.
/// Kernels, operations, libraries and the model run on all devices at the same time, copies one
/// after the other. A device that does not answer within the patience gets no more work, while the
/// others do. Blocks. When cancelled it returns with the results so far.
void run_check(const std::vector<Device>& devices, const CheckOptions& options,
               CheckResult& result);

}  // namespace hiptool::accept
