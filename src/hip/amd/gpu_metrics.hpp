// SPDX-License-Identifier: MIT
/// Why amdgpu holds clocks down, from its file gpu_metrics (Linux,
/// drivers/gpu/drm/amd/include/kgd_pp_interface.h and pm/swsmu/inc/amdgpu_smu.h).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::hip::amd {

/// How long each of five limits held clocks down since the driver was loaded, in cycles of the
/// firmware: PROCHOT, power, temperature of the socket, of the voltage regulators, of the memory.
using Residencies = std::array<std::uint32_t, 5>;

/// What is used of the file; absent where the version of its layout is another.
struct GpuMetrics {
  std::optional<std::uint64_t> throttle_bits;  ///< version 1.3, of Radeon and MI200
  std::optional<Residencies> residencies;      ///< versions 1.6 and 1.7, of MI300 and later
};

GpuMetrics parse_gpu_metrics(std::string_view bytes);

/// The reasons of the bits SMU_THROTTLER_*, each once.
std::vector<std::string> reasons_of(std::uint64_t throttle_bits);
/// Those whose residency grew.
std::vector<std::string> reasons_of(const Residencies& before, const Residencies& now);

}  // namespace hiptool::hip::amd
