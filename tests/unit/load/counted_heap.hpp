// SPDX-License-Identifier: MIT
/// \file
/// What the program holds by `new`, exactly.
///
/// mallinfo2() is no measure of it: glibc keeps the stacks of ended threads, and with each the
/// thread's variables of every library (a fake has 74 KiB of them: kernels' shared memory),
/// until a new thread takes that very stack.
#pragma once

#include <atomic>
#include <cstdint>

namespace hiptool::test {

/// Bytes that `new` gave out and nobody gave back, by all threads. Stays 0 under a sanitizer: it
/// has operators of its own, so this program's are left out there.
inline std::atomic<std::int64_t> live_heap_bytes{0};

}  // namespace hiptool::test
