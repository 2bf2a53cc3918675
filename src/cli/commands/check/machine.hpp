// SPDX-License-Identifier: MIT
/// The machine that `check` examines: its diagnosis, and the devices whose drivers answer.
#pragma once
#include <optional>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/check/run.hpp"
#include "cli/device_option.hpp"
#include "cli/diagnosis.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// What was chosen to be checked, and what the doctor says of it.
struct CheckedMachine {
  DeviceSelection selection;
  bool is_whole = false;    ///< all GPUs of the machine were chosen
  bool has_no_gpu = false;  ///< so that the processor was chosen, which nobody named
  machine::Diagnosis diagnosis;
  double doctor_s = 0;
  std::vector<const machine::PlatformAnswer*> dead;  ///< of the diagnosis: they did not answer
  std::vector<Device> devices;
};

/// Whether the selection is for devices of the cpu platform alone.
bool is_for_cpu_only(const DeviceSelection& selection);

/// Examines the machine and chooses devices. Throws Error where none can be used.
void examine_machine(const machine::ProbePatience& patience, Context& context, Platforms& platforms,
                     CheckedMachine& machine);

/// Adds the results of the doctor to the outcome, which has the devices, and reports them;
/// `missing` are GPUs that are expected and were not found.
void add_doctor(const CheckedMachine& machine, const std::optional<accept::Fault>& missing,
                Context& context, results::CheckOutcome& outcome);

/// Reports a finished stage on standard error.
void report_stage(Context& context, const accept::StageResult& stage);

}  // namespace hiptool::cli
