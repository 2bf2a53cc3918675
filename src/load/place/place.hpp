// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_fit.hpp"
#include "hiptool/model_summary.hpp"

namespace hiptool::load {

/// Where a model goes on these devices: reads their free memory (starts them), divides the model as
/// `split` says and checks that it fits, with memory for a KV cache of `context_tokens` unless that
/// is 0. Throws Error(out_of_memory) with the shortfall and a split that would fit. `plan` gets the
/// plan, and `fit` the fit where there is a context, also when this throws.
void place_model(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                 std::uint64_t context_tokens, std::optional<LoadPlan>& plan,
                 std::optional<ModelFit>& fit);

/// The memory that a model may go to.
struct FitMemory {
  std::vector<FitDevice> chosen;
  std::vector<FitDevice> others;  ///< of the same platform, for hints only
};

/// Free and total memory of the devices (starts them); of the platform's others only the total.
FitMemory read_fit_memory(std::span<const Device> devices);

using GetEnvironment = std::function<std::optional<std::string>(const char*)>;

/// The same from the system's files alone, without a driver: AMD GPUs, and the host's memory where
/// the machine has no GPU or the cpu is wanted. `ids` as for --device. Absent where the files do
/// not have it: other GPUs, ids that are not ordinals, environment variables that hide devices, and
/// less than 4 GiB (the carve-out of an integrated GPU, which uses the host's memory too).
std::optional<FitMemory> read_fit_memory(const std::string& system_root,
                                         const GetEnvironment& getenv,
                                         std::optional<Platform> platform,
                                         std::span<const std::string> ids);

/// Whether the model fits with its KV cache, by layers or, for SplitKind::replicate, whole on each
/// of the chosen devices. Throws Error(out_of_memory) where they do not hold it; `fit` is set also
/// then.
void check_fit_with_cache(const ModelFile& model, const ModelSummary& summary, SplitKind split,
                          std::uint64_t context_tokens, const FitMemory& memory,
                          std::optional<ModelFit>& fit);

}  // namespace hiptool::load
