// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <span>
#include <vector>

#include "base/byte_range.hpp"
#include "base/file.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool::load {

/// Reads the files of a model again, independent of the loader: opens them again and runs jobs on
/// threads of its own. The model must outlive it.
class SecondReader {
 public:
  struct Options {
    const char* operation = "verify";  ///< named by Error(cancelled)
    const char* track = "digest";      ///< of each thread in the timeline, with its number
    std::uint32_t threads = 0;         ///< 0: one for each core this process may use
    const CancelToken* cancel = nullptr;
    Timeline* timeline = nullptr;
  };
  struct Job {
    const char* name;  ///< in the timeline
    std::uint64_t size_bytes;
  };
  struct Statistics {
    std::uint64_t bytes = 0;        ///< read so far
    std::uint64_t total_bytes = 0;  ///< to be read
    double duration_s = 0;          ///< from the start to the last of them, or until now
  };
  /// Runs on several threads, with a buffer of whole blocks that belongs to the thread.
  using Work = std::function<void(std::size_t job, std::span<std::byte> buffer)>;

  /// Throws Error(input_failed) where a file cannot be opened or has changed since it was parsed.
  SecondReader(const ModelFile& model, const Options& options);
  /// Gives up the rest; waits for running read calls.
  ~SecondReader();
  SecondReader(const SecondReader&) = delete;
  SecondReader& operator=(const SecondReader&) = delete;

  /// Once: starts the jobs in their order. Throws Error(host_out_of_memory) where no thread can be
  /// started. Does not block.
  void start(std::vector<Job> jobs, Work work);

  /// From now on at most that many threads run (0: half of the cores); those above it pause after
  /// their job. From any thread; does not block.
  void limit_threads(std::uint32_t threads);
  /// Lets all threads run and waits. Throws the first exception of a job, Error(input_failed) where
  /// a file was changed meanwhile, Error(cancelled) by the token.
  void finish();
  /// False where there is still something to read after that time.
  bool wait_for(std::chrono::milliseconds time) const;
  Statistics statistics() const;

  /// For jobs: whether to go on, false where another one failed. Throws Error(cancelled).
  bool goes_on() const;
  /// For jobs: passes the bytes of a range of a file to `visit`, in pieces of the buffer's size.
  /// False where another job failed before the end.
  bool read(std::uint32_t file, const base::ByteRange& range, std::span<std::byte> buffer,
            const std::function<void(std::span<const std::byte>)>& visit);
  /// For jobs that read a file themselves, and add what they have read.
  const base::File& file(std::uint32_t index) const { return files_[index]; }
  void add_bytes(std::uint64_t size_bytes) { bytes_.fetch_add(size_bytes); }

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void work_on_thread(std::uint32_t index);
  void set_limit(std::uint32_t threads);
  void wake();
  bool is_over() const;

  const ModelFile& model_;
  Options options_;
  std::vector<base::File> files_;
  std::vector<Job> jobs_;
  Work work_;
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::size_t> next_job_{0};
  std::atomic<std::uint64_t> bytes_{0};
  Clock::time_point start_ = Clock::now();
  std::atomic<Clock::duration> duration_{Clock::duration::zero()};  // zero: not done yet
  std::atomic<bool> is_given_up_{false};
  std::atomic<bool> is_failed_{false};
  std::mutex mutex_;
  std::condition_variable limit_changed_;
  std::uint32_t limit_;
  std::shared_future<void> done_;  // last: its threads use the others
};

}  // namespace hiptool::load
