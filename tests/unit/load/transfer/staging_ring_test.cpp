// SPDX-License-Identifier: MIT
#include "load/transfer/staging_ring.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <set>
#include <thread>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"
#include "unit/load/watched_device.hpp"

using namespace hiptool;

namespace {

struct StagingRingFixture : test::WatchedDevice {
  Stream stream{device};

  load::StagingRing::Options options(std::size_t slots) const {
    load::StagingRing::Options options;
    options.slots = slots;
    options.slot_bytes = 4096;
    return options;
  }
};

void no_ring_check() {}

}  // namespace

TEST_CASE_FIXTURE(StagingRingFixture,
                  "prepare pins every slot once, also beside threads that take them") {
  load::StagingRing ring(device, {stream}, options(16));
  std::vector<load::StagingSlot*> taken(4);
  {
    std::jthread prepare([&] { ring.prepare(4, no_ring_check); });
    std::vector<std::jthread> takers;
    for (auto& slot : taken) takers.emplace_back([&] { slot = &ring.acquire(); });
  }
  CHECK(table.live().registrations == 16);
  CHECK(std::set(taken.begin(), taken.end()).size() == 4);
  for (auto* slot : taken) ring.give_back(*slot);
  const auto before = table.count("hipHostRegister");
  ring.prepare(4, no_ring_check);
  for (int i = 0; i < 16; ++i) ring.acquire();
  CHECK(table.count("hipHostRegister") == before);
}

TEST_CASE_FIXTURE(StagingRingFixture, "a slot that cannot be pinned is told, and tried again") {
  load::StagingRing ring(device, {stream}, options(4));
  table.fail("hipHostRegister", hip::hipErrorOutOfMemory, 3);
  CHECK_THROWS_AS(ring.prepare(1, no_ring_check), Error);
  CHECK(table.live().registrations == 2);
  ring.prepare(2, no_ring_check);
  CHECK(table.live().registrations == 4);
  load::StagingRing cancelled(device, {stream}, options(4));
  CHECK_THROWS_AS(cancelled.prepare(2, [] { throw Error(ErrorCode::cancelled, "load", "enough"); }),
                  Error);
  CHECK(table.live().registrations == 4);
}

TEST_CASE_FIXTURE(StagingRingFixture, "no more slots are pinned than are needed at once") {
  const auto before = table.live().registrations;
  load::StagingRing ring(device, {stream}, options(8));
  const Buffer target(device, 4096);
  for (int i = 0; i < 20; ++i) {
    ring.submit(ring.acquire(), target, 4096);
    stream.synchronize();
  }
  CHECK(table.live().registrations == before + 1);
  std::promise<void> opened;
  StreamRef(stream).launch_host_function(
      [gate = opened.get_future().share()] { gate.wait_for(std::chrono::seconds(20)); });
  for (int i = 0; i < 8; ++i) ring.submit(ring.acquire(), target, 4096);
  CHECK(table.live().registrations == before + 8);
  opened.set_value();
  for (int i = 0; i < 20; ++i) ring.submit(ring.acquire(), target, 4096);
  CHECK(table.live().registrations == before + 8);
}

TEST_CASE_FIXTURE(StagingRingFixture,
                  "a copy that failed is told to whoever takes its slot, which comes back") {
  load::StagingRing ring(device, {stream}, options(2));
  const Buffer target(device, 4096);
  for (const bool is_whole : {false, true}) {
    if (is_whole) ring.prepare(1, no_ring_check);
    auto& first = ring.acquire();
    auto* second = is_whole ? &ring.acquire() : nullptr;
    ring.submit(first, target, 4096);
    table.fail("hipEventQuery", hip::hipErrorUnknown);
    CHECK_THROWS_AS(ring.acquire(), Error);
    CHECK(&ring.acquire() == &first);
    ring.give_back(first);
    if (second != nullptr) ring.give_back(*second);
  }
}

TEST_CASE_FIXTURE(StagingRingFixture, "eight threads pass slots on and every copy arrives") {
  load::StagingRing ring(device, {stream}, options(11));
  constexpr std::size_t each = 100;
  const Buffer target(device, 8 * each * 4096);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < each; ++i) {
          auto& slot = ring.acquire();
          const std::size_t number = thread * each + i;
          std::memset(slot.memory.data(), static_cast<int>(number % 251), 4096);
          ring.submit(slot, target.view(number * 4096, 4096), 4096);
        }
      });
    }
  }
  ring.drain();
  std::vector<std::byte> bytes(target.size_bytes());
  copy_d2h_and_wait(bytes, target);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(i / 4096 % 251)) FAIL("wrong byte ", i);
  }
}

TEST_CASE_FIXTURE(StagingRingFixture,
                  "slots are touched near the device and the thread moves on as before") {
  std::jthread([&] {
    const auto before = system::allowed_cpus();
    auto near = options(1);
    near.cpus = {before.front()};
    load::StagingRing ring(device, {stream}, near);
    ring.acquire();
    CHECK(system::allowed_cpus() == before);
  });
}
