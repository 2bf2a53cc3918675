// SPDX-License-Identifier: MIT
#include "user_kernel/cache_flush.hpp"

#include <doctest/doctest.h>

#include "unit/measure/devices.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;

TEST_CASE("more than the caches hold is written, each time with other bytes") {
  test::CpuDevices host;
  const std::uint64_t l2_bytes = host[0].info().l2_cache_bytes.value_or(0);
  CHECK(flush_size_bytes(host[0]) == std::max<std::uint64_t>(64u << 20, 4 * l2_bytes));
  test::CpuDevices gpu(1, Platform::nvidia);
  CHECK(flush_size_bytes(gpu[0]) == std::max<std::uint64_t>(512u << 20, 4 * l2_bytes));
  CacheFlush flush(host[0]);
  CHECK(flush.size_bytes() == flush_size_bytes(host[0]));
  const Stream stream(host[0]);
  const std::uint64_t before = host.table().count("hipMemsetAsync");
  flush.queue(stream);
  flush.queue(stream);
  stream.synchronize();
  CHECK(host.table().count("hipMemsetAsync") == before + 2);
}
