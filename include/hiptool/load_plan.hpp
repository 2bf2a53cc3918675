// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

/// Where one tensor goes.
struct Placement {
  std::uint32_t tensor = 0;         ///< index into ModelFile::tensors()
  std::uint64_t device_offset = 0;  ///< from the start of the device's arena
};

/// One arena: tensors at aligned offsets in file order.
struct ArenaLayout {
  std::vector<Placement> placements;  ///< ascending device_offset
  std::uint64_t tensor_bytes = 0;     ///< without gaps
  std::uint64_t arena_bytes = 0;      ///< with gaps
};

/// What one device receives.
struct DevicePlan {
  Device device;
  ArenaLayout layout;
};

/// The device layout of a model.
struct LoadPlan {
  std::vector<DevicePlan> devices;
};

/// Tensors start at multiples of this many bytes.
inline constexpr std::uint64_t tensor_alignment_bytes = 256;

/// Lays out every tensor of the model in one arena. Pure arithmetic.
HIPTOOL_API ArenaLayout lay_out(const ModelFile& model);

/// Lays the model out on the devices given (at present exactly one, else Error(unsupported)). Pure
/// arithmetic; calls no runtime.
HIPTOOL_API LoadPlan plan_load(const ModelFile& model, std::span<const Device> devices);

/// Throws Error(out_of_memory) with the shortfall unless each arena and a margin (the larger of
/// 5 % of it and 64 MiB; on the cpu platform none) fit the device's free memory. Starts the device.
HIPTOOL_API void check_fit(const LoadPlan& plan);

}  // namespace hiptool
