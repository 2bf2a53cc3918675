// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/load_report.hpp"
#include "load/transfer/transfer.hpp"

namespace hiptool::load {

inline constexpr std::uint64_t probe_copy_bytes = 64u << 20;
inline constexpr int probe_copies = 12;

/// What the links from the host to devices carry, all at once: copies of 64 MiB from pinned memory
/// in a plain loop, 768 MiB to each device and one copy before that to warm up. `sources` may give
/// pinned memory for each device; where it has less than 64 MiB, memory is pinned for the
/// measurement. Bytes per second by events of each device, in the order given. Empty where there is
/// no pinned memory or no device memory of that size: a load does not fail because its limit is not
/// known (the trace has the reason). Blocks. Throws Error(cancelled) by the token, which may be
/// null, else what the runtime answered; no copy is in flight afterwards.
std::vector<double> measure_links(const std::vector<Device>& devices, const CancelToken* cancel,
                                  std::span<const std::span<std::byte>> sources = {});

/// What bounds a load that has just been done: its links, and, where it did not nearly fill them,
/// its readers without copies. How fast a disk is cannot be measured once its files are in the page
/// cache. Uses the transfer's staging memory. Blocks; throws as measure_links() and
/// Transfer::probe_read_bytes_per_s().
LoadLimits measure_limits(Transfer& transfer, const LoadPlan& plan, std::span<const Buffer> arenas,
                          const LoadStatistics& statistics, bool is_warm,
                          const CancelToken* cancel);

}  // namespace hiptool::load
