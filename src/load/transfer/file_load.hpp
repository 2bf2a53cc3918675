// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/async_loader.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/load.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "load/layout/chunks.hpp"
#include "load/read/file_reader.hpp"
#include "load/transfer/staging_ring.hpp"

namespace hiptool::load {

/// One load of a model: readers take chunk after chunk, fill a slot (or device memory itself where
/// the host can write it) and send it on its way.
class FileLoad {
 public:
  struct Options {
    bool stages = true;  ///< through the ring, not in place
    std::uint32_t readers = 1;
    std::function<void()> check;  ///< called between chunks; may throw to end the load
    LoadObserver* observer = nullptr;
    ChunkSink* sink = nullptr;
    bool ramp = true;
    std::uint32_t regions = 1;  ///< read alternately, see order_chunks()
    std::vector<int> cpus;      ///< that readers run on; empty: any
    Timeline* timeline = nullptr;
    std::string track = "reader";  ///< of the timeline; a number is added
  };

  /// `files` may serve several loads at once. The loader has a producer for each reader.
  FileLoad(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena, FileSet& files,
           AsyncLoader& loader, const Options& options);

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
    std::vector<Piece> pieces;    // of the current chunk
    std::vector<ReadPart> parts;  // the same
  };

  std::uint64_t load_chunk(Reader& reader, const base::ByteRange& chunk);
  std::uint64_t probe_chunk(Reader& reader, const base::ByteRange& chunk);
  void read_chunks(std::uint32_t index, const std::atomic<bool>& stop,
                   std::uint64_t (FileLoad::*work)(Reader&, const base::ByteRange&));
  std::uint64_t read(Reader& reader, const base::ByteRange& chunk, std::span<std::byte> bytes);

  const ModelFile& model_;
  const ArenaLayout& layout_;
  const Buffer& arena_;
  AsyncLoader& loader_;
  StagingRing& ring_;  // of the loader
  Options options_;
  FileSet& files_;
  std::vector<base::ByteRange> chunks_;  // in the order in which they are taken
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> read_bytes_{0};
};

}  // namespace hiptool::load
