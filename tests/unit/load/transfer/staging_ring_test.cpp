// SPDX-License-Identifier: MIT
#include "load/transfer/staging_ring.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "buffer_bytes.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"
#include "unit/core/gate.hpp"
#include "unit/load/watched_device.hpp"

using namespace hiptool;

namespace {

struct StagingRingFixture : test::WatchedDevice {
  Stream stream{device};

  load::StagingRing::Options options(std::size_t slots, std::size_t owners = 1) const {
    load::StagingRing::Options options;
    options.owners = owners;
    options.slots = slots;
    options.slot_bytes = 4096;
    return options;
  }
};

}  // namespace

TEST_CASE_FIXTURE(StagingRingFixture,
                  "all slots are pinned at once, also while threads take them") {
  load::StagingRing ring(device, {stream}, options(4, 4));
  std::vector<load::StagingSlot*> taken(8);
  {
    std::jthread prepare([&] { ring.prepare(); });
    std::vector<std::jthread> takers;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      takers.emplace_back([&, i] { taken[i] = &ring.acquire(i); });
    }
  }
  CHECK(table.live().registrations == 1);
  CHECK(std::set(taken.begin(), taken.end()).size() == 8);
  for (auto* slot : taken) ring.give_back(*slot);
  ring.prepare();
  CHECK(table.count("hipHostRegister") == 1);
}

TEST_CASE_FIXTURE(StagingRingFixture,
                  "each owner has slots of its own, and waits for their copies") {
  load::StagingRing ring(device, {stream}, options(2, 3));
  Buffer target(device, 4096);
  std::set<const std::byte*> seen;
  for (std::size_t owner = 0; owner < 3; ++owner) {
    std::set<const std::byte*> own;
    for (int i = 0; i < 20; ++i) {
      load::StagingSlot& slot = ring.acquire(owner);
      own.insert(slot.memory.data());
      ring.submit(slot, target, 4096);
    }
    CHECK(own.size() == 2);
    seen.merge(own);
  }
  CHECK(seen.size() == 6);
  CHECK(*seen.rbegin() - *seen.begin() == 5 * 4096);  // one block of memory
  // While both of its copies are held up, an owner waits although others have slots to spare.
  ring.drain();
  const auto gate = std::make_shared<test::Gate>(stream);
  std::set<const load::StagingSlot*> held;
  for (int i = 0; i < 2; ++i) {
    load::StagingSlot& slot = ring.acquire(0);
    held.insert(&slot);
    ring.submit(slot, target, 4096);
  }
  ring.give_back(ring.acquire(1));
  const std::uint64_t waits = table.count("hipEventSynchronize");
  table.run_before("hipEventSynchronize", [gate] { gate->open(); });
  load::StagingSlot& next = ring.acquire(0);
  gate->open();
  CHECK(table.count("hipEventSynchronize") == waits + 1);
  CHECK(held.contains(&next));
  ring.give_back(next);
}

TEST_CASE_FIXTURE(StagingRingFixture, "memory that cannot be pinned is reported, and tried again") {
  load::StagingRing ring(device, {stream}, options(4));
  table.fail("hipHostRegister", hip::hipErrorOutOfMemory);
  CHECK_THROWS_AS(ring.prepare(), Error);
  CHECK(table.live().registrations == 0);
  table.fail("hipEventCreateWithFlags", hip::hipErrorUnknown, 3);
  CHECK_THROWS_AS(ring.acquire(), Error);
  ring.give_back(ring.acquire());
  CHECK(table.live().registrations == 1);
}

TEST_CASE_FIXTURE(StagingRingFixture,
                  "a failed copy is reported to the next user of its slot and frees it") {
  load::StagingRing ring(device, {stream}, options(1));
  Buffer target(device, 4096);
  auto& slot = ring.acquire();
  ring.submit(slot, target, 4096);
  table.fail("hipEventSynchronize", hip::hipErrorUnknown);
  CHECK_THROWS_AS(ring.acquire(), Error);
  CHECK(&ring.acquire() == &slot);
  ring.give_back(slot);
}

TEST_CASE_FIXTURE(StagingRingFixture,
                  "eight threads share the slots of three owners and every copy arrives") {
  load::StagingRing ring(device, {stream}, options(4, 3));
  constexpr std::size_t each = 100;
  Buffer target(device, 8 * each * 4096);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < each; ++i) {
          auto& slot = ring.acquire();
          const std::size_t number = thread * each + i;
          std::memset(slot.memory.data(), static_cast<int>(number % 251), 4096);
          Buffer part = target.view(number * 4096, 4096);
          ring.submit(slot, part, 4096);
        }
      });
    }
  }
  ring.drain();
  const auto bytes = test::bytes_of(target);
  std::size_t right = 0;
  while (right < bytes.size() && bytes[right] == static_cast<std::byte>(right / 4096 % 251)) {
    ++right;
  }
  CHECK(right == 8 * each * 4096);
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
