// SPDX-License-Identifier: MIT
#include "hiptool/async_loader.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/reference.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/transfer/device_ring.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

load::TransferOptions transfer_options(AsyncLoader::Options options) {
  load::TransferOptions chosen;
  chosen.streams = options.streams;
  chosen.slot_bytes = options.slot_bytes;
  chosen.readers = 1;  // all threads share the slots
  chosen.slots = options.slots != 0 ? options.slots : load::choose_threads(1, 16, 1) + 4;
  chosen.external_streams = std::move(options.external_streams);
  chosen.cancel = base::pointer_to(options.cancel);
  return chosen;
}

}  // namespace

struct AsyncLoader::Impl {
  load::DeviceRing ring;
};

AsyncLoader::AsyncLoader(const Device& device) : AsyncLoader(device, Options{}) {}

AsyncLoader::AsyncLoader(const Device& device, Options options)
    : impl_(new Impl{load::DeviceRing(device, transfer_options(std::move(options)))}) {}

AsyncLoader::~AsyncLoader() = default;

void AsyncLoader::prepare() { impl_->ring.prepare(); }

void AsyncLoader::upload(Buffer& destination, std::span<const std::byte> source) {
  if (source.size() > destination.size_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: " + std::to_string(source.size()) + " bytes do not fit a buffer of " +
                    base::plain_count_of(destination.size_bytes(), "byte"));
  }
  if (source.empty()) return;
  const Device& device = impl_->ring.device();
  if (!(destination.device() == device)) {
    throw Error(
        ErrorCode::invalid_argument, "upload",
        "upload: the buffer is on " + destination.device().id() + ", the loader on " + device.id(),
        "use a loader of the buffer's device");
  }
  load::StagingRing& ring = impl_->ring.ring();
  for (std::size_t offset = 0; offset < source.size();) {
    impl_->ring.throw_if_cancelled();
    const std::size_t piece = std::min(ring.slot_bytes(), source.size() - offset);
    load::StagingSlot& slot = ring.acquire();
    std::memcpy(slot.memory.data(), source.data() + offset, piece);
    Buffer part = destination.view(offset, piece);
    ring.submit(slot, part, piece);
    offset += piece;
  }
}

void AsyncLoader::synchronize() { impl_->ring.ring().drain(); }

std::size_t AsyncLoader::stream_count() const noexcept { return impl_->ring.streams().size(); }

StreamRef AsyncLoader::stream(std::size_t index) const {
  if (index >= stream_count()) {
    throw Error(
        ErrorCode::out_of_bounds, "loader stream",
        "stream " + std::to_string(index) + " of a loader with " + std::to_string(stream_count()));
  }
  return impl_->ring.streams()[index];
}

}  // namespace hiptool
