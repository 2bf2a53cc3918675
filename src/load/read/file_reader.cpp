// SPDX-License-Identifier: MIT
#include "load/read/file_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "model/parts.hpp"

namespace hiptool::load {
namespace {

// Gaps that are cheaper to read than to start another request for.
constexpr std::uint64_t most_gap_bytes = 64u << 10;
// Below it a direct read costs more than it saves.
constexpr std::uint64_t least_direct_bytes = 128u << 10;
// A block of 16 MiB may be read for an extent that has no neighbours.
constexpr std::uint64_t least_serial_bytes = 1u << 20;

std::uint64_t begin_of(std::span<const ReadPart> extent) { return extent.front().file_offset; }

std::uint64_t end_of(const ReadPart& part) { return part.file_offset + part.destination.size(); }

bool follows(const ReadPart& part, const ReadPart& before) {
  return part.file == before.file && part.file_offset >= end_of(before) &&
         part.file_offset - end_of(before) <= most_gap_bytes;
}

bool is_refusal(int number) {
  return number == EINVAL || number == EFAULT || number == EOPNOTSUPP || number == ENOSYS;
}

// Little's law with some room: disks of several GB/s answer within a fraction of a millisecond. On
// the disk of a virtual machine 32 MiB in flight were slower than 4 to 16 MiB by 0.2.
constexpr std::uint64_t bytes_in_flight = 8u << 20;

std::uint32_t choose_depth(const ReadOptions& options, std::uint32_t readers) {
  if (options.depth != 0) return options.depth;
  const std::uint64_t of_all = options.direct_request_bytes * std::max(1u, readers);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_in_flight / of_all, 1, 64));
}

// What was read of the extent, into its parts.
void spread(std::span<const ReadPart> extent, std::uint64_t offset,
            std::span<const std::byte> bytes) {
  auto part = std::ranges::partition_point(
      extent, [&](const ReadPart& candidate) { return end_of(candidate) <= offset; });
  for (; part != extent.end() && part->file_offset < offset + bytes.size(); ++part) {
    const std::uint64_t begin = std::max(offset, part->file_offset);
    const std::uint64_t end = std::min(offset + bytes.size(), end_of(*part));
    if (begin >= end) continue;
    std::memcpy(part->destination.data() + (begin - part->file_offset),
                bytes.data() + (begin - offset), end - begin);
  }
}

}  // namespace

FileSet::FileSet(const ModelFile& model, const ReadOptions& options, std::uint32_t readers,
                 std::uint64_t trial_bytes, KnownReadRates& known)
    : options_(options),
      parts_(model.files().begin(), model.files().end()),
      depth_(choose_depth(options, readers)),
      known_(known),
      key_(0, readers) {
  for (std::uint32_t i = 0; i < parts_.size(); ++i) {
    Entry& entry = files_.emplace_back(base::File::open(parts_[i].path));
    // Doubles the kernel's read-ahead; a cached file is not touched.
    posix_fadvise(entry.buffered.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
    if (options_.mode != ReadMode::direct) {
      entry.cached.emplace(entry.buffered.descriptor(), parts_[i].size_bytes);
    }
    if (options_.mode == ReadMode::buffered) continue;
    entry.direct = DirectFile::open(entry.buffered, options_.mode == ReadMode::direct);
    entry.reads_directly.store(entry.direct.is_open());
    if (!entry.direct.is_open()) give_up_direct(i, entry.direct.refusal());
  }
  set_read_ahead(false);
  check_unchanged();
  if (options_.mode == ReadMode::automatic && !files_.empty()) begin_trial(trial_bytes);
}

void FileSet::begin_trial(std::uint64_t trial_bytes) {
  std::set<std::uint64_t> file_systems;
  std::uint64_t size_bytes = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    struct stat status {};
    if (!files_[i].reads_directly.load()) continue;
    if (fstat(files_[i].buffered.descriptor(), &status) != 0) return;
    file_systems.insert(status.st_dev);
    size_bytes += parts_[i].size_bytes - files_[i].cached->cached_bytes();
  }
  // Of files on different disks one rate says nothing.
  if (size_bytes == 0 || file_systems.size() != 1) return;
  key_.first = *file_systems.begin();
  const std::optional<ReadRates> known = known_.find(key_);
  if (!known && size_bytes / 128 < trial_bytes) return;
  trial_.emplace(std::clamp(size_bytes / 64, trial_bytes, 4 * trial_bytes), known);
}

