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
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

// Readers that fill chunks together are one to the ramp.
std::uint32_t ramp_readers(const FileLoad::Options& options) {
  if (!options.ramp) return 0;
  return options.parts > 1 ? 1 : options.readers;
}

}  // namespace

FileLoad::FileLoad(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                   FileSet& files, StagingRing& ring, WorkerThreads& threads,
                   const Options& options)
    : model_(model),
      layout_(layout),
      arena_(arena),
      ring_(ring),
      threads_(threads),
      options_(options),
      files_(files),
      chunks_(order_chunks(cut_chunks(model, layout, ring.slot_bytes(), ramp_readers(options)),
                           options.regions)),
      slots_(ring, chunks_.size(), options.parts) {}

// Fills `bytes`, the memory of that range, with tensors and zero gaps.
std::uint64_t FileLoad::read(Reader& reader, const base::ByteRange& range,
                             std::span<std::byte> bytes) {
  std::uint64_t read = 0;
  std::uint64_t filled = 0;
  reader.pieces.clear();
  reader.parts.clear();
  for_each_piece(model_, layout_, range, [&](const Piece& piece) {
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
  return read;
}

std::uint64_t FileLoad::load_part(Reader& reader, std::size_t chunk, std::uint32_t part) {
  const base::ByteRange& whole = chunks_[chunk];
  const base::ByteRange range = part_of(model_, layout_, whole, part, options_.parts);
  if (!options_.stages) {
    if (range.size_bytes == 0) return 0;
    const Buffer target = arena_.view(range.offset, range.size_bytes);
    const std::span bytes(static_cast<std::byte*>(target.address()), target.size_bytes());
    const std::uint64_t read_bytes = read(reader, range, bytes);
    if (options_.sink != nullptr) {
      options_.sink->on_read(range, bytes);
      options_.sink->on_queued(range, nullptr);
    }
    return read_bytes;
  }
  std::optional<base::TimelineScope> step(std::in_place, options_.timeline, reader.track,
                                          "wait for a slot");
  StagingSlot* const slot =
      slots_.enter(chunk, reader.index, [&](std::span<const std::byte> memory) {
        if (options_.sink != nullptr) options_.sink->before_fill(memory);
      });
  if (slot == nullptr) return 0;  // another reader failed
  step.reset();
  const std::uint64_t read_bytes =
      read(reader, range, slot->memory.subspan(range.offset - whole.offset, range.size_bytes));
  if (StagingSlot* const filled = slots_.leave(chunk)) {
    step.emplace(options_.timeline, reader.track, "queue");
    copies_ ? send(whole, *filled) : ring_.give_back(*filled);
  }
  return read_bytes;
}

void FileLoad::send(const base::ByteRange& chunk, StagingSlot& slot) {
  Buffer destination = arena_.view(chunk.offset, chunk.size_bytes);
  if (options_.sink == nullptr) {
    ring_.submit(slot, destination, chunk.size_bytes);
    return;
  }
  try {
    options_.sink->on_read(chunk, slot.memory.first(chunk.size_bytes));
  } catch (...) {
    ring_.give_back(slot);
    throw;
  }
  ring_.submit(slot, destination, chunk.size_bytes,
               [&](const Event& copied) { options_.sink->on_queued(chunk, &copied); });
}

void FileLoad::read_parts(std::uint32_t index, const std::atomic<bool>& stop) {
  const system::CpuBinding near_device(options_.cpus);
  const std::uint32_t track =
      options_.timeline != nullptr
          ? options_.timeline->add_track(options_.track + " " + std::to_string(index))
          : 0;
  Reader reader{index, track, FileReader(files_, options_.check), {}, {}};
  while (!stop.load()) {
    options_.check();
    const std::size_t next = next_.fetch_add(1);
    const std::size_t chunk = next / options_.parts;
    if (chunk >= chunks_.size()) return;
    const std::uint64_t bytes =
        load_part(reader, chunk, static_cast<std::uint32_t>(next % options_.parts));
    const std::uint64_t done = read_bytes_.fetch_add(bytes) + bytes;
    if (options_.observer != nullptr) {
      options_.observer->on_progress(done, layout_.tensor_bytes);
    }
  }
}

void FileLoad::run_readers(std::uint32_t count) {
  try {
    threads_.run(count, [this](std::uint32_t index, const std::atomic<bool>& stop) {
      try {
        read_parts(index, stop);
      } catch (...) {
        slots_.fail();
        throw;
      }
    });
  } catch (...) {
    slots_.give_back_unsent();
    throw;
  }
}

LoadStatistics FileLoad::run() {
  LoadStatistics statistics;
  statistics.readers = static_cast<std::uint32_t>(
      std::min<std::size_t>(options_.readers, chunks_.size() * options_.parts));
  statistics.slot_bytes = options_.stages ? ring_.slot_bytes() : 0;
  statistics.slots = options_.stages ? static_cast<std::uint32_t>(ring_.slot_count()) : 0;
  statistics.copied_bytes = layout_.arena_bytes;
  ring_.reset_timer();
  const auto start = std::chrono::steady_clock::now();
  try {
    run_readers(statistics.readers);
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
  copies_ = false;
  const auto start = std::chrono::steady_clock::now();
  run_readers(options_.readers);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(read_bytes_.load()) / elapsed.count();
}

}  // namespace hiptool::load
