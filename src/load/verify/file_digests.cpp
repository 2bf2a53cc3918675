// SPDX-License-Identifier: MIT
#include "load/verify/file_digests.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_chain.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t most_threads = 64;
constexpr std::uint32_t all_threads = std::numeric_limits<std::uint32_t>::max();
// Stays in a core's second-level cache between reading and hashing.
constexpr std::uint64_t piece_bytes = 16 * block_bytes;
// What a thread takes at a time.
constexpr std::uint64_t range_bytes = 512 * block_bytes;

// A page of its own, so that no load of the hash crosses a cache line.
class PieceBuffer {
 public:
  PieceBuffer() : bytes_(new (alignment) std::byte[piece_bytes]) {}
  ~PieceBuffer() { ::operator delete[](bytes_, alignment); }
  PieceBuffer(const PieceBuffer&) = delete;
  PieceBuffer& operator=(const PieceBuffer&) = delete;

  std::span<std::byte> first(std::uint64_t size_bytes) const { return {bytes_, size_bytes}; }

 private:
  static constexpr std::align_val_t alignment{4096};
  std::byte* bytes_;
};

}  // namespace

struct FileDigests::Impl {
  const ModelFile& model;
  Options options;
  BlockMap blocks;
  std::vector<std::uint32_t> hashed_files;  // each is read as a whole; they are taken first
  std::vector<BlockRange> ranges;           // of the tensors in other files
  std::vector<base::File> files;
  std::vector<std::uint64_t> digests;
  std::vector<std::string> hashes;  // by file
  std::uint64_t total_bytes = 0;
  std::atomic<std::size_t> next{0};  // of hashed_files, then of ranges
  std::atomic<std::uint64_t> bytes{0};
  Clock::time_point start = Clock::now();
  std::atomic<Clock::duration> last{Clock::duration::zero()};  // zero: not done yet
  std::atomic<bool> is_given_up{false};
  std::atomic<bool> is_failed{false};
  std::mutex mutex;
  std::condition_variable limit_changed;
  std::uint32_t limit = all_threads;
  std::shared_future<void> done;  // last: its threads use the others

  Impl(const ModelFile& of, const Options& chosen)
      : model(of), options(chosen), blocks(of), digests(blocks.count()), hashes(of.files().size()) {
    divide();
    for (const ModelPart& part : model.files()) files.push_back(base::File::open(part.path));
    check_unchanged();
    if (options.threads == 0) options.threads = choose_threads(1, most_threads, 1);
    try {
      done = std::async(std::launch::async, [this] { run(); }).share();
    } catch (const std::system_error&) {
      throw Error(ErrorCode::host_out_of_memory, "start thread",
                  "the system refuses to start a thread", "raise the limit with `ulimit -u`");
    }
  }

  ~Impl() {
    is_given_up.store(true);
    wake();
    done.wait();
  }

  void set_limit(std::uint32_t threads) {
    {
      const std::lock_guard lock(mutex);
      limit = threads;
    }
    limit_changed.notify_all();
  }

  // What the pausing threads look at has changed, and not under the lock.
  void wake() {
    { const std::lock_guard lock(mutex); }
    limit_changed.notify_all();
  }

  // The largest file first: it decides when the last is done.
  void divide() {
    hashed_files = options.sha256_of;
    std::vector<bool> is_hashed(model.files().size());
    for (const std::uint32_t file : hashed_files) {
      if (file >= is_hashed.size() || is_hashed[file]) {
        throw Error(ErrorCode::out_of_bounds, "verify",
                    "file " + std::to_string(file) + " is not in the model or is given twice");
      }
      is_hashed[file] = true;
      total_bytes += model.files()[file].size_bytes;
    }
    std::sort(hashed_files.begin(), hashed_files.end(),
              [&](std::uint32_t left, std::uint32_t right) {
                return model.files()[left].size_bytes > model.files()[right].size_bytes;
              });
    for (const BlockRange& range : cut_block_ranges(model, range_bytes)) {
      if (is_hashed[model.tensors()[range.tensor].file]) continue;
      ranges.push_back(range);
      total_bytes += range.bytes.size_bytes;
    }
  }

  std::size_t job_count() const { return hashed_files.size() + ranges.size(); }

  bool is_over() const {
    return next.load() >= job_count() || is_failed.load() || is_given_up.load();
  }

