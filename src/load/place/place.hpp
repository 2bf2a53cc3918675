// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/command.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_fit.hpp"

namespace hiptool::cli {

/// The memory that a model may go to.
struct FitMemory {
  std::vector<FitDevice> chosen;
  std::vector<FitDevice> others;  ///< of the same platform, for advice only
};

/// From the system's files alone: GPUs of AMD, and the host's memory where the machine has no GPU
/// or the cpu is asked for. Absent where files do not tell: other GPUs, ids that are no ordinals,
/// environment variables that hide devices, and less than 4 GiB (the carve-out of a processor's
/// graphics, which uses the host's memory besides).
std::optional<FitMemory> read_fit_memory(const Environment& environment,
                                         const DeviceSelection& selection);

/// Asks the runtime for free and total memory of the devices; of the platform's other ones only for
/// the total, because more would start them.
FitMemory ask_fit_memory(Platforms& platforms, const std::vector<Device>& devices);

/// fit_model for a copy on each device: that of the first one that does not hold it, else of all.
ModelFit fit_copies(std::span<const TensorInfo> tensors, const ModelSummary& summary,
                    std::uint64_t context, std::span<const FitDevice> devices);

/// The load that a split of fit_model describes, so that each layer lies where room for its cache
/// was counted. The devices are those of the fit's parts, in that order.
LoadPlan plan_of_fit(const ModelFile& model, const ModelSummary& summary, const ModelFit& fit,
                     std::span<const Device> devices);

/// What to say when the chosen devices do not hold the model: how much is missing, and what would
/// help.
Error does_not_fit(const ModelFit& fit, const std::vector<FitDevice>& chosen);

}  // namespace hiptool::cli
