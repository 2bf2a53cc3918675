// SPDX-License-Identifier: MIT
/// The machine that is examined: its diagnosis, and the devices whose drivers answer.
#pragma once
#include <optional>
#include <vector>

#include "accept/accept.hpp"

namespace hiptool::accept {

/// What was chosen to be checked, and what the doctor says of it.
struct CheckedMachine {
  machine::DeviceSelection selection;
  bool is_whole = false;    ///< all GPUs of the machine were chosen
  bool has_no_gpu = false;  ///< so that the processor was chosen, which nobody named
  std::string visibility;   ///< variables that choose GPUs: "CUDA_VISIBLE_DEVICES=0,1"
  machine::Diagnosis diagnosis;
  double doctor_s = 0;
  std::vector<const machine::PlatformAnswer*> dead;  ///< of the diagnosis: they did not answer
  std::vector<Device> devices;
};

/// Examines the machine and chooses devices. Throws Error where none can be used.
void examine_machine(const AcceptRequest& request, Platforms& platforms, TraceSink& trace,
                     CheckedMachine& machine);

/// Adds the results of the doctor to the outcome, which has the devices, and reports them;
/// `missing` are GPUs that are expected and were not found.
void add_doctor(const CheckedMachine& machine, const std::optional<Fault>& missing,
                const CheckOptions& options, CheckOutcome& outcome);

// ---- left_memory.cpp

/// Memory of chosen devices that others hold before anything of this run is on them: a fault of
/// each device with the names, ids and memory of the processes, or with the amount where no process
/// can be seen. What drivers keep for themselves (up to 1 GiB) is none.
std::vector<Fault> left_memory(const CheckedMachine& machine, const CheckOutcome& outcome);

// ---- compare.cpp

/// Which GPUs the file expects and the machine lacks; compared only where the whole machine is
/// checked and its drivers answer. Before a job a variable may leave some to other jobs.
std::optional<Fault> compare_gpu_counts(const Expectations& expectations,
                                        const CheckedMachine& machine, CheckOutcome& outcome);

/// Finds what a file expects and this level does not measure. The outcome gets an error if this
/// level should have measured it.
void compare_expectations(const CheckOptions& options, CheckOutcome& outcome);

}  // namespace hiptool::accept
