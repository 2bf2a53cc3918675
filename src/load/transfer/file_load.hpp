// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/load.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "load/layout/chunks.hpp"
#include "load/read/file_reader.hpp"
#include "load/transfer/shared_slots.hpp"
#include "load/transfer/staging_ring.hpp"
#include "load/workers.hpp"

namespace hiptool::load {

/// One load of a model: readers take part after part of chunk after chunk, fill a slot (or device
/// memory itself where the host can write it), and the last one of a chunk sends it on its way.
class FileLoad {
 public:
  struct Options {
    bool stages = true;  ///< through the ring, not in place
    std::uint32_t readers = 1;
    std::uint32_t parts = 1;      ///< of a chunk, each read by the next free reader
    std::function<void()> check;  ///< called between parts; may throw to end the load
    LoadObserver* observer = nullptr;
    ChunkSink* sink = nullptr;
    bool ramp = true;
    std::uint32_t regions = 1;  ///< read alternately, see order_chunks()
    std::vector<int> cpus;      ///< that readers run on; empty: any
    Timeline* timeline = nullptr;
    std::string track = "reader";  ///< of the timeline; a number is added
  };

  /// `files` may serve several loads at once, `threads` read for one at a time. With one part the
  /// ring has an owner for each reader.
  FileLoad(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena, FileSet& files,
           StagingRing& ring, WorkerThreads& threads, const Options& options);

  /// Blocks until everything has arrived; whatever happens, no copy is in flight afterwards. What
  /// the statistics say of reading is left to the FileSet, and so is whether a file changed.
  LoadStatistics run();

  /// Instead of run(): reads what run() reads first, that many bytes, but copies nothing. Bytes per
  /// second; 0 for an empty model.
  double probe(std::uint64_t most_bytes);

 private:
  struct Reader {
    std::uint32_t index = 0;
    std::uint32_t track = 0;  // of the timeline
    FileReader files;
    std::vector<Piece> pieces;    // of the current part
    std::vector<ReadPart> parts;  // the same
  };

  void run_readers(std::uint32_t count);
  void read_parts(std::uint32_t index, const std::atomic<bool>& stop);
  std::uint64_t load_part(Reader& reader, std::size_t chunk, std::uint32_t part);
  std::uint64_t read(Reader& reader, const base::ByteRange& range, std::span<std::byte> bytes);
  void send(const base::ByteRange& chunk, StagingSlot& slot);

  const ModelFile& model_;
  const ArenaLayout& layout_;
  const Buffer& arena_;
  StagingRing& ring_;
  WorkerThreads& threads_;
  Options options_;
  FileSet& files_;
  std::vector<base::ByteRange> chunks_;  // in the order in which they are taken
  SharedSlots slots_;
  bool copies_ = true;                // false: the read probe
  std::atomic<std::size_t> next_{0};  // part of all chunks
  std::atomic<std::uint64_t> read_bytes_{0};
};

}  // namespace hiptool::load
