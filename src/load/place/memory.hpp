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

namespace hiptool::load {

/// Free memory that a device needs besides these bytes for allocations of the runtime itself
/// (contexts of other libraries, kernels, fragmentation): the larger of 5 % and 64 MiB; none in
/// host memory and for no bytes.
std::uint64_t margin_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept;

/// These bytes and their margin; the largest number where the sum does not fit 64 bits.
std::uint64_t needed_bytes(std::uint64_t size_bytes, bool is_host_memory) noexcept;

/// Free bytes, or the total where the free ones are unknown.
std::uint64_t available_bytes(const DeviceMemory& memory) noexcept;

/// The most bytes that fit, with their margin, into this share of the available memory; 0 where not
/// even a margin fits.
std::uint64_t most_bytes(const DeviceMemory& memory, double share = 1) noexcept;
std::vector<std::uint64_t> most_bytes(std::span<const DeviceMemory> memory, double share = 1);

/// The devices of the same platform that are not among these, with their total memory only: to read
/// the free memory would start them. None in host memory, which all cpu devices share.
std::vector<DeviceMemory> read_other_memory(std::span<const Device> devices);

/// The memory that a model may go to.
struct FitMemory {
  std::vector<DeviceMemory> chosen;
  std::vector<DeviceMemory> others;  ///< of the same platform, for hints only
};

/// Of the devices; starts them.
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

}  // namespace hiptool::load
