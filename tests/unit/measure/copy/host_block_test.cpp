// SPDX-License-Identifier: MIT
#include "measure/copy/track.hpp"

#include <doctest/doctest.h>

#include "devices.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr std::size_t host_block_bytes = 10'000;

struct Kind {
  HostKind kind;
  const char* call;  // that makes it; null: the runtime is not asked
};
constexpr Kind kinds[] = {{HostKind::pinned, "hipHostMalloc"},
                          {HostKind::pageable, nullptr},
                          {HostKind::registered, "hipHostRegister"},
                          {HostKind::managed, "hipMallocManaged"}};

}  // namespace

TEST_CASE("host block: each kind is made by its own call and given back") {
  test::CpuDevices devices(1);
  for (const Kind& kind : kinds) {
    CAPTURE(to_string(kind.kind));
    devices.table().reset();
    {
      const HostBlock block(devices[0], kind.kind, host_block_bytes);
      REQUIRE(block.bytes().size() == host_block_bytes);
      CHECK(block.words().size() == host_block_bytes / 4);
      block.bytes().front() = std::byte{1};
      block.bytes().back() = std::byte{2};
      CHECK(reinterpret_cast<std::uintptr_t>(block.bytes().data()) % 16 == 0);
      if (kind.call != nullptr) {
        CHECK(devices.table().count(kind.call) == 1);
        CHECK(block.device_address() == block.bytes().data());
        CHECK_FALSE(devices.table().live().is_empty());
      } else {
        CHECK(devices.table().live().is_empty());
      }
    }
    CHECK(devices.table().live().is_empty());
  }
}

TEST_CASE("host block: a call that fails is named, and nothing is left") {
  test::CpuDevices devices(1);
  for (const Kind& kind : kinds) {
    if (kind.call == nullptr) continue;
    CAPTURE(kind.call);
    devices.table().fail(kind.call, hip::hipErrorUnknown);
    try {
      const HostBlock block(devices[0], kind.kind, host_block_bytes);
      FAIL("made without the call");
    } catch (const Error& error) {
      CHECK(error.operation() == kind.call);
    }
    CHECK(devices.table().live().is_empty());
  }
}
