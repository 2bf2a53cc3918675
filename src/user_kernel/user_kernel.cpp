// SPDX-License-Identifier: MIT
#include "user_kernel/user_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"
#include "user_kernel/cache_flush.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr const char* run_operation = "run kernel";

/// Everything that a launched kernel uses, and its run.
struct Running {
  Running(const Kernel& launched, const UserKernelRun& given, std::uint64_t repeat,
          const std::shared_ptr<CacheFlush>& cache)
      : kernel(launched),
        run(given),
        stream(kernel.device()),
        arguments(kernel.device(), run.arguments, stream, run.seed, repeat),
        timer(stream),
        flush(cache) {}

  Kernel kernel;
  const UserKernelRun& run;
  Stream stream;
  DeviceArguments arguments;
  KernelTimer timer;
  std::shared_ptr<CacheFlush> flush;  ///< none: caches are warm
};

/// Keeps it to the end of the process: nothing can stop its kernel, and releasing the memory that
/// it uses would wait for it.
void leave_behind(std::unique_ptr<Running> running) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Running>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(running));
}

/// False if it was cancelled first.
bool wait_for(const Stream& stream, const CancelToken* cancel) {
  constexpr std::chrono::microseconds longest_pause{5000};
  std::chrono::microseconds pause{20};
  while (!stream.is_done()) {
    if (cancel != nullptr && cancel->is_cancelled()) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
  return true;
}

/// The seconds; absent if it was cancelled and the kernel still runs.
std::optional<double> timed_launch(Running& running, const std::function<void()>& meanwhile) {
  if (running.flush) {
    running.flush->queue(running.stream);
    running.stream.synchronize();  // a timer of the host would count it
  }
  running.timer.start();
  launch_with_addresses(running.kernel, running.run.config, running.stream,
                        running.arguments.addresses());
  running.timer.stop();
  if (meanwhile) meanwhile();
  if (!wait_for(running.stream, running.run.cancel)) return std::nullopt;
  const double elapsed_s = running.timer.elapsed_s();
  running.stream.synchronize();  // throws the error of the kernel
  return elapsed_s;
}

void check(const UserKernelRun& run, const DeviceArguments& arguments, UserKernelResult& result) {
  for (const BufferContents& expected : run.expected) {
    const KernelArgument& argument = run.arguments[expected.argument];
    const std::vector<std::byte> got = arguments.read(expected.argument);
    BufferComparison found = compare_buffer(argument.type, got, expected.bytes, run.tolerance);
    result.checked += argument.count;
    result.refused_zeros += found.refused_zeros;
    if (found.max_error) {
      result.max_error = std::max(result.max_error.value_or(0), *found.max_error);
    }
    if (!found.wrong || result.wrong) continue;
    result.wrong = found.wrong;
    result.wrong->argument = expected.argument;
    result.wrong->reread_agrees = arguments.read(expected.argument) == got;
  }
  result.outside = arguments.find_outside_writes();
}

/// What the first repeat left in the buffers, compared with what the others leave.
class Repeats {
 public:
  Repeats(const UserKernelRun& run, const DeviceArguments& arguments) : run_(run) {
    for (std::size_t i = 0; i < run.arguments.size(); ++i) {
      const KernelArgument& argument = run.arguments[i];
      first_.push_back(argument.is_buffer ? arguments.read(i) : std::vector<std::byte>());
      untouched_.push_back(argument.is_poison ? untouched(i, first_[i], arguments.contents(i))
                                              : std::vector<bool>());
    }
  }

  /// Notes the first difference.
  void compare(std::uint64_t repeat, const DeviceArguments& arguments, UserKernelResult& result) {
    for (std::size_t i = 0; i < run_.arguments.size(); ++i) {
      const KernelArgument& argument = run_.arguments[i];
      if (!argument.is_buffer) continue;
      const std::vector<std::byte> got = arguments.read(i);
      std::vector<bool> both(argument.count);
      if (argument.is_poison) {
        both = untouched(i, got, arguments.contents(i));
        for (std::size_t j = 0; j < both.size(); ++j) both[j] = both[j] && untouched_[i][j];
        untouched_[i] = both;
      }
      if (!result.difference) note_difference(repeat, i, got, both, result);
    }
  }

  void finish(UserKernelResult& result) {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < run_.arguments.size(); ++i) {
      Unwritten unwritten;
      unwritten.argument = i;
      const std::size_t size = size_bytes(run_.arguments[i].type);
      for (std::size_t j = 0; j < untouched_[i].size(); ++j) {
        if (!untouched_[i][j]) continue;
        if (unwritten.count++ == 0) unwritten.first_index = j;
        std::memset(first_[i].data() + j * size, 0, size);
      }
      if (unwritten.count > 0) result.unwritten.push_back(unwritten);
      all.insert(all.end(), first_[i].begin(), first_[i].end());
    }
    result.digest = base::xxh3_64(all.data(), all.size());
  }

 private:
  /// Which elements still have their poison.
  std::vector<bool> untouched(std::size_t argument, std::span<const std::byte> got,
                              std::span<const std::byte> poison) const {
    const std::size_t size = size_bytes(run_.arguments[argument].type);
    std::vector<bool> marks(run_.arguments[argument].count);
    for (std::size_t j = 0; j < marks.size(); ++j) {
      marks[j] = std::memcmp(got.data() + j * size, poison.data() + j * size, size) == 0;
    }
    return marks;
  }

  void note_difference(std::uint64_t repeat, std::size_t argument, std::span<const std::byte> got,
                       const std::vector<bool>& is_left_out, UserKernelResult& result) const {
    const ElementType type = run_.arguments[argument].type;
    const std::size_t size = size_bytes(type);
    for (std::size_t j = 0; j < is_left_out.size(); ++j) {
      const auto one = got.subspan(j * size, size);
      const auto other = std::span(first_[argument]).subspan(j * size, size);
      if (is_left_out[j] || std::ranges::equal(one, other)) continue;
      if (!result.difference) {
        result.difference.emplace();
        result.difference->repeat = repeat;
        WrongData& wrong = result.difference->wrong;
        wrong.argument = argument;
        wrong.first_index = j;
        wrong.expected = value_of(type, other);
        wrong.got = value_of(type, one);
        wrong.xor_bits = bits_of(type, one) ^ bits_of(type, other);
      }
      ++result.difference->wrong.count;
    }
  }

  const UserKernelRun& run_;
  std::vector<std::vector<std::byte>> first_;
  std::vector<std::vector<bool>> untouched_;
};

