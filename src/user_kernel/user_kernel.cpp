// SPDX-License-Identifier: MIT
#include "user_kernel/user_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr const char* run_operation = "run kernel";
constexpr std::size_t guard_bytes = 4096;  // a multiple of every alignment of memory

/// The contents before and after each buffer. No two consecutive bytes are equal, so that hardly
/// any write leaves them unchanged.
std::vector<std::byte> make_guard() {
  std::vector<std::byte> guard(guard_bytes);
  for (std::size_t i = 0; i < guard.size(); ++i) guard[i] = static_cast<std::byte>(0xa5 + 37 * i);
  return guard;
}

/// The buffers of one run, with guards before and after each, and the argument values of a launch.
class DeviceArguments {
 public:
  DeviceArguments(const Device& device, const std::vector<KernelArgument>& given,
                  const StreamRef& stream)
      : given_(given),
        stream_(stream),
        guard_(make_guard()),
        values_(given.size()),
        guarded_(given.size()) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].is_buffer) {
        guarded_[i] = Buffer(device, given[i].bytes.size() + 2 * guard_bytes);
        void* const address = buffer(i).address();
        values_[i].resize(1);
        std::memcpy(values_[i].data(), &address, sizeof(address));
      } else {
        values_[i].resize((given[i].bytes.size() + sizeof(Aligned) - 1) / sizeof(Aligned));
        std::memcpy(values_[i].data(), given[i].bytes.data(), given[i].bytes.size());
      }
      addresses_.push_back(values_[i].data());
    }
    fill();
  }
  DeviceArguments(const DeviceArguments&) = delete;
  DeviceArguments& operator=(const DeviceArguments&) = delete;

  void fill() const {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i].is_buffer) continue;
      copy_h2d(before(i), guard_, stream_);
      copy_h2d(buffer(i), given_[i].bytes, stream_);
      copy_h2d(behind(i), guard_, stream_);
    }
    stream_.synchronize();
  }

  std::vector<std::byte> read(std::size_t argument) const { return read(buffer(argument)); }

  /// Counts the changed bytes of the guards.
  std::vector<OutsideWrite> find_outside_writes() const {
    std::vector<OutsideWrite> found;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i].is_buffer) continue;
      OutsideWrite write;
      write.argument = i;
      write.before_bytes = changed_bytes(read(before(i)));
      write.behind_bytes = changed_bytes(read(behind(i)));
      if (write.before_bytes + write.behind_bytes > 0) found.push_back(write);
    }
    return found;
  }

  std::span<void* const> addresses() const { return addresses_; }

 private:
  Buffer before(std::size_t i) const { return guarded_[i].view(0, guard_bytes); }
  Buffer buffer(std::size_t i) const {
    return guarded_[i].view(guard_bytes, given_[i].bytes.size());
  }
  Buffer behind(std::size_t i) const {
    return guarded_[i].view(guard_bytes + given_[i].bytes.size(), guard_bytes);
  }

  std::vector<std::byte> read(const Buffer& from) const {
    std::vector<std::byte> bytes(from.size_bytes());
    copy_d2h(bytes, from, stream_);
    stream_.synchronize();
    return bytes;
  }

  std::uint64_t changed_bytes(const std::vector<std::byte>& read_back) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < guard_.size(); ++i) count += read_back[i] != guard_[i] ? 1u : 0u;
    return count;
  }

  /// The largest alignment of a type that kernels take.
  struct alignas(16) Aligned {
    std::byte bytes[16];
  };

  const std::vector<KernelArgument>& given_;
  StreamRef stream_;
  std::vector<std::byte> guard_;
  std::vector<std::vector<Aligned>> values_;
  std::vector<Buffer> guarded_;
  std::vector<void*> addresses_;
};

/// Everything that a launched kernel uses, and its run.
struct Running {
  Running(const Kernel& launched, const UserKernelRun& given)
      : kernel(launched),
        run(given),
        stream(kernel.device()),
        arguments(kernel.device(), run.arguments, stream),
        timer(stream) {}

  Kernel kernel;
  const UserKernelRun& run;
  Stream stream;
  DeviceArguments arguments;
  KernelTimer timer;
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
std::optional<double> timed_launch(Running& running) {
  running.timer.start();
  launch_with_addresses(running.kernel, running.run.config, running.stream,
                        running.arguments.addresses());
  running.timer.stop();
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

bool is_within(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

}  // namespace

BufferComparison compare_buffer(ElementType type, std::span<const std::byte> got,
                                std::span<const std::byte> expected,
                                std::optional<double> tolerance) {
  BufferComparison found;
  const std::size_t size = size_bytes(type);
  if (is_real(type)) found.max_error = 0;
  for (std::size_t i = 0; i < got.size() / size; ++i) {
    const auto one = got.subspan(i * size, size);
    const auto other = expected.subspan(i * size, size);
    const std::uint64_t bits = bits_of(type, one) ^ bits_of(type, other);
    if (bits == 0) continue;
    bool is_right = false;
    if (is_real(type)) {
      const double error = std::abs(real_of(type, one) - real_of(type, other));
      if (std::isfinite(error)) found.max_error = std::max(*found.max_error, error);
      is_right = tolerance && is_within(real_of(type, one), real_of(type, other), *tolerance);
    }
    if (is_right) continue;
    if (!found.wrong) {
      found.wrong.emplace();
      found.wrong->first_index = i;
      found.wrong->expected = value_of(type, other);
      found.wrong->got = value_of(type, one);
      found.wrong->xor_bits = bits;
    }
    ++found.wrong->count;
  }
  return found;
}

UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run) {
  auto running = std::make_unique<Running>(kernel, run);
  const auto launch_once = [&running] {
    const auto elapsed_s = timed_launch(*running);
    if (elapsed_s) return *elapsed_s;
    leave_behind(std::move(running));
    throw Error(ErrorCode::cancelled, run_operation, "run kernel: cancelled while the kernel ran");
  };
  UserKernelResult result;
  result.is_device_time = running->timer.is_device_time();
  const double first_s = launch_once();
  check(run, running->arguments, result);
  for (const std::size_t argument : run.outputs) {
    result.outputs.push_back({argument, running->arguments.read(argument)});
  }
  if (run.samples == 1) result.samples_s.push_back(first_s);
  while (result.samples_s.size() < run.samples) {
    if (run.cancel != nullptr) run.cancel->throw_if_cancelled(run_operation);
    running->arguments.fill();
    result.samples_s.push_back(launch_once());
  }
  return result;
}

}  // namespace hiptool::user_kernel
