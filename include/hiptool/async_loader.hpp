// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/staging_memory.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool {

class Verification;

namespace load {
struct LoadPart;
}

/// Told about progress from the loader's threads; implementations lock and must not throw.
class HIPTOOL_API LoadObserver {
 public:
  virtual ~LoadObserver() = default;
  /// Bytes of tensors that were queued to the device so far.
  virtual void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept = 0;
};

/// How files are read.
enum class ReadMode {
  /// extents in the page cache through it, others past it, except on file systems where that gains
  /// nothing (in memory, overlays, FUSE, networks)
  automatic,
  buffered,  ///< always through the page cache
  direct,    ///< always past it (O_DIRECT), where the file system lets it
};

/// Details of reading; the defaults suit NVMe disks and the page cache alike.
struct ReadOptions {
  ReadMode mode = ReadMode::automatic;
  std::uint64_t request_bytes = 1u << 20;  ///< of one pread from the page cache
  std::uint64_t direct_request_bytes = 1u
                                       << 20;  ///< of one direct request; whole multiples of 64 KiB
  /// Direct requests that each reader keeps in flight: more than one through io_uring where the
  /// kernel allows it, else one. 1 to 64.
  std::uint32_t depth = 2;
};

/// What a load did.
struct LoadStatistics {
  double load_time_s = 0;  ///< first read issued to last copy done
  double copy_time_s = 0;  ///< first to last copy by the device's own events; 0 without staging
  std::uint64_t copied_bytes = 0;       ///< with the gaps between tensors
  std::uint64_t read_bytes = 0;         ///< read from files: the sum of the next two
  std::uint64_t buffered_bytes = 0;     ///< of tensors, read through the page cache
  std::uint64_t direct_bytes = 0;       ///< of tensors, read past it
  std::string direct_engine;            ///< "io_uring" or "pread"; empty: nothing was read so
  std::vector<std::string> read_notes;  ///< why a file was read otherwise than it might be
  std::uint32_t readers = 0;
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
};

/// Moves host bytes and model files into device memory through a small ring of pinned staging slots
/// and several streams. Usable without the command line. One object serves one device, PlanLoader
/// several at once. upload() may be called from many threads at once; load() by one thread at a
/// time.
class HIPTOOL_API AsyncLoader {
 public:
  struct Options {
    std::uint32_t streams = 2;
    /// Measured on an H200 and 16 cores: 20 slots of 4 MiB, which stay in the processor's cache,
    /// load at 0.95 to 0.97 of the rate that their copies reach alone; of 8 MiB at 0.87 to 0.92.
    std::uint64_t slot_bytes = 4u << 20;
    std::uint32_t readers = 0;  ///< threads that read files; 0: one for each core, at most 16
    std::uint32_t slots = 0;    ///< 0: one for each reader and four that are on their way
    /// Streams of the caller instead of own ones; all must be on the loader's device.
    std::vector<StreamRef> external_streams;
    /// Stage through pinned slots also where the host can write device memory in place.
    bool always_stage = false;
    ReadOptions read;
    /// Chunks at the start and the end of a load are smaller, so that the first copy starts early
    /// and all readers end together.
    bool ramp = true;
    /// Places of the files that are read by turns, chunk after chunk from each, all the way through
    /// the load, so that many parts of a disk work at once; 1: from front to back. 0: the loader
    /// chooses, 4 for files that are not cached and 1 for others. Several devices of a PlanLoader
    /// share them, but each has one at least; where it chooses, each has one.
    std::uint32_t stretches = 0;
    /// Logical CPUs that the readers run on. Empty: those of the device's NUMA node, where the
    /// system has several and says which; else wherever the system likes.
    std::vector<int> reader_cpus;
    const CancelToken* cancel = nullptr;
    LoadObserver* observer = nullptr;
    Timeline* timeline = nullptr;  ///< gets a lane for each reader and stream, if there is one
    std::shared_ptr<StagingMemory> memory;  ///< for slots, made ahead; more is made as needed
  };

  /// Makes streams; slots are pinned when they are first needed, or by prepare(). Throws
  /// Error(invalid_argument) for sizes that are zero or out of bounds or foreign streams, else what
  /// the runtime answered.
  AsyncLoader(const Device& device, Options options);
  explicit AsyncLoader(const Device& device);
  /// Waits for queued copies; failures go to the trace.
  ~AsyncLoader();
  AsyncLoader(const AsyncLoader&) = delete;
  AsyncLoader& operator=(const AsyncLoader&) = delete;

  /// Pins the slots that are not pinned yet, several at once; about 25 ms for 128 MiB. Blocks. May
  /// run on a thread of its own beside load() and upload(), which use slots as they come. Throws
  /// Error(cancelled), Error(host_out_of_memory) or Error(device).
  void prepare();

  /// Queues a copy of the bytes into the start of the destination, on the stream with the least
  /// bytes queued. The source may be reused when this returns. Blocks only while every slot is in
  /// flight. Throws Error(out_of_bounds) when the source is longer than the destination,
  /// Error(invalid_argument) for a destination on another device.
  void upload(const Buffer& destination, std::span<const std::byte> source);

  /// Reads the placed tensors from their files into the arena (at least layout.arena_bytes long)
  /// and waits until all of it is on the device. Gaps between tensors become zero. Throws
  /// Error(input_failed) when a file is shorter than at parsing, cannot be read, or was truncated,
  /// grown, written to or replaced at any time up to the end of the load,
  /// Error(cancelled) when the token was set, else what the runtime answered; whatever happens, no
  /// copy is in flight afterwards.
  /// A verification of another model, layout or arena is Error(invalid_argument); where its
  /// reference is the slots as they were read, they must hold at least two blocks of 16 KiB.
  LoadStatistics load(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                      Verification* verification = nullptr);

  /// Blocks until everything queued has arrived. Throws the first failure.
  void synchronize();

  /// Reads what load() reads first, so many bytes, without copying them to the device: the rate, in
  /// bytes per second, that load() cannot exceed. Where the host writes device memory in
  /// place, the arena gets the bytes that it has after load(). Blocks. Throws as load() does for
  /// files, and Error(cancelled) when the token is set meanwhile.
  double probe_read_bytes_per_s(const ModelFile& model, const ArenaLayout& layout,
                                const Buffer& arena, std::uint64_t most_bytes);

  std::size_t stream_count() const noexcept;
  StreamRef stream(std::size_t index) const;  ///< Error(out_of_bounds) for a bad index

 private:
  friend class PlanLoader;
  LoadStatistics load_part(const load::LoadPart& part);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
