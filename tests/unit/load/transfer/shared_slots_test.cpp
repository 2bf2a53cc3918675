// SPDX-License-Identifier: MIT
#include "load/transfer/shared_slots.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "unit/load/watched_device.hpp"

using namespace hiptool;

namespace {

struct SharedSlotsFixture : test::WatchedDevice {
  Stream stream{device};
  load::StagingRing ring{device, {stream}, options()};
  int fills = 0;

  static load::StagingRing::Options options() {
    load::StagingRing::Options options;
    options.slots = 2;
    options.slot_bytes = 4096;
    return options;
  }
  load::StagingSlot* enter(load::SharedSlots& slots, std::size_t chunk) {
    return slots.enter(chunk, 0, [&](std::span<const std::byte>) { ++fills; });
  }
  void require_all_back() {
    load::StagingSlot& first = ring.acquire();
    load::StagingSlot& second = ring.acquire();
    CHECK(&first != &second);
    ring.give_back(first);
    ring.give_back(second);
  }
};

}  // namespace

TEST_CASE_FIXTURE(SharedSlotsFixture, "readers of a chunk get one slot, its last one sends it") {
  load::SharedSlots slots(ring, 2, 3);
  load::StagingSlot* const first = enter(slots, 0);
  load::StagingSlot* const second = enter(slots, 1);
  REQUIRE(first != nullptr);
  CHECK(first != second);
  CHECK(enter(slots, 0) == first);
  CHECK(slots.leave(0) == nullptr);
  CHECK(slots.leave(0) == nullptr);
  CHECK(enter(slots, 0) == first);
  CHECK(slots.leave(0) == first);
  CHECK(fills == 2);
  ring.give_back(*first);
  CHECK(slots.leave(1) == nullptr);
  slots.give_back_unsent();
  require_all_back();
}

TEST_CASE_FIXTURE(SharedSlotsFixture,
                  "a failure ends waiting for a slot and for its first reader") {
  load::SharedSlots slots(ring, 4, 3);
  enter(slots, 0);
  enter(slots, 1);
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  const auto read = [&] {
    ++begun;
    if (enter(slots, 2) == nullptr) ++ended;
  };
  {
    const std::jthread one(read);
    const std::jthread other(read);
    while (begun < 2) std::this_thread::yield();
    CHECK(ended == 0);
    slots.fail();
  }
  CHECK(ended == 2);
  CHECK(enter(slots, 3) == nullptr);
  slots.give_back_unsent();
  require_all_back();
}

TEST_CASE_FIXTURE(SharedSlotsFixture, "a slot that cannot be prepared goes back") {
  load::SharedSlots slots(ring, 1, 2);
  const auto refuse = [](std::span<const std::byte>) { throw std::runtime_error("refused"); };
  CHECK_THROWS_AS(slots.enter(0, 0, refuse), std::runtime_error);
  slots.fail();
  CHECK(enter(slots, 0) == nullptr);
  require_all_back();
}
