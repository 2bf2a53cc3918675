// SPDX-License-Identifier: MIT
#include "hiptool/async_loader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "base/file.hpp"
#include "core/platform_state.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/pieces.hpp"
#include "load/staging_ring.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<base::File> open_unchanged(const ModelFile& model) {
  std::vector<base::File> files;
  for (const ModelPart& part : model.files()) {
    files.push_back(base::File::open(part.path));
    files.back().check_unchanged(part.size_bytes, part.modified_ns);
  }
  return files;
}

void check_still_unchanged(const ModelFile& model, const std::vector<base::File>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].check_unchanged(model.files()[i].size_bytes, model.files()[i].modified_ns);
  }
}

}  // namespace

struct AsyncLoader::Impl {
  Device device;
  Options options;
  std::vector<Stream> own_streams;
  std::vector<StreamRef> streams;
  std::unique_ptr<load::StagingRing> ring;

  Impl(const Device& on, Options chosen) : device(on), options(std::move(chosen)) {
    check_options();
    if (options.readers == 0) {
      options.readers = stages() ? load::choose_threads(1, 8, 2) : load::choose_threads(1, 16, 1);
    }
    if (options.slots == 0) options.slots = std::max(2 * options.readers, 2u);
    streams = options.external_streams;
    if (streams.empty()) {
      for (std::uint32_t i = 0; i < options.streams; ++i) own_streams.emplace_back(device);
      streams.assign(own_streams.begin(), own_streams.end());
    }
    ring = std::make_unique<load::StagingRing>(device, streams, options.slots, options.slot_bytes);
  }

  void check_options() const {
    const auto refuse = [](const std::string& why) {
      throw Error(ErrorCode::invalid_argument, "make loader", why);
    };
    if (options.slot_bytes == 0) refuse("a staging slot needs at least one byte");
    if (options.external_streams.empty() && options.streams == 0) {
      refuse("a loader needs at least one stream");
    }
    for (const StreamRef& stream : options.external_streams) {
      if (!(stream.device() == device)) {
        refuse("a stream of " + stream.device().id() + " was given to a loader of " + device.id());
      }
    }
  }

  bool stages() const { return options.always_stage || !device.is_host_memory(); }

  void throw_if_cancelled() const {
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("load");
  }

  // Fills `bytes`, which stand for the arena from `begin` on, with tensors and zero gaps.
  std::uint64_t read_range(const ModelFile& model, const ArenaLayout& layout,
                           const std::vector<base::File>& files, std::uint64_t begin,
                           std::span<std::byte> bytes) const {
    std::uint64_t read = 0;
    std::uint64_t filled = 0;
    load::for_each_piece(model, layout, begin, begin + bytes.size(), [&](const load::Piece& piece) {
      std::memset(bytes.data() + filled, 0, piece.range_offset - filled);
      files[piece.file].read_at(bytes.subspan(piece.range_offset, piece.size_bytes),
                                piece.file_offset);
      filled = piece.range_offset + piece.size_bytes;
      read += piece.size_bytes;
    });
    std::memset(bytes.data() + filled, 0, bytes.size() - filled);
    return read;
  }

  // One chunk of the arena: into a slot and on its way, or in place where the host can write it.
  std::uint64_t load_chunk(const ModelFile& model, const ArenaLayout& layout,
                           const std::vector<base::File>& files, const Buffer& part,
                           std::uint64_t begin) {
    if (!stages()) {
      return read_range(model, layout, files, begin,
                        {static_cast<std::byte*>(part.address()), part.size_bytes()});
    }
    load::StagingSlot& slot = ring->acquire();
    std::uint64_t read = 0;
    try {
      read = read_range(model, layout, files, begin, slot.memory.bytes().first(part.size_bytes()));
    } catch (...) {
      ring->give_back(slot);
      throw;
    }
    ring->submit(slot, part, part.size_bytes());
    return read;
  }
};

AsyncLoader::AsyncLoader(const Device& device) : AsyncLoader(device, Options{}) {}

AsyncLoader::AsyncLoader(const Device& device, Options options)
    : impl_(std::make_unique<Impl>(device, std::move(options))) {}

AsyncLoader::~AsyncLoader() = default;

void AsyncLoader::upload(const Buffer& destination, std::span<const std::byte> source) {
  if (source.size() > destination.size_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "upload",
                "upload: " + std::to_string(source.size()) + " bytes do not fit a buffer of " +
                    std::to_string(destination.size_bytes()) + " bytes");
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
                                 const Buffer& arena) {
  Impl& impl = *impl_;
  if (arena.size_bytes() < layout.arena_bytes) {
    throw Error(ErrorCode::out_of_bounds, "load",
                "load: an arena of " + std::to_string(arena.size_bytes()) +
                    " bytes is too small for a layout of " + std::to_string(layout.arena_bytes));
  }
  const std::vector<base::File> files = open_unchanged(model);
  const std::uint64_t chunk_bytes = impl.options.slot_bytes;
  const std::uint64_t chunks = (layout.arena_bytes + chunk_bytes - 1) / chunk_bytes;
  const auto readers =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(impl.options.readers, chunks));

  LoadStatistics statistics;
  statistics.readers = readers;
  statistics.slot_bytes = impl.stages() ? chunk_bytes : 0;
  statistics.slots = impl.stages() ? impl.options.slots : 0;
  statistics.copied_bytes = layout.arena_bytes;

  std::atomic<std::uint64_t> next_chunk{0};
  std::atomic<std::uint64_t> read_bytes{0};
  impl.ring->reset_timer();
  const auto start = Clock::now();
  const auto read_chunks = [&](std::uint32_t, const std::atomic<bool>& stop) {
    while (!stop.load()) {
      impl.throw_if_cancelled();
      const std::uint64_t chunk = next_chunk.fetch_add(1);
      if (chunk >= chunks) return;
      const std::uint64_t begin = chunk * chunk_bytes;
      const Buffer part = arena.view(begin, std::min(chunk_bytes, layout.arena_bytes - begin));
      const std::uint64_t read = impl.load_chunk(model, layout, files, part, begin);
      const std::uint64_t done = read_bytes.fetch_add(read) + read;
      if (impl.options.observer != nullptr) {
        impl.options.observer->on_progress(done, layout.tensor_bytes);
      }
    }
  };
  try {
    load::run_workers(readers, read_chunks);
  } catch (...) {
    try {
      impl.ring->drain();
    } catch (const std::exception& error) {
      impl.device.state().note("load", error.what());
    }
    throw;
  }
  impl.ring->drain();
  statistics.load_time_s = seconds_since(start);
  statistics.read_bytes = read_bytes.load();
  statistics.copy_time_s = impl.ring->copy_time_s();
  check_still_unchanged(model, files);
  return statistics;
}

void AsyncLoader::synchronize() { impl_->ring->drain(); }

double AsyncLoader::probe_h2d_bytes_per_s(const Buffer& destination, std::uint64_t bytes) {
  impl_->throw_if_cancelled();
  return impl_->ring->probe(destination, bytes);
}

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
