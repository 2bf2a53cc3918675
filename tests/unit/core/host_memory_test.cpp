// SPDX-License-Identifier: MIT
#include "hiptool/pinned_buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

using namespace hiptool;

TEST_CASE("host memory: huge pages that can be written to their end") {
  HostMemory memory(3u << 20);
  CHECK(memory.size_bytes() == 3u << 20);
  CHECK(memory.mapped_bytes() == 4u << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % (2u << 20) == 0);
  memory.data()[memory.mapped_bytes() - 1] = std::byte{1};
  HostMemory moved = std::move(memory);
  CHECK(moved.data()[moved.mapped_bytes() - 1] == std::byte{1});
  CHECK(memory.data() == nullptr);  // NOLINT: looked at on purpose
  CHECK(memory.size_bytes() == 0);
  CHECK(HostMemory(0).data() == nullptr);
}

TEST_CASE("host memory: any number of threads, of which few are started") {
  // Each thread maps its stack.
  const auto peak_kib = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (word == "VmPeak:") break;
    }
    std::uint64_t kib = 0;
    status >> kib;
    REQUIRE(kib > 0);
    return kib;
  };
  for (const std::uint32_t threads :
       {0u, 3u, 1'000'000u, std::numeric_limits<std::uint32_t>::max()}) {
    CAPTURE(threads);
    const std::uint64_t before = peak_kib();
    HostMemory memory(16, threads);
    CHECK(peak_kib() - before < 4ull << 20);
    CHECK(memory.data()[memory.mapped_bytes() - 1] == std::byte{0});
  }
}

TEST_CASE("host memory: more than there is") {
  for (const std::size_t size : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60}) {
    try {
      HostMemory memory(size);
      FAIL("an exception was expected");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::host_out_of_memory);
    }
  }
}

TEST_CASE("host memory: a pinned buffer takes it over, and what fails frees it") {
  test::WrappedDevice wrapped;
  HostMemory memory(100'000);
  const std::byte* const address = memory.data();
  {
    PinnedBuffer pinned(wrapped.device(), std::move(memory));
    CHECK(pinned.data() == address);
    CHECK(pinned.size_bytes() == 100'000);
    CHECK(wrapped.table().live().registrations == 1);
    const auto bytes = test::random_bytes(pinned.size_bytes(), 1);
    Buffer buffer(wrapped.device(), bytes.size());
    copy_h2d_and_wait(buffer, bytes);
    copy_d2h_and_wait(pinned.bytes(), buffer);
    CHECK(std::equal(bytes.begin(), bytes.end(), pinned.data()));
  }
  CHECK(wrapped.table().live().is_empty());
  wrapped.table().fail("hipHostRegister", hip::hipErrorOutOfMemory);
  CHECK_THROWS_AS(PinnedBuffer(wrapped.device(), HostMemory(4096)), Error);
  CHECK(wrapped.table().live().is_empty());
  CHECK(PinnedBuffer(wrapped.device(), HostMemory(0)).data() == nullptr);
}
