// SPDX-License-Identifier: MIT
#include "hiptool/async_loader.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/verification.hpp"
#include "load/place/check_layout.hpp"
#include "load/transfer/file_load.hpp"
#include "load/transfer/staging_ring.hpp"
#include "load/workers.hpp"
#include "system/numa.hpp"

namespace hiptool {
struct AsyncLoader::Impl {
  Device device;
  Options options;
  std::vector<Stream> own_streams;
  std::vector<StreamRef> streams;
  std::unique_ptr<load::StagingRing> ring;
  std::uint32_t last_stretches = 0;  // of the last load

  Impl(const Device& on, Options chosen) : device(on), options(std::move(chosen)) {
    check_options();
    if (options.readers == 0) {
      options.readers = load::choose_threads(1, 16, 1);
    }
    if (options.slots == 0) options.slots = options.readers + 4;
    streams = options.external_streams;
    if (streams.empty()) {
      for (std::uint32_t i = 0; i < options.streams; ++i) own_streams.emplace_back(device);
      streams.assign(own_streams.begin(), own_streams.end());
    }
    // Properties are slow to ask for, so only where something depends on them.
    if (options.reader_cpus.empty() && system::numa_node_count("/") > 1) {
      const auto bus_id = device.info().pci_bus_id;
      if (bus_id) options.reader_cpus = system::cpus_near("/", *bus_id);
    }
    load::StagingRing::Options ring_options;
    ring_options.slots = options.slots;
    ring_options.slot_bytes = options.slot_bytes;
    ring_options.cpus = options.reader_cpus;
    ring_options.memory = options.memory;
    if (stages()) ring_options.timeline = options.timeline;
    ring = std::make_unique<load::StagingRing>(device, streams, ring_options);
  }

  void check_options() const {
    const auto refuse = [](const std::string& why) {
      throw Error(ErrorCode::invalid_argument, "make loader", why);
    };
    if (options.slot_bytes == 0) refuse("a staging slot needs at least one byte");
    if (options.external_streams.empty() && options.streams == 0) {
      refuse("a loader needs at least one stream");
    }
    const ReadOptions& read = options.read;
    if (read.request_bytes == 0) refuse("a read needs at least one byte");
    if (read.depth == 0 || read.depth > 64)
      refuse("a reader has 1 to 64 direct requests in flight");
    if (read.direct_request_bytes == 0 || read.direct_request_bytes > (1u << 30) ||
        read.direct_request_bytes % (64u << 10) != 0) {
      refuse("a direct request has whole multiples of 64 KiB, 1 GiB at most");
    }
    for (const StreamRef& stream : options.external_streams) {
      if (!(stream.device() == device)) {
        refuse("a stream of " + stream.device().id() + " was given to a loader of " + device.id());
      }
    }
  }

  bool stages() const { return options.always_stage || !device.is_host_memory(); }

  load::FileLoad::Options file_load_options() const {
    load::FileLoad::Options chosen;
    chosen.stages = stages();
    chosen.readers = options.readers;
    chosen.check = [this] { throw_if_cancelled(); };
    chosen.ramp = options.ramp;
    chosen.stretches = options.stretches;
    chosen.cpus = options.reader_cpus;
    return chosen;
  }

  void throw_if_cancelled() const {
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("load");
  }
};

AsyncLoader::AsyncLoader(const Device& device) : AsyncLoader(device, Options{}) {}

AsyncLoader::AsyncLoader(const Device& device, Options options)
    : impl_(std::make_unique<Impl>(device, std::move(options))) {}

AsyncLoader::~AsyncLoader() = default;

void AsyncLoader::prepare() {
  impl_->ring->prepare(impl_->options.readers, [this] { impl_->throw_if_cancelled(); });
}

void AsyncLoader::upload(const Buffer& destination, std::span<const std::byte> source) {
  if (source.size() > destination.size_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: " + std::to_string(source.size()) + " bytes do not fit a buffer of " +
                    std::to_string(destination.size_bytes()) + " bytes");
  }
  if (source.empty()) return;
  if (!(destination.device() == impl_->device)) {
    throw Error(ErrorCode::invalid_argument, "upload",
                "upload: the buffer is on " + destination.device().id() + ", the loader on " +
                    impl_->device.id(),
                "use a loader of the buffer's device");
  }
  load::StagingRing& ring = *impl_->ring;
  for (std::size_t offset = 0; offset < source.size();) {
    impl_->throw_if_cancelled();
    const std::size_t piece = std::min(ring.slot_bytes(), source.size() - offset);
    load::StagingSlot& slot = ring.acquire();
    std::memcpy(slot.memory.data(), source.data() + offset, piece);
    ring.submit(slot, destination.view(offset, piece), piece);
    offset += piece;
  }
}

LoadStatistics AsyncLoader::load(const ModelFile& model, const ArenaLayout& layout,
                                 const Buffer& arena, Verification* verification) {
  // Before the files are opened: a wrong argument is the caller's, whatever the files are like.
  load::check_arena(model, layout, arena, impl_->device, "load");
  if (verification != nullptr) verification->require(model, layout, arena);
  load::FileSet files(model, impl_->options.read);
  load::LoadPart part{model, layout, arena, files, nullptr, impl_->options.observer, {}};
  if (verification != nullptr) part.sink = verification->sink();
  LoadStatistics statistics = load_part(part);
  files.report(statistics);
  files.check_unchanged();
  return statistics;
}

LoadStatistics AsyncLoader::load_part(const load::LoadPart& part) {
  Impl& impl = *impl_;
  if (part.sink != nullptr && impl.options.slot_bytes < 2 * leaf_bytes) {
    throw Error(ErrorCode::invalid_argument, "load",
                "load: slots of " + std::to_string(impl.options.slot_bytes) +
                    " bytes are too small for digests of whole blocks");
  }
  load::FileLoad::Options options = impl.file_load_options();
  if (options.stretches == 0) options.stretches = part.files.choose_stretches();
  impl.last_stretches = options.stretches;
  options.check = [&impl, &part] {
    impl.throw_if_cancelled();
    if (part.check) part.check();
  };
  options.observer = part.observer;
  options.sink = part.sink;
  options.timeline = impl.options.timeline;
  options.lane = part.lane;
  return load::FileLoad(part.model, part.layout, part.arena, part.files, *impl.ring, options).run();
}

double AsyncLoader::probe_read_bytes_per_s(const ModelFile& model, const ArenaLayout& layout,
                                           const Buffer& arena, std::uint64_t most_bytes) {
  load::check_arena(model, layout, arena, impl_->device, "load");
  load::FileSet files(model, impl_->options.read);
  load::FileLoad::Options options = impl_->file_load_options();
  // By now what the load has left in the page cache would choose.
  if (options.stretches == 0) options.stretches = impl_->last_stretches;
  return load::FileLoad(model, layout, arena, files, *impl_->ring, options).probe(most_bytes);
}

void AsyncLoader::synchronize() { impl_->ring->drain(); }

std::size_t AsyncLoader::stream_count() const noexcept { return impl_->streams.size(); }

StreamRef AsyncLoader::stream(std::size_t index) const {
  if (index >= impl_->streams.size()) {
    throw Error(ErrorCode::out_of_bounds, "loader stream",
                "stream " + std::to_string(index) + " of a loader with " +
                    std::to_string(impl_->streams.size()));
  }
  return impl_->streams[index];
}

}  // namespace hiptool
