// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace hiptool::load {

/// Runs `work(stop)` on `count` threads and waits for all. The first exception sets `stop` (work
/// looks at it between pieces), and is thrown here once every thread has ended.
void run_workers(
    std::uint32_t count,
    const std::function<void(std::uint32_t index, const std::atomic<bool>& stop)>& work);

/// Threads to use when the caller names none: the cores this process may use, within the limits.
std::uint32_t choose_threads(std::uint32_t least, std::uint32_t most,
                             std::uint32_t cores_per_thread);

}  // namespace hiptool::load
