// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
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

/// One arena: tensors at aligned offsets in file order. It may hold a part of the model only.
/// Every call that takes a layout or a plan checks it against the model first and throws
/// Error(out_of_bounds) for a tensor that the model or the arena does not have, and
/// Error(invalid_argument) for tensors that overlap, are placed twice or are out of order, for a
/// tensor_bytes that is not their sum, and for an arena on no device or on another one.
struct ArenaLayout {
  std::vector<Placement> placements;  ///< ascending device_offset
  std::uint64_t tensor_bytes = 0;     ///< without gaps
  std::uint64_t arena_bytes = 0;      ///< with gaps
};

/// What one device receives; nothing where there are more devices than parts.
struct DevicePlan {
  Device device;
  ArenaLayout layout;
};

/// How a model is divided among several devices.
enum class SplitKind {
  bytes,        ///< runs of tensors in file order, of as equal a size as memory allows
  layer,        ///< the same by whole layers
  proportions,  ///< runs of tensors in file order, of given proportions
  replicate,    ///< all tensors on each device
};

struct LoadSplit {
  SplitKind kind = SplitKind::bytes;
  std::vector<double> proportions;  ///< one for each device, for SplitKind::proportions only
};

/// The device layout of a model.
struct LoadPlan {
  std::vector<DevicePlan> devices;
  SplitKind split = SplitKind::bytes;  ///< that was used
  std::vector<std::string> warnings;   ///< such as why it is not the one that was asked for
};

/// Tensors start at multiples of this many bytes.
inline constexpr std::uint64_t tensor_alignment_bytes = 256;

/// Lays out every tensor of the model in one arena. Pure arithmetic.
HIPTOOL_API ArenaLayout lay_out(const ModelFile& model);

/// Lays out these tensors, by index, in the order given. Pure arithmetic. Throws
/// Error(out_of_bounds) for an index that the model does not have.
HIPTOOL_API ArenaLayout lay_out(const ModelFile& model, std::span<const std::uint32_t> tensors);

/// Lays the model out on the devices given, in that order. With `memory` (of each device, see
/// read_memory) splits by bytes and by layers give no device more than its free memory less
/// check_fit's margin, as long as all of it fits at all. A layer is what is named blk.N., layers.N.
/// or h.N.; tensors that are computed before the layers go with the first of them, those behind
/// (output, output_norm; lm_head, norm) with the last. A model without layers is split by bytes,
/// with a warning. Pure arithmetic; calls no runtime.
/// Throws Error(invalid_argument) where no device is given, or one twice, for a `memory` of another
/// size, for proportions that are not positive and finite or not one for each device, and for a
/// copy on each of several devices that are not of one platform.
HIPTOOL_API LoadPlan plan_load(const ModelFile& model, std::span<const Device> devices,
                               const LoadSplit& split = {},
                               std::span<const MemoryInfo> memory = {});

/// Memory of each device; devices of the cpu platform share what the host has free. Starts them.
HIPTOOL_API std::vector<MemoryInfo> read_memory(std::span<const Device> devices);

/// Throws Error(out_of_memory) with the shortfall of each device unless each arena and a margin
/// (the larger of 5 % of it and 64 MiB; on the cpu platform none) fit its free memory. The hint
/// names a split that fits where there is one: over the same devices, or over those and the others,
/// of which only the total memory is looked at. Starts the plan's devices.
HIPTOOL_API void check_fit(const ModelFile& model, const LoadPlan& plan,
                           std::span<const Device> others = {});

}  // namespace hiptool
