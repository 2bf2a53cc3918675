// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_file.hpp"
#include "load/read/cached_extents.hpp"
#include "load/read/direct_file.hpp"
#include "load/read/direct_reader.hpp"
#include "load/read/large_reader.hpp"
#include "load/read/read_trial.hpp"

namespace hiptool::load {

/// Bytes of a file and where they shall go.
struct ReadPart {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;
  std::span<std::byte> destination;
};

/// The opened files of a model and what was found about reading them; shared by all readers.
class FileSet {
 public:
  /// Opens the files. Throws Error(input_failed) if one cannot be opened or changed since parsing.
  /// Where at least 128 times `trial_bytes` that are not cached are to be read the best way, all
  /// ways are tried in windows of this many bytes, or up to four times as many; fewer are read as
  /// earlier loads found best on that file system, else past the cache by all readers, because the
  /// trial would cost more than it gains. `readers` share what is in flight.
  FileSet(const ModelFile& model, const ReadOptions& options, std::uint32_t readers = 1,
          std::uint64_t trial_bytes = 64u << 20,
          KnownReadRates& known = KnownReadRates::of_process());

  const ReadOptions& options() const noexcept { return options_; }
  const base::File& file(std::uint32_t index) const { return files_[index].buffered; }

  /// The descriptor to read an extent directly with; null where it shall go through the page cache:
  /// always by request, or because the file cannot be read directly, or because at least half of
  /// the extent was cached when this object was made.
  const DirectFile* choose_direct(std::uint32_t file, std::uint64_t offset,
                                  std::uint64_t size_bytes) const;

  /// From how many places files are best read at once, which a loader may choose: from one, but
  /// from four where they are not cached and need not be read past the page cache. On the disk of a
  /// virtual machine (2 GB/s) four were faster by 0.18 than one through the page cache, sixteen by
  /// 0.09, and past it four were slower by 0.03 (tests/bench/load_bench --cold --regions).
  std::uint32_t choose_regions() const;

  /// Decides about extents that choose_direct() has a descriptor for; null where nothing is tried.
  ReadTrial* trial() noexcept { return trial_ ? &*trial_ : nullptr; }

  /// What the trial chooses for the next extent, with the kernel's read-ahead on or off for it.
  ReadTrial::Turn choose_way();

  /// For the extents that are to be read in large requests, of all readers together.
  LargeReader& large_reader() noexcept { return large_reader_; }

  /// Direct requests that each reader keeps in flight.
  std::uint32_t depth() const noexcept { return depth_; }

  /// No more direct reads of that file; the reason is noted.
  void give_up_direct(std::uint32_t file, const std::string& why);

  /// For the report; each text once.
  void note(const std::string& text);
  void count(std::uint64_t buffered_bytes, std::uint64_t direct_bytes) noexcept;
  void set_engine(const char* name) noexcept { engine_.store(name); }

  /// Throws Error(input_failed) if a file is not what it was when it was parsed.
  void check_unchanged() const;

  /// Fills in what is known about reading, and keeps what a trial found for later loads.
  void report(LoadStatistics& statistics) const;

 private:
  /// Whether less than half of all files was cached.
  bool is_cold() const;
  void begin_trial(std::uint64_t trial_bytes);
  /// Of all files that can be read directly. What of them is cached is read without read-ahead,
  /// which would bring the neighbours through the cache too, whatever was chosen for those.
  void set_read_ahead(bool is_on);

  struct Entry {
    explicit Entry(base::File file) : buffered(std::move(file)) {}
    base::File buffered;
    DirectFile direct;
    std::optional<CachedExtents> cached;  // where that makes a difference
    std::atomic<bool> reads_directly{false};
  };

  ReadOptions options_;
  std::vector<ModelPart> parts_;
  std::deque<Entry> files_;  // entries cannot move
  std::uint32_t depth_ = 1;
  KnownReadRates& known_;
  KnownReadRates::Key key_;
  std::optional<ReadTrial> trial_;
  LargeReader large_reader_;
  std::atomic<bool> reads_ahead_{false};
  std::atomic<std::uint64_t> buffered_bytes_{0};
  std::atomic<std::uint64_t> direct_bytes_{0};
  std::atomic<const char*> engine_{nullptr};
  mutable std::mutex mutex_;
  std::set<std::string> notes_;
};

/// Reads for one thread.
class FileReader {
 public:
  /// `check` is called between requests and may throw to end a read. Without an engine the reader
  /// makes one when it first reads directly.
  FileReader(FileSet& files, std::function<void()> check,
             std::unique_ptr<DirectReader> engine = {});

  /// Called when bytes of a part were read: in steps of `step_bytes` from the start of the part
  /// through the page cache, else once for all of it.
  using OnBytes =
      std::function<void(const ReadPart& part, std::uint64_t offset, std::uint64_t size_bytes)>;
  static constexpr std::uint64_t step_bytes = 256u << 10;

  /// Fills every part. Parts that follow each other closely in a file are read as one extent.
  /// Throws Error(input_failed) with path and offset. Blocks.
  void read(std::span<const ReadPart> parts, const OnBytes& on_bytes = {});

 private:
  void read_extent(std::span<const ReadPart> extent, const OnBytes& on_bytes);
  void read_buffered(std::span<const ReadPart> extent, const OnBytes& on_bytes);
  bool read_directly(const DirectFile& direct, std::span<const ReadPart> extent, ReadWay way);
  void add_progress(std::uint64_t size_bytes);
  DirectReader& engine();

  FileSet& files_;
  std::function<void()> check_;
  std::unique_ptr<DirectReader> engine_;
  std::optional<ReadTrial::Turn> turn_;  // of the extent that is being read
};

}  // namespace hiptool::load
