// SPDX-License-Identifier: MIT
#include "load/read/second_reader.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/timeline_scope.hpp"
#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/workers.hpp"
#include "model/parts.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint32_t most_reading_threads = 64;
constexpr std::uint32_t all_threads = std::numeric_limits<std::uint32_t>::max();

// A page of its own, so that no load of a hash crosses a cache line. It stays in a core's
// second-level cache between reading and hashing.
class PieceBuffer {
 public:
  PieceBuffer() : bytes_(new (alignment) std::byte[size_bytes]) {}
  ~PieceBuffer() { ::operator delete[](bytes_, alignment); }
  PieceBuffer(const PieceBuffer&) = delete;
  PieceBuffer& operator=(const PieceBuffer&) = delete;

  std::span<std::byte> bytes() const { return {bytes_, size_bytes}; }

 private:
  static constexpr std::align_val_t alignment{4096};
  static constexpr std::size_t size_bytes = 16 * block_bytes;
  std::byte* bytes_;
};

}  // namespace

SecondReader::SecondReader(const ModelFile& model, const Options& options)
    : model_(model), options_(options), files_(model::open_unchanged(model)), limit_(all_threads) {
  if (options_.threads == 0) options_.threads = choose_threads(1, most_reading_threads, 1);
}

SecondReader::~SecondReader() {
  is_given_up_.store(true);
  wake();
  if (done_.valid()) done_.wait();
}

void SecondReader::start(std::vector<Job> jobs, Work work) {
  jobs_ = std::move(jobs);
  work_ = std::move(work);
  for (const Job& job : jobs_) total_bytes_ += job.size_bytes;
  try {
    done_ = std::async(std::launch::async, [this] { run(); }).share();
  } catch (const std::system_error&) {
    throw Error(ErrorCode::host_out_of_memory, "start thread",
                "the system refuses to start a thread", "raise the limit with `ulimit -u`");
  }
}

void SecondReader::limit_threads(std::uint32_t threads) {
  set_limit(threads != 0 ? threads : choose_threads(1, most_reading_threads, 2));
}

void SecondReader::finish() {
  set_limit(all_threads);
  done_.get();
}

bool SecondReader::wait_for(std::chrono::milliseconds time) const {
  return done_.wait_for(time) == std::future_status::ready;
}

SecondReader::Statistics SecondReader::statistics() const {
  auto duration = duration_.load();
  if (duration == Clock::duration::zero()) duration = Clock::now() - start_;
  return {bytes_.load(), total_bytes_, std::chrono::duration<double>(duration).count()};
}

bool SecondReader::goes_on() const {
  if (is_given_up_.load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::cancelled, options_.operation, "the reading was given up");
  }
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled(options_.operation);
  return !is_failed_.load();
}

bool SecondReader::read(std::uint32_t file, const base::ByteRange& range,
                        std::span<std::byte> buffer,
                        const std::function<void(std::span<const std::byte>)>& visit) {
  for (std::uint64_t done = 0; done < range.size_bytes;) {
    if (!goes_on()) return false;
    const auto piece =
        buffer.first(std::min<std::uint64_t>(buffer.size(), range.size_bytes - done));
    files_[file].read_at(piece, range.offset + done);
    visit(piece);
    done += piece.size();
    add_bytes(piece.size());
  }
  return true;
}

void SecondReader::run() {
  const auto threads =
      static_cast<std::uint32_t>(std::min<std::size_t>(options_.threads, jobs_.size()));
  run_workers(threads, [this](std::uint32_t index, const std::atomic<bool>&) {
    try {
      work_on_thread(index);
    } catch (...) {
      is_failed_.store(true);
      wake();
      throw;
    }
    wake();
  });
  goes_on();
  // A change after this is a change after the model was verified.
  model::check_unchanged(model_, files_);
  duration_.store(Clock::now() - start_);
}

void SecondReader::work_on_thread(std::uint32_t index) {
  const PieceBuffer buffer;
  std::uint32_t track = 0;
  if (options_.timeline != nullptr) {
    track = options_.timeline->add_track(options_.track + (" " + std::to_string(index)));
  }
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      limit_changed_.wait(lock, [&] { return index < limit_ || is_over(); });
    }
    const std::size_t number = next_job_++;
    if (number >= jobs_.size() || is_failed_.load()) return;
    const Job& job = jobs_[number];
    const base::TimelineScope scope(options_.timeline, track, job.name, job.size_bytes);
    work_(number, buffer.bytes());
  }
}

void SecondReader::set_limit(std::uint32_t threads) {
  {
    const std::lock_guard lock(mutex_);
    limit_ = threads;
  }
  limit_changed_.notify_all();
}

// What the pausing threads look at has changed, and not under the lock.
void SecondReader::wake() {
  { const std::lock_guard lock(mutex_); }
  limit_changed_.notify_all();
}

bool SecondReader::is_over() const {
  return next_job_.load() >= jobs_.size() || is_failed_.load() || is_given_up_.load();
}

}  // namespace hiptool::load
