// SPDX-License-Identifier: MIT
#include "load/transfer/device_ring.hpp"

#include <string>
#include <utility>

#include "core/call.hpp"
#include "hiptool/error.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint32_t most_streams = 64;
constexpr std::uint32_t most_slots = 1u << 16;

}  // namespace

DeviceRing::DeviceRing(const Device& device, TransferOptions options)
    : device_(device), options_(std::move(options)) {
  check_options();
  streams_ = options_.external_streams;
  if (streams_.empty()) {
    for (std::uint32_t i = 0; i < options_.streams; ++i) own_streams_.emplace_back(device_);
    streams_.assign(own_streams_.begin(), own_streams_.end());
  }
  // A query of the properties is slow, so it is made only where something depends on them.
  if (options_.reader_cpus.empty() && system::numa_node_count("/") > 1) {
    const auto bus_id = device_.info().pci_bus_id;
    if (bus_id) options_.reader_cpus = system::cpus_near("/", *bus_id);
  }
  StagingRing::Options ring;
  ring.owners = owners();
  ring.slots = options_.slots;
  ring.slot_bytes = options_.slot_bytes;
  ring.cpus = options_.reader_cpus;
  ring.memory = options_.memory;
  if (stages()) ring.timeline = options_.timeline;
  ring_ = std::make_unique<StagingRing>(device_, streams_, ring);
}

void DeviceRing::check_options() const {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "make loader", why);
  };
  if (options_.slot_bytes == 0 || options_.slots == 0)
    refuse("a staging slot needs at least one byte");
  const std::uint64_t slots = std::uint64_t{owners()} * options_.slots;
  if (options_.readers == 0 || options_.slot_bytes > SIZE_MAX / slots) {
    refuse("the staging slots are larger than the address space");
  }
  if (options_.external_streams.empty() && options_.streams == 0) {
    refuse("a loader needs at least one stream");
  }
  if (options_.external_streams.empty() && options_.streams > most_streams) {
    refuse("a loader has at most " + std::to_string(most_streams) + " streams");
  }
  if (slots > most_slots) {
    refuse("a loader has at most " + std::to_string(most_slots) + " staging slots");
  }
  const ReadOptions& read = options_.read;
  if (read.request_bytes == 0) refuse("a read needs at least one byte");
  if (read.depth > 64) refuse("a reader has at most 64 direct requests in flight");
  if (read.direct_request_bytes == 0 || read.direct_request_bytes > (1u << 30) ||
      read.direct_request_bytes % (64u << 10) != 0) {
    refuse("a direct request has whole multiples of 64 KiB, 1 GiB at most");
  }
  for (const StreamRef& stream : options_.external_streams) {
    static_cast<void>(core::native_of(stream));
    if (stream.device() == device_) continue;
    refuse("a stream of " + stream.device().id() + " was given to a loader of " + device_.id());
  }
}

void DeviceRing::send(Buffer& destination, std::size_t producer,
                      const std::function<void(std::span<std::byte>)>& write,
                      const std::function<void(const Event& copied)>& on_queued) {
  StagingSlot& slot = ring_->acquire(producer);
  try {
    write(slot.memory.first(destination.size_bytes()));
  } catch (...) {
    ring_->give_back(slot);
    throw;
  }
  ring_->submit(slot, destination, destination.size_bytes(), on_queued);
}

void DeviceRing::prepare() {
  throw_if_cancelled();
  ring_->prepare();
}

void DeviceRing::throw_if_cancelled() const {
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("load");
}

}  // namespace hiptool::load
