// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/load_report.hpp"
#include "load/transfer/transfer.hpp"

namespace hiptool::load {

inline constexpr std::uint64_t probe_copy_bytes = 64u << 20;
inline constexpr int probe_copies = 5;

/// What the links from the host to devices carry, all at once: copies of 64 MiB from pinned memory
/// in a plain loop, 320 MiB to each device and one copy before that to warm up. `sources` may give
/// pinned memory for each device; where it has less than 64 MiB, memory is pinned for the
/// measurement. Bytes per second by events of each device, in the order given. Empty where there is
/// no pinned memory or no device memory of that size: a load does not fail because its limit is not
/// known (the trace has the reason). Blocks. Throws Error(cancelled) by the token, which may be
/// null, else what the runtime answered; no copy is in flight afterwards.
std::vector<double> measure_links(const std::vector<Device>& devices, const CancelToken* cancel,
                                  std::span<const std::span<std::byte>> sources = {});

/// A rate that may bound a load.
struct JudgedLimit {
  std::optional<double> bytes_per_s;  ///< absent: not known, or the load was faster
  std::string note;                   ///< of a rate that was measured twice: what was found
};

/// Measures a rate, which is 0 if it is not known, and once more where the load was faster: the
/// higher one is the limit, unless the load was faster than that too. `what` begins the note: "the
/// link carried".
JudgedLimit judge_limit(double load_bytes_per_s, const std::string& what,
                        const std::function<double()>& measure);

/// What bounds a load that has just been done at `load_bytes_per_s`: its links, and, where it did
/// not nearly fill them, its readers without copies; not if it was read from a disk, which would
/// take long to read again, and from the page cache says nothing. A limit that the load beat is
/// measured twice (judge_limit()). Uses the transfer's staging memory. Blocks; throws as
/// measure_links() and Transfer::probe_read_bytes_per_s().
LoadLimits measure_limits(Transfer& transfer, const LoadPlan& plan, std::span<const Buffer> arenas,
                          double load_bytes_per_s, bool is_from_disk, const CancelToken* cancel);

}  // namespace hiptool::load
