// SPDX-License-Identifier: MIT
#include "measure/user_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/kernel_timer.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::measure {
namespace {

/// The buffers of one run on its device, and the argument values that a launch takes.
class DeviceArguments {
 public:
  DeviceArguments(const Device& device, const std::vector<KernelArgument>& given,
                  const StreamRef& stream)
      : given_(given), stream_(stream), values_(given.size()), buffers_(given.size()) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].is_buffer) {
        buffers_[i] = Buffer(device, given[i].bytes.size());
        void* const address = buffers_[i].address();
        std::memcpy(&values_[i], &address, sizeof(address));
      } else {
        std::memcpy(&values_[i], given[i].bytes.data(), given[i].bytes.size());
      }
      addresses_.push_back(&values_[i]);
    }
    fill();
  }
  DeviceArguments(const DeviceArguments&) = delete;
  DeviceArguments& operator=(const DeviceArguments&) = delete;

  void fill() const {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].is_buffer) copy_h2d(buffers_[i], given_[i].bytes, stream_);
    }
    stream_.synchronize();
  }

  std::vector<std::byte> read(std::size_t argument) const {
    std::vector<std::byte> bytes(given_[argument].bytes.size());
    copy_d2h(bytes, buffers_[argument], stream_);
    stream_.synchronize();
    return bytes;
  }

  std::span<void* const> addresses() const { return addresses_; }

 private:
  const std::vector<KernelArgument>& given_;
  const StreamRef& stream_;
  std::vector<std::uint64_t> values_;  ///< large enough for every type
  std::vector<Buffer> buffers_;
  std::vector<void*> addresses_;
};

double timed_launch(const Kernel& kernel, const UserKernelRun& run, const StreamRef& stream,
                    const DeviceArguments& arguments, KernelTimer& timer) {
  timer.start();
  launch_with_addresses(kernel, run.config, stream, arguments.addresses());
  timer.stop();
  const double elapsed_s = timer.elapsed_s();
  stream.synchronize();  // what the kernel failed with is thrown here
  return elapsed_s;
}

void check(const UserKernelRun& run, const DeviceArguments& arguments, UserKernelResult& result) {
  for (const ExpectedBuffer& expected : run.expected) {
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
      found.wrong->first_bad_index = i;
      found.wrong->expected = value_of(type, other);
      found.wrong->got = value_of(type, one);
      found.wrong->xor_bits = bits;
    }
    ++found.wrong->count;
  }
  return found;
}

UserKernelResult run_user_kernel(const Kernel& kernel, const UserKernelRun& run) {
  const Stream stream(kernel.device());
  const DeviceArguments arguments(kernel.device(), run.arguments, stream);
  KernelTimer timer(stream);
  UserKernelResult result;
  result.is_device_time = timer.is_device_time();
  const double first_s = timed_launch(kernel, run, stream, arguments, timer);
  check(run, arguments, result);
  for (const std::size_t argument : run.outputs) {
    result.outputs.push_back({argument, arguments.read(argument)});
  }
  if (run.samples == 1) result.samples_s.push_back(first_s);
  while (result.samples_s.size() < run.samples) {
    if (run.cancel != nullptr) run.cancel->throw_if_cancelled("run kernel");
    arguments.fill();
    result.samples_s.push_back(timed_launch(kernel, run, stream, arguments, timer));
  }
  return result;
}

}  // namespace hiptool::measure