const DirectFile* FileSet::choose_direct(std::uint32_t file, std::uint64_t offset,
                                         std::uint64_t size_bytes) const {
  const Entry& entry = files_[file];
  if (!entry.reads_directly.load(std::memory_order_relaxed)) return nullptr;
  if (options_.mode == ReadMode::direct) return &entry.direct;
  if (size_bytes < least_direct_bytes || !entry.cached) return nullptr;
  return entry.cached->holds({offset, size_bytes}) ? nullptr : &entry.direct;
}

bool FileSet::is_cold() const {
  std::uint64_t size_bytes = 0;
  std::uint64_t cached_bytes = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    size_bytes += parts_[i].size_bytes;
    if (files_[i].cached) cached_bytes += files_[i].cached->cached_bytes();
  }
  return cached_bytes < size_bytes / 2;
}

std::uint32_t FileSet::choose_regions() const {
  return options_.mode != ReadMode::direct && is_cold() ? 4 : 1;
}

void FileSet::set_read_ahead(bool is_on) {
  const std::lock_guard lock(mutex_);
  reads_ahead_.store(is_on);
  for (const Entry& entry : files_) {
    if (!entry.reads_directly.load()) continue;
    posix_fadvise(entry.buffered.descriptor(), 0, 0,
                  is_on ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
  }
}

ReadTrial::Turn FileSet::choose_way() {
  const ReadTrial::Turn turn = trial_ ? trial_->choose() : ReadTrial::Turn();
  const bool is_buffered = turn.way == ReadWay::buffered;
  // A slower thread may undo it; the next extent puts that right.
  if (reads_ahead_.load(std::memory_order_relaxed) != is_buffered) set_read_ahead(is_buffered);
  return turn;
}

void FileSet::give_up_direct(std::uint32_t file, const std::string& why) {
  files_[file].reads_directly.store(false);
  posix_fadvise(files_[file].buffered.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  note(parts_[file].path.filename().string() + " is read through the page cache: " + why);
}

void FileSet::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  notes_.insert(text);
}

void FileSet::count(std::uint64_t buffered_bytes, std::uint64_t direct_bytes) noexcept {
  buffered_bytes_.fetch_add(buffered_bytes, std::memory_order_relaxed);
  direct_bytes_.fetch_add(direct_bytes, std::memory_order_relaxed);
}

void FileSet::check_unchanged() const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    model::check_unchanged(parts_[i], files_[i].buffered);
  }
}

void FileSet::report(LoadStatistics& statistics) const {
  statistics.buffered_bytes = buffered_bytes_.load();
  statistics.direct_bytes = direct_bytes_.load();
  statistics.read_bytes = statistics.buffered_bytes + statistics.direct_bytes;
  const char* engine = engine_.load();
  statistics.direct_engine = engine != nullptr && statistics.direct_bytes > 0 ? engine : "";
  const std::lock_guard lock(mutex_);
  statistics.read_notes.assign(notes_.begin(), notes_.end());
  const std::optional<ReadRates> rates = trial_ ? trial_->decision() : std::nullopt;
  if (!rates || !trial_->is_used()) return;
  if (trial_->has_measured()) known_.keep(key_, *rates);
  statistics.read_notes.push_back(trial_->text());
}

FileReader::FileReader(FileSet& files, std::function<void()> check,
                       std::unique_ptr<DirectReader> engine)
    : files_(files), check_(std::move(check)), engine_(std::move(engine)) {}

void FileReader::read(std::span<const ReadPart> parts, const OnBytes& on_bytes) {
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t next = first + 1;
    while (next < parts.size() && follows(parts[next], parts[next - 1])) ++next;
    read_extent(parts.subspan(first, next - first), on_bytes);
    first = next;
  }
}

