// SPDX-License-Identifier: MIT
#include "hiptool/device.hpp"

#include <optional>
#include <stdexcept>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {
namespace {

int current_device(const Device& device) {
  int ordinal = -1;
  core::call<&hip::Api::hipGetDevice>(device, {}, &ordinal);
  return ordinal;
}

/// Takes a peer access back at the end of a scope, whatever happened in it.
class AccessBack {
 public:
  AccessBack(const Device& device, const Device& peer) : device_(device), peer_(peer) {}
  ~AccessBack() {
    try {
      disable_peer_access(device_, peer_);
    } catch (const Error& error) {
      core::state_of(device_).note(error.operation(), error.what());
    }
  }
  AccessBack(const AccessBack&) = delete;
  AccessBack& operator=(const AccessBack&) = delete;

 private:
  Device device_;
  Device peer_;
};

}  // namespace

// What a runtime does not say is absent and no failure; what it says has to make sense.
void a_device_tells_of_itself(const Place& place) {
  const DeviceInfo info = place.device().info();
  const auto at_least = [](const std::optional<std::uint64_t>& value, std::uint64_t least) {
    return !value || *value >= least;
  };
  expect(at_least(info.memory_total_bytes, 1u << 20), "the memory in total");
  expect(at_least(info.compute_units, 1), "the compute units");
  expect(at_least(info.warp_size, 1), "the warp size");
  expect(at_least(info.max_threads_per_block, 64), "the threads of a block");
  expect(at_least(info.shared_memory_per_block_bytes, 1'024), "the shared memory of a block");
  expect(at_least(info.clock_hz, 1'000'000), "the clock");
  place.device().start();
  const MemoryInfo memory = place.device().memory();
  expect(memory.total_bytes > 0 && memory.free_bytes <= memory.total_bytes, "free is part of all");
}

void a_guard_restores(const Place& place) {
  const int before = current_device(place.device());
  try {
    const DeviceGuard outer(place.peer());
    expect(current_device(place.device()) == place.peer().ordinal(), "the guard sets its device");
    const DeviceGuard inner(place.device());
    expect(current_device(place.device()) == place.device().ordinal(), "guards nest");
    throw std::out_of_range("passes both guards");
  } catch (const std::out_of_range&) {
  }
  expect(current_device(place.device()) == before, "the device from before is back");
}

void two_devices_work_apart(const Place& place) {
  const int before = current_device(place.device());
  const Bytes sent = random_bytes(10'000, 50);
  const Bytes sent_to_peer = random_bytes(10'000, 51);
  Buffer buffer(place.device(), sent.size());
  Buffer of_peer(place.peer(), sent.size());
  const Stream stream(place.device());
  const Stream stream_of_peer(place.peer());
  copy_h2d(of_peer, sent_to_peer, stream_of_peer);
  copy_h2d(buffer, sent, stream);
  stream_of_peer.synchronize();
  stream.synchronize();
  expect_equal(read_back(buffer), sent, "the first device's memory");
  expect_equal(read_back(of_peer), sent_to_peer, "the second device's memory");
  expect(current_device(place.device()) == before, "the current device is what it was");
}

void peer_access(const Place& place) {
  const Device& device = place.device();
  const Device& peer = place.peer();
  expect(can_access_peer(device, peer), "the peer can be accessed");
  expect(!can_access_peer(device, device), "a device is no peer of its own");
  const AccessBack back(device, peer);
  expect(enable_peer_access(device, peer), "access is enabled");
  expect(!enable_peer_access(device, peer), "a second time it was there already");
  expect(disable_peer_access(device, peer), "access is taken back");
  expect(!disable_peer_access(device, peer), "a second time there was none");
  expect(enable_peer_access(device, peer), "and enabled again");
}

namespace {

void copy_there_and_back(const Place& place) {
  const Bytes sent = random_bytes(100'003, 52);
  Buffer source(place.device(), sent.size());
  Buffer of_peer(place.peer(), sent.size());
  const Buffer target(place.device(), sent.size());
  copy_h2d_and_wait(source, sent);
  const Stream stream(place.device());
  const Stream stream_of_peer(place.peer());
  const Settled settled(stream);
  const Settled peer_settled(stream_of_peer);
  copy_peer(of_peer, source, stream);
  stream.synchronize();
  copy_peer(target.view(1, sent.size() - 1), of_peer.view(1, sent.size() - 1), stream_of_peer);
  stream_of_peer.synchronize();
  expect_equal(read_back(of_peer), sent, "a copy to the peer");
  expect_equal(read_back(target.view(1, sent.size() - 1)), std::span(sent).subspan(1),
               "a copy from the peer");
  expect_error(ErrorCode::out_of_bounds, no_native_code,
               [&] { copy_peer(of_peer.view(0, 5), source.view(0, 6), stream); });
}

}  // namespace

void copies_between_peers(const Place& place) { copy_there_and_back(place); }

void copies_with_peer_access(const Place& place) {
  const AccessBack back(place.device(), place.peer());
  enable_peer_access(place.device(), place.peer());
  copy_there_and_back(place);
}

void release_with_another_device_current(const Place& place) {
  const Bytes sent = random_bytes(1'000, 53);
  std::optional<Buffer> of_peer(std::in_place, place.peer(), sent.size());
  std::optional<Stream> stream(std::in_place, place.peer());
  copy_h2d(*of_peer, sent, *stream);
  const DeviceGuard guard(place.device());
  stream->synchronize();
  stream.reset();
  expect_equal(read_back(*of_peer), sent, "memory of a device that is not current");
  of_peer.reset();
  expect(current_device(place.device()) == place.device().ordinal(), "releases put it back");
}

}  // namespace hiptool::scenarios
