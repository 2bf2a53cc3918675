// SPDX-License-Identifier: MIT
#include "load/transfer/file_load.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "base/timeline_scope.hpp"
#include "core/platform_state.hpp"
#include "load/layout/pieces.hpp"
#include "load/transfer/chunk_order.hpp"
#include "load/transfer/loader_access.hpp"
#include "load/workers.hpp"
#include "system/numa.hpp"

namespace hiptool::load {

FileLoad::FileLoad(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                   FileSet& files, AsyncLoader& loader, const Options& options)
    : model_(model),
      layout_(layout),
      arena_(arena),
      loader_(loader),
      ring_(LoaderAccess::ring_of(loader).ring()),
      options_(options),
      files_(files),
      chunks_(order_chunks(
          cut_chunks(model, layout, loader.slot_bytes(), options.ramp ? options.readers : 0),
          options.regions)) {}

// Fills `bytes`, the chunk's memory, with tensors and zero gaps.
std::uint64_t FileLoad::read(Reader& reader, const base::ByteRange& chunk,
                             std::span<std::byte> bytes) {
  std::uint64_t read = 0;
  std::uint64_t filled = 0;
  reader.pieces.clear();
  reader.parts.clear();
  for_each_piece(model_, layout_, chunk, [&](const Piece& piece) {
    const auto [offset, size_bytes] = piece.in_file;
    std::memset(bytes.data() + filled, 0, piece.chunk_offset - filled);
    reader.parts.push_back({piece.file, offset, bytes.subspan(piece.chunk_offset, size_bytes)});
    reader.pieces.push_back(piece);
    filled = piece.chunk_offset + size_bytes;
    read += size_bytes;
  });
  std::memset(bytes.data() + filled, 0, bytes.size() - filled);
  FileReader::OnBytes on_bytes;
  if (options_.sink != nullptr) {
    on_bytes = [&](const ReadPart& part, std::uint64_t offset, std::uint64_t size_bytes) {
      const Piece& piece = reader.pieces[static_cast<std::size_t>(&part - reader.parts.data())];
      options_.sink->on_part(
          part.destination.subspan(offset, size_bytes),
          {piece.file, {piece.in_file.offset + offset, size_bytes}, piece.chunk_offset + offset});
    };
  }
  {
    const base::TimelineScope scope(options_.timeline, reader.track, "read", read);
    reader.files.read(reader.parts, on_bytes);
  }
  if (options_.sink != nullptr) options_.sink->on_read(chunk, bytes);
  return read;
}

std::uint64_t FileLoad::load_chunk(Reader& reader, const base::ByteRange& chunk) {
  Buffer part = arena_.view(chunk.offset, chunk.size_bytes);
  if (!options_.stages) {
    const std::uint64_t bytes =
        read(reader, chunk, {static_cast<std::byte*>(part.address()), part.size_bytes()});
    if (options_.sink != nullptr) options_.sink->on_queued(chunk, nullptr);
    return bytes;
  }
  std::uint64_t bytes = 0;
  std::optional<base::TimelineScope> step(std::in_place, options_.timeline, reader.track,
                                          "wait for a slot");
  const auto write = [&](std::span<std::byte> slot) {
    step.reset();
    if (options_.sink != nullptr) options_.sink->before_fill(slot);
    bytes = read(reader, chunk, slot);
    step.emplace(options_.timeline, reader.track, "queue");
  };
  AsyncLoader::Upload upload;
  upload.producer = reader.index;
  upload.on_queued = [&](const Event& copied) {
    if (options_.sink != nullptr) options_.sink->on_queued(chunk, &copied);
  };
  loader_.upload_from(part, write, upload);
  return bytes;
}

std::uint64_t FileLoad::probe_chunk(Reader& reader, const base::ByteRange& chunk) {
  if (!options_.stages) {
    const Buffer part = arena_.view(chunk.offset, chunk.size_bytes);  // the same bytes again
    return read(reader, chunk, {static_cast<std::byte*>(part.address()), part.size_bytes()});
  }
  StagingSlot& slot = ring_.acquire(reader.index);
  try {
    const std::uint64_t bytes = read(reader, chunk, slot.memory.first(chunk.size_bytes));
    ring_.give_back(slot);
    return bytes;
  } catch (...) {
    ring_.give_back(slot);
    throw;
  }
}

void FileLoad::read_chunks(std::uint32_t index, const std::atomic<bool>& stop,
                           std::uint64_t (FileLoad::*work)(Reader&, const base::ByteRange&)) {
  const system::CpuBinding near_device(options_.cpus);
  const std::uint32_t track =
      options_.timeline != nullptr
          ? options_.timeline->add_track(options_.track + " " + std::to_string(index))
          : 0;
  Reader reader{index, track, FileReader(files_, options_.check), {}, {}};
  while (!stop.load()) {
    options_.check();
    const std::size_t next = next_.fetch_add(1);
    if (next >= chunks_.size()) return;
    const std::uint64_t bytes = (this->*work)(reader, chunks_[next]);
    const std::uint64_t done = read_bytes_.fetch_add(bytes) + bytes;
    if (options_.observer != nullptr) {
      options_.observer->on_progress(done, layout_.tensor_bytes);
    }
  }
}

LoadStatistics FileLoad::run() {
  LoadStatistics statistics;
  statistics.readers =
      static_cast<std::uint32_t>(std::min<std::size_t>(options_.readers, chunks_.size()));
  statistics.slot_bytes = options_.stages ? ring_.slot_bytes() : 0;
  statistics.slots = options_.stages ? static_cast<std::uint32_t>(ring_.slot_count()) : 0;
  statistics.copied_bytes = layout_.arena_bytes;
  ring_.reset_timer();
  const auto start = std::chrono::steady_clock::now();
  try {
    run_workers(statistics.readers, [this](std::uint32_t index, const std::atomic<bool>& stop) {
      read_chunks(index, stop, &FileLoad::load_chunk);
    });
  } catch (...) {
    try {
      ring_.drain();
    } catch (const std::exception& error) {
      core::state_of(arena_.device()).note("load", error.what());
    }
    throw;
  }
  ring_.drain();
  statistics.load_time_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  statistics.copy_time_s = ring_.copy_time_s();
  return statistics;
}

double FileLoad::probe(std::uint64_t most_bytes) {
  std::size_t count = 0;
  for (std::uint64_t bytes = 0; count < chunks_.size() && bytes < most_bytes; ++count) {
    bytes += chunks_[count].size_bytes;
  }
  chunks_.resize(count);
  const auto start = std::chrono::steady_clock::now();
  run_workers(options_.readers, [this](std::uint32_t index, const std::atomic<bool>& stop) {
    read_chunks(index, stop, &FileLoad::probe_chunk);
  });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(read_bytes_.load()) / elapsed.count();
}

}  // namespace hiptool::load