/// The next repeat, in other memory than the one before where there is enough.
std::unique_ptr<Running> next_repeat(std::unique_ptr<Running> before, std::uint64_t repeat) {
  const Kernel kernel = before->kernel;
  const UserKernelRun& run = before->run;
  const std::shared_ptr<CacheFlush> flush = before->flush;
  try {
    return std::make_unique<Running>(kernel, run, repeat, flush);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  before.reset();
  return std::make_unique<Running>(kernel, run, repeat, flush);
}

}  // namespace

UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run,
                                 const ThrottleQuestion& throttled) {
  if (run.cancel != nullptr) run.cancel->throw_if_cancelled(run_operation);
  const auto flush = run.is_cold ? std::make_shared<CacheFlush>(kernel.device()) : nullptr;
  auto running = std::make_unique<Running>(kernel, run, 0, flush);
  UserKernelResult result;
  std::optional<std::string> reason;
  if (throttled) reason.emplace();
  const auto is_cancelled = [&run] { return run.cancel != nullptr && run.cancel->is_cancelled(); };
  // Absent if it was cancelled while the kernel ran; then nothing further can be launched.
  const auto launch_once = [&] {
    const auto elapsed_s = timed_launch(*running, [&] {
      if (reason) reason = throttled();
    });
    if (!elapsed_s) leave_behind(std::move(running));
    return elapsed_s;
  };
  const auto add_sample = [&](double elapsed_s) {
    result.samples_s.push_back(elapsed_s);
    if (reason) {
      result.throttle_reasons.push_back(*reason);
    } else {
      result.throttle_reasons.clear();
    }
  };
  result.is_device_time = running->timer.is_device_time();
  result.flush_bytes = flush ? flush->size_bytes() : 0;
  const auto first_s = launch_once();
  if (!first_s) {
    throw Error(ErrorCode::cancelled, run_operation, "run kernel: cancelled while the kernel ran");
  }
  if (run.samples == 1) add_sample(*first_s);
  check(run, running->arguments, result);
  for (const std::size_t argument : run.outputs) {
    result.outputs.push_back({argument, running->arguments.read(argument)});
  }
  if (run.repeats > 1) {
    Repeats repeats(run, running->arguments);
    while (result.repeats < run.repeats && !is_cancelled()) {
      running = next_repeat(std::move(running), result.repeats);
      if (!launch_once()) break;
      repeats.compare(result.repeats++, running->arguments, result);
    }
    if (result.repeats > 1) repeats.finish(result);
  }
  while (result.samples_s.size() < run.samples && !is_cancelled()) {
    running->arguments.fill();
    const auto elapsed_s = launch_once();
    if (!elapsed_s) break;
    add_sample(*elapsed_s);
  }
  result.was_interrupted = result.samples_s.size() < run.samples || result.repeats < run.repeats;
  return result;
}

}  // namespace hiptool::user_kernel
