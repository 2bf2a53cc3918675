// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace hiptool::load {

/// Runs `work(stop)` on `count` threads and waits for all. The first exception sets `stop` (work
/// looks at it between pieces), and is thrown here once every thread has ended.
void run_workers(
    std::uint32_t count,
    const std::function<void(std::uint32_t index, const std::atomic<bool>& stop)>& work);

/// Runs `work(i, stop)` for each i below `count`, all at once where there are threads for it;
/// throws as run_workers does.
void run_for_each(std::size_t count,
                  const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work);

/// Threads to use when the caller names none: the cores this process may use, within the limits.
std::uint32_t choose_threads(std::uint32_t least, std::uint32_t most,
                             std::uint32_t cores_per_thread);

}  // namespace hiptool::load
