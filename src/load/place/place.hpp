// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"
#include "load/place/memory.hpp"

namespace hiptool::load {

/// The KV cache that a model needs memory for; none for no tokens.
struct CacheNeed {
  std::uint64_t context_tokens = 0;
  KvCacheOptions options;
};

/// Where a model goes on these devices: reads their free memory (starts them), divides the model as
/// `split` says and checks that it fits, with memory for its KV cache. Throws Error(out_of_memory)
/// with the shortfall and a split that would fit. `plan` gets the plan, and `fit` the fit where
/// there is a context, also when this throws.
void place_model(const ModelFile& model, std::span<const Device> devices, const LoadSplit& split,
                 const CacheNeed& cache, std::optional<LoadPlan>& plan,
                 std::optional<ModelFit>& fit);

/// Whether the model fits with its KV cache, by layers or, for SplitKind::replicate, whole on each
/// of the chosen devices. Throws Error(out_of_memory) where they do not hold it; `fit` is set also
/// then.
void check_fit_with_cache(const ModelFile& model, const ModelSummary& summary, SplitKind split,
                          const CacheNeed& cache, const FitMemory& memory,
                          std::optional<ModelFit>& fit);

/// The plans of the devices, each of which gets that many of the next tensors in this order.
std::vector<DevicePlan> divide(const ModelFile& model, std::span<const Device> devices,
                               std::vector<std::uint32_t> order,
                               std::span<const std::uint64_t> tensor_counts);

/// The devices whose memory is too small for their arena and a margin, with the shortfall of each;
/// empty if all fit.
std::string shortfall_text(const LoadPlan& plan, std::span<const DeviceMemory> memory);

/// A hint for a model that does not fit: a split by bytes that does, over these devices, else over
/// these and the others, if there is one.
std::string hint_for(const ModelFile& model, std::span<const DeviceMemory> memory,
                     std::span<const DeviceMemory> others);

}  // namespace hiptool::load