void FileReader::read_extent(std::span<const ReadPart> extent, const OnBytes& on_bytes) {
  const std::uint64_t size_bytes = end_of(extent.back()) - begin_of(extent);
  const DirectFile* direct =
      files_.choose_direct(extent.front().file, begin_of(extent), size_bytes);
  turn_.reset();
  if (direct != nullptr && files_.trial() != nullptr) turn_ = files_.choose_way();
  ReadWay way = turn_ ? turn_->way : ReadWay::parallel;
  if (way == ReadWay::serial && size_bytes < least_serial_bytes) way = ReadWay::parallel;
  if (way == ReadWay::buffered) direct = nullptr;
  if (direct == nullptr || !read_directly(*direct, extent, way)) {
    read_buffered(extent, on_bytes);
  } else if (on_bytes) {
    for (const ReadPart& part : extent) on_bytes(part, 0, part.destination.size());
  }
  if (turn_) files_.trial()->end(*turn_);
}

void FileReader::add_progress(std::uint64_t size_bytes) {
  if (turn_) files_.trial()->progress(*turn_, size_bytes);
}

void FileReader::read_buffered(std::span<const ReadPart> extent, const OnBytes& on_bytes) {
  std::uint64_t total = 0;
  for (const ReadPart& part : extent) {
    const std::uint64_t part_bytes = part.destination.size();
    // Who looks at the bytes finds a step in the processor's own cache, which a slot does not fit.
    const std::uint64_t most_bytes = on_bytes ? step_bytes : part_bytes;
    for (std::uint64_t begin = 0; begin < part_bytes; begin += most_bytes) {
      const std::uint64_t end = std::min(begin + most_bytes, part_bytes);
      for (std::uint64_t done = begin; done < end;) {
        check_();
        const std::uint64_t size_bytes =
            std::min<std::uint64_t>(files_.options().request_bytes, end - done);
        files_.file(part.file).read_at(part.destination.subspan(done, size_bytes),
                                       part.file_offset + done);
        add_progress(size_bytes);
        done += size_bytes;
      }
      if (on_bytes) on_bytes(part, begin, end - begin);
    }
    total += part_bytes;
  }
  files_.count(total, 0);
}

bool FileReader::read_directly(const DirectFile& direct, std::span<const ReadPart> extent,
                               ReadWay way) {
  const std::uint64_t alignment = direct.alignment_bytes();
  const std::uint64_t end = end_of(extent.back());
  const std::uint64_t begin = begin_of(extent) / alignment * alignment;
  const std::uint64_t aligned_end = (end + alignment - 1) / alignment * alignment;
  const DirectReader::Range range{direct.descriptor(), {begin, aligned_end - begin}, end};
  DirectReader& reader =
      way == ReadWay::serial ? static_cast<DirectReader&>(files_.large_reader()) : engine();
  files_.set_engine(reader.name());
  const DirectResult result = reader.read(
      range,
      [&](std::uint64_t offset, std::span<const std::byte> bytes) {
        spread(extent, offset, bytes);
        add_progress(bytes.size());
      },
      check_);
  const std::uint32_t file = extent.front().file;
  if (is_refusal(result.error)) {
    files_.give_up_direct(file, "a direct read: " + std::generic_category().message(result.error));
    return false;
  }
  if (result.error != 0) throw files_.file(file).unreadable(result.read_end, result.error);
  if (!result.reached_wanted) {
    throw files_.file(file).ended_early(result.read_end, end - result.read_end);
  }
  std::uint64_t total = 0;
  for (const ReadPart& part : extent) total += part.destination.size();
  files_.count(0, total);
  return true;
}

DirectReader& FileReader::engine() {
  if (engine_ != nullptr) return *engine_;
  const ReadOptions& options = files_.options();
  if (files_.depth() > 1) {
    std::string why;
    engine_ = make_uring_reader(files_.depth(), options.direct_request_bytes, why);
    if (engine_ == nullptr) files_.note("one direct read at a time in each reader: " + why);
  }
  if (engine_ == nullptr) engine_ = make_pread_reader(options.direct_request_bytes);
  return *engine_;
}

}  // namespace hiptool::load
