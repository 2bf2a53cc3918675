// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace hiptool::reference {

/// Calls work(i) for each i below `count` on that many threads, in any order, and waits. The first
/// exception ends the others at their next i and is thrown here.
void run_parallel(std::uint32_t threads, std::size_t count,
                  const std::function<void(std::size_t)>& work);

}  // namespace hiptool::reference
