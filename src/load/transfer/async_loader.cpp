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
#include "load/transfer/loader_access.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

load::TransferOptions transfer_options(AsyncLoader::Options options) {
  load::TransferOptions chosen;
  chosen.streams = options.streams;
  chosen.slot_bytes = options.slot_bytes;
  chosen.readers = options.producers;
  chosen.slots = options.slots;
  chosen.parts = 1;
  if (options.slots == 0) {
    chosen.slots = options.producers == 1 ? load::choose_threads(1, 16, 1) + 4 : 2;
  }
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

AsyncLoader::AsyncLoader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<AsyncLoader> load::LoaderAccess::make(const Device& device,
                                                      TransferOptions options) {
  std::unique_ptr<AsyncLoader::Impl> impl(
      new AsyncLoader::Impl{DeviceRing(device, std::move(options))});
  return std::unique_ptr<AsyncLoader>(new AsyncLoader(std::move(impl)));
}

load::DeviceRing& load::LoaderAccess::ring_of(AsyncLoader& loader) noexcept {
  return loader.impl_->ring;
}

AsyncLoader::~AsyncLoader() = default;

void AsyncLoader::prepare() { impl_->ring.prepare(); }

void AsyncLoader::upload(Buffer& destination, std::span<const std::byte> source) {
  if (source.size() > destination.size_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: " + std::to_string(source.size()) + " bytes do not fit a buffer of " +
                    base::plain_count_of(destination.size_bytes(), "byte"));
  }
  if (source.empty()) return;
  require_destination(destination);
  for (std::size_t offset = 0; offset < source.size();) {
    impl_->ring.throw_if_cancelled();
    const std::size_t piece = std::min(slot_bytes(), source.size() - offset);
    Buffer part = destination.view(offset, piece);
    impl_->ring.send(part, 0, [&](std::span<std::byte> slot) {
      std::memcpy(slot.data(), source.data() + offset, piece);
    });
    offset += piece;
  }
}

void AsyncLoader::require_destination(const Buffer& destination) const {
  const Device& device = impl_->ring.device();
  if (destination.device() == device) return;
  throw Error(
      ErrorCode::invalid_argument, "upload",
      "upload: the buffer is on " + destination.device().id() + ", the loader on " + device.id(),
      "use a loader of the buffer's device");
}

void AsyncLoader::upload_from(Buffer& destination, const Write& write) {
  upload_from(destination, write, Upload{});
}

void AsyncLoader::upload_from(Buffer& destination, const Write& write, const Upload& options) {
  if (destination.size_bytes() > slot_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: a destination of " +
                    base::plain_count_of(destination.size_bytes(), "byte") +
                    " is larger than a slot of " + std::to_string(slot_bytes()),
                "divide it, or make the loader with larger slots");
  }
  const std::uint32_t producers = impl_->ring.options().readers;
  if (options.producer >= producers) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: producer " + std::to_string(options.producer) + " of a loader with " +
                    std::to_string(producers));
  }
  if (!write) {
    throw Error(ErrorCode::invalid_argument, "upload", "upload: there is no function to call");
  }
  if (destination.is_empty()) return;
  require_destination(destination);
  impl_->ring.throw_if_cancelled();
  impl_->ring.send(destination, options.producer, write, options.on_queued);
}

std::size_t AsyncLoader::slot_bytes() const noexcept { return impl_->ring.ring().slot_bytes(); }

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
