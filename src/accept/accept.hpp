// SPDX-License-Identifier: MIT
/// Accepts or refuses a machine: chooses devices, examines the machine, runs all stages, judges.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"
#include "machine/diagnosis.hpp"
#include "machine/doctor/doctor.hpp"
#include "machine/selection.hpp"

namespace hiptool::accept {

/// Everything a run of check found out.
struct CheckOutcome {
  CheckLevel level = CheckLevel::quick;
  std::vector<std::string> stages;  ///< that were chosen
  CheckResult result;
  /// What the further runs of the rated stages measured; see AcceptRequest::repeats.
  std::vector<std::vector<StageMeasurement>> repeats;
  std::vector<machine::Check> doctor;
  std::string expect;       ///< path; empty: none
  std::string written;      ///< path of the expectations that were written; empty: none
  std::string not_written;  ///< path of a file left unwritten, because the run did not pass
  bool is_whole = false;    ///< all GPUs of the machine were chosen
  std::string visibility;   ///< variables that choose GPUs: "CUDA_VISIBLE_DEVICES=0,1"
  bool has_no_gpu = false;  ///< so that the processor was checked, which nobody named
  std::vector<std::string> no_gpu_reasons;  ///< of platforms with a runtime library
  std::string model;                        ///< path; empty: the made one
  bool has_every_line = false;  ///< a terminal, too, shows a line for each device and stage
  double spread = 0;
  double wall_time_s = 0;
  /// The error of the verdict: of the worst fault, an interruption, or that nothing was run.
  std::optional<Error> error;
  std::string error_code;  ///< of an error that no stage has: "HT-NOT-RUN"; else empty
};

/// Which machine, and how.
struct AcceptRequest {
  CheckOptions options;                 ///< `on_stage` gets the results of the doctor too
  machine::DeviceSelection selection;   ///< without ids: all GPUs
  machine::DiagnosisOptions diagnosis;  ///< of all devices of the selection's platform
  std::size_t repeats = 1;              ///< how often the rated stages run, for --write-expect
  /// Called when the devices are chosen, before they are used; may be empty.
  std::function<void(const std::vector<Device>&)> on_devices;
};

/// Fills the outcome in steps and ends with its verdict; an interrupt is the outcome's error.
/// Throws Error where no device can be used, before anything is measured. Blocks. Where threads are
/// left over, they go on using the platforms.
void accept_machine(AcceptRequest request, Platforms& platforms, TraceSink& trace,
                    CheckOutcome& outcome);

/// "no limit known for NVIDIA T4: compared with siblings only": the models of which no rate is
/// published and no file has expectations; empty if there are none.
std::string limits_text(const CheckOutcome& outcome);

/// The text of a file with the rates and the number of GPUs of a run that passed; see
/// expectations_text().
std::string expectations_of(const CheckOutcome& outcome, double margin,
                            const std::string& written_at);

}  // namespace hiptool::accept
