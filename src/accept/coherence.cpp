// SPDX-License-Identifier: MIT
// Host memory that the device uses in place, while the host does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "accept/stages.hpp"
#include "hiptool/error.hpp"
#include "measure/coherence/coherence.hpp"

namespace hiptool::accept {
namespace {

constexpr const char* coherence_action =
    "do not let kernels read host memory on this device (no zero-copy, no unified memory); update "
    "the driver and its firmware, and check the IOMMU with `hiptool devices --doctor`";

measure::CoherenceOptions coherence_options(const StageContext& context, bool is_cpu) {
  measure::CoherenceOptions options;
  const bool is_quick = context.level <= CheckLevel::quick;
  options.rounds = is_quick ? 64 : context.level == CheckLevel::standard ? 1000 : 10000;
  options.phases = is_quick ? 4 : 32;
  options.phase_bytes = is_cpu ? std::uint64_t{1} << 20 : std::uint64_t{4} << 20;
  if (context.size_bytes > 0) options.phase_bytes = context.size_bytes;
  options.timeout_s = context.child.timeout_s / 3;
  options.cancel = context.cancel;
  return options;
}

Fault coherence_fault(const measure::CoherenceResult& result) {
  Fault fault = fault_of(machine::codes::coherence_data, result);
  fault.reason = result.reason;
  fault.action = coherence_action;
  if (result.status == report::Status::mismatch) {
    fault.error = Error(ErrorCode::data_mismatch, "coherence", result.id + ": " + result.reason);
    fault.expected = result.wrong->expected;
    fault.got = result.wrong->got;
    return fault;
  }
  const Error error = result.error.value_or(Error(ErrorCode::device, "coherence", result.reason));
  fault.error = error;
  if (result.has_timed_out) {
    fault.code = machine::codes::coherence_lost;
  } else {
    fault.code = code_of(error);
    fault.action = action_of(error);
  }
  return fault;
}

}  // namespace

void coherence_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                     StageWork& work) {
  measure::CoherenceOptions options =
      coherence_options(context, device.platform() == Platform::cpu);
  options.on_step = [&heart](const std::string& step) { heart.step(step); };
  std::vector<std::string> right;
  for (const measure::SharedMemoryKind kind : measure::all_shared_memory_kinds()) {
    const measure::CoherenceResult result = measure_coherence(device, kind, options);
    StageMeasurement measured;
    static_cast<report::Measurement&>(measured) = measurement_of(result);
    measured.stage = "coherence";
    work.add(measured);
    if (result.status == report::Status::skipped) {
      work.add_skip(result.reason);
    } else if (result.has_failed()) {
      work.add(coherence_fault(result));
      if (result.error && result.error->code() == ErrorCode::device_lost) return;
    } else {
      right.emplace_back(std::string(to_string(kind)) + (result.has_turns ? "" : " (phases only)"));
    }
  }
  if (!right.empty()) work.add_figure(fmt::format("right: {}", fmt::join(right, ", ")));
}

}  // namespace hiptool::accept