  void check_unchanged() const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      files[i].check_unchanged(model.files()[i].size_bytes,
                               {model.files()[i].modified_ns, model.files()[i].changed_ns});
    }
  }

  void run() {
    const auto threads =
        static_cast<std::uint32_t>(std::min<std::size_t>(options.threads, job_count()));
    run_workers(threads, [this](std::uint32_t index, const std::atomic<bool>&) {
      try {
        work(index);
      } catch (...) {
        is_failed.store(true);
        wake();
        throw;
      }
      wake();
    });
    throw_if_given_up();
    // A change after this is a change after the model was verified.
    check_unchanged();
    last.store(Clock::now() - start);
  }

  void work(std::uint32_t index) {
    const PieceBuffer buffer;
    std::uint32_t track = 0;
    if (options.timeline != nullptr) {
      track = options.timeline->add_track("digest " + std::to_string(index));
    }
    for (;;) {
      {
        std::unique_lock lock(mutex);
        limit_changed.wait(lock, [&] { return index < limit || is_over(); });
      }
      const std::size_t place = next++;
      if (place >= job_count() || is_failed.load()) return;
      if (place < hashed_files.size()) {
        const std::uint32_t file = hashed_files[place];
        const TimelineScope scope(options.timeline, track, "read, hash and digest",
                                  model.files()[file].size_bytes);
        hash_file(file);
        continue;
      }
      const BlockRange& range = ranges[place - hashed_files.size()];
      const TimelineScope scope(options.timeline, track, "read and digest", range.bytes.size_bytes);
      digest_range(range, buffer);
    }
  }

  void hash_file(std::uint32_t file) {
    std::vector<FileChain::Tensor> tensors;
    for (std::size_t i = 0; i < model.tensors().size(); ++i) {
      const TensorInfo& tensor = model.tensors()[i];
      if (tensor.file != file) continue;
      tensors.push_back({{tensor.file_offset, tensor.size_bytes}, blocks.first[i]});
    }
    FileChain chain(std::move(tensors), model.files()[file].size_bytes);
    while (!is_failed.load()) {
      throw_if_given_up();
      const std::uint64_t read = chain.read_next(files[file], digests);
      if (read == 0) break;
      bytes.fetch_add(read, std::memory_order_relaxed);
    }
    hashes[file] = chain.sha256();
  }

  void digest_range(const BlockRange& range, const PieceBuffer& buffer) {
    const TensorInfo& tensor = model.tensors()[range.tensor];
    std::uint64_t block = blocks.first[range.tensor] + range.bytes.offset / block_bytes;
    for (std::uint64_t at = 0; at < range.bytes.size_bytes && !is_failed.load();
         at += piece_bytes) {
      throw_if_given_up();
      const auto piece = buffer.first(std::min(piece_bytes, range.bytes.size_bytes - at));
      files[tensor.file].read_at(piece, tensor.file_offset + range.bytes.offset + at);
      for (std::uint64_t done_bytes = 0; done_bytes < piece.size(); done_bytes += block_bytes) {
        const auto size = std::min<std::uint64_t>(block_bytes, piece.size() - done_bytes);
        digests[block++] = block_digest(piece.subspan(done_bytes, size));
      }
      bytes.fetch_add(piece.size(), std::memory_order_relaxed);
    }
  }

  void throw_if_given_up() const {
    if (is_given_up.load(std::memory_order_relaxed)) {
      throw Error(ErrorCode::cancelled, "verify", "verify was given up");
    }
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("verify");
  }
};

FileDigests::FileDigests(const ModelFile& model) : FileDigests(model, Options{}) {}

FileDigests::FileDigests(const ModelFile& model, const Options& options)
    : impl_(std::make_unique<Impl>(model, options)) {}

FileDigests::~FileDigests() = default;

void FileDigests::limit_threads(std::uint32_t threads) {
  if (threads == 0) {
    threads = choose_threads(1, most_threads, 2);
  }
  impl_->set_limit(threads);
}

const std::vector<std::uint64_t>& FileDigests::get() {
  impl_->set_limit(all_threads);
  impl_->done.get();
  return impl_->digests;
}

const std::vector<std::string>& FileDigests::sha256() {
  get();
  return impl_->hashes;
}

bool FileDigests::wait_for(std::chrono::milliseconds time) const {
  return impl_->done.wait_for(time) == std::future_status::ready;
}

FileDigests::Statistics FileDigests::statistics() const {
  auto duration = impl_->last.load();
  if (duration == Clock::duration::zero()) duration = Clock::now() - impl_->start;
  return {impl_->bytes.load(), impl_->total_bytes, std::chrono::duration<double>(duration).count()};
}

}  // namespace hiptool::load
