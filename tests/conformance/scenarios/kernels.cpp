// SPDX-License-Identifier: MIT
#include "hiptool/kernel.hpp"

#include <atomic>
#include <cstring>
#include <optional>

#include "hiptool/copy.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "sanitized.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::scenarios {
namespace {

using kernel_store::KernelLoader;

constexpr std::uint64_t count = 10'001;
// A thread of a block costs 30 us under the thread sanitizer.
constexpr LaunchConfig config{{test::is_thread_sanitized ? 2 : 16}, {256}};

Bytes words(std::uint32_t value, std::size_t words_count) {
  const std::vector<std::uint32_t> filled(words_count, value);
  Bytes bytes(words_count * sizeof value);
  std::memcpy(bytes.data(), filled.data(), bytes.size());
  return bytes;
}

Kernel fill_kernel(const Device& device) { return KernelLoader(device).kernel("hiptool_fill_u32"); }

/// A kernel that holds its stream until the flag is set, at the latest when this goes.
class KernelGate {
 public:
  KernelGate(const Kernel& kernel, const StreamRef& stream, PinnedBuffer& memory)
      : flag_(*reinterpret_cast<std::uint32_t*>(memory.data())) {
    set(0);
    // Some seconds on a busy processor; a device that reads over its bus ends with the process.
    constexpr std::uint64_t spins = 4'000'000'000;
    launch(kernel, {{1}, {1}}, stream, static_cast<void*>(memory.data()), spins);
  }
  ~KernelGate() { open(); }
  KernelGate(const KernelGate&) = delete;
  KernelGate& operator=(const KernelGate&) = delete;

  void open() { set(1); }

 private:
  void set(std::uint32_t value) { std::atomic_ref(flag_).store(value); }

  std::uint32_t& flag_;
};

}  // namespace

void a_kernel_fills(const Place& place) {
  const Kernel kernel = fill_kernel(place.device());
  Buffer buffer(place.device(), (count + 2) * 4);
  const Stream stream(place.device());
  for (const std::uint64_t part : {std::uint64_t{1}, std::uint64_t{255}, count}) {
    fill(buffer, std::byte{0x11}, stream);
    launch(kernel, config, stream, buffer.view(4, count * 4), part, std::uint32_t{0xDEADBEEF});
    stream.synchronize();
    Bytes expected = words(0x11111111, count + 2);
    const Bytes filled = words(0xDEADBEEF, part);
    std::memcpy(expected.data() + 4, filled.data(), filled.size());
    expect_equal(read_back(buffer), expected, "what the kernel filled and what it left");
  }
}

void kernels_in_order(const Place& place) {
  const Kernel kernel = fill_kernel(place.device());
  const Buffer buffer(place.device(), count * 4);
  const Stream stream(place.device());
  for (std::uint32_t value = 0; value < 10; ++value) {
    launch(kernel, config, stream, buffer, count, value);
  }
  stream.synchronize();
  expect_equal(read_back(buffer), words(9, count), "what the last kernel wrote");
}

void a_function_outlives_its_module(const Place& place) {
  std::optional<Kernel> kernel;
  {
    KernelLoader loader(place.device());
    const Module module = loader.load("fill").module;
    kernel.emplace(module, "hiptool_fill_u32");
  }
  // Would take the place of an unloaded one.
  KernelLoader other(place.device());
  other.load("copy");
  const Buffer buffer(place.device(), count * 4);
  const Stream stream(place.device());
  launch(*kernel, config, stream, buffer, count, std::uint32_t{7});
  const Kernel copied = *kernel;
  kernel.reset();
  stream.synchronize();
  launch(copied, config, stream, buffer, count - 1, std::uint32_t{8});
  stream.synchronize();
  Bytes expected = words(8, count);
  const Bytes last = words(7, 1);
  std::memcpy(expected.data() + expected.size() - 4, last.data(), last.size());
  expect_equal(read_back(buffer), expected, "a kernel whose module's owners have gone");
}

void images_and_names_that_are_not_there(const Place& place) {
  KernelLoader loader(place.device());
  const Module module = loader.load("fill").module;
  try {
    const Kernel kernel(module, "hiptool_no_such_kernel");
    throw ScenarioFailed("a kernel was found that is not there");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  const Bytes garbage = random_bytes(1'000, 40);
  expect_error(ErrorCode::input_failed, no_native_code,
               [&] { const Module none(place.device(), garbage, "garbage"); });
  const Kernel kernel(module, "hiptool_fill_u32");
  expect(kernel.native_handle() != nullptr, "a kernel after those that are not there");
}

void impossible_launches(const Place& place) {
  const Kernel kernel = fill_kernel(place.device());
  const Buffer buffer(place.device(), 4);
  const Stream stream(place.device());
  const auto refused = [&](const LaunchConfig& wrong) {
    expect_error(ErrorCode::invalid_argument, no_native_code, [&] {
      launch(kernel, wrong, stream, buffer, std::uint64_t{1}, std::uint32_t{1});
    });
  };
  refused({{0}, {1}});
  refused({{1}, {0}});
  refused({{1, 0}, {1}});
  refused({{1}, {1u << 20}});
  refused({{1}, {1'024, 1'024, 64}});
  launch(kernel, {{1}, {1}}, stream, buffer, std::uint64_t{1}, std::uint32_t{3});
  stream.synchronize();
  expect_equal(read_back(buffer), words(3, 1), "a launch after those that were refused");
}

void a_timed_kernel(const Place& place) {
  const Kernel kernel = fill_kernel(place.device());
  const Buffer buffer(place.device(), count * 4);
  const Stream stream(place.device());
  KernelTimer timer(stream);
  expect_error(ErrorCode::invalid_argument, no_native_code, [&] { timer.stop(); });
  for (int round = 0; round < 2; ++round) {
    const test::Stopwatch wall;
    timer.start();
    launch(kernel, config, stream, buffer, count, std::uint32_t{1});
    timer.stop();
    const double elapsed_s = timer.elapsed_s();
    const double longest_s = wall.elapsed_s() + test::event_slack_s;
    expect(elapsed_s > 0 && elapsed_s <= longest_s, "the time of a short kernel");
  }
}

// Others called such a copy safe and left out the wait; the bytes were then those of an earlier
// kernel now and then.
void a_copy_right_behind_a_kernel(const Place& place) {
  const Kernel kernel = fill_kernel(place.device());
  const Buffer buffer(place.device(), count * 4);
  PinnedBuffer pinned(place.device(), buffer.size_bytes());
  Bytes pageable(buffer.size_bytes());
  const Stream stream(place.device());
  const Settled settled(stream);
  for (int round = 0; round < place.rounds; ++round) {
    const auto value = static_cast<std::uint32_t>(round) * 2'654'435'761u;
    const std::span<std::byte> target = round % 2 == 0 ? pinned.bytes() : std::span(pageable);
    launch(kernel, config, stream, buffer, count, value);
    copy_d2h(target, buffer, stream);
    stream.synchronize();
    expect_equal(target, words(value, count), "a copy right behind a kernel");
  }
}

void a_gate_kernel_holds_its_stream(const Place& place) {
  KernelLoader loader(place.device());
  const Kernel gate_kernel = loader.kernel("hiptool_gate");
  const Kernel kernel = loader.kernel("hiptool_fill_u32");
  Buffer buffer(place.device(), 2 * count * 4);
  PinnedBuffer flag(place.device(), 4);
  const Stream held(place.device());
  const Stream other(place.device());
  fill(buffer, std::byte{0}, other);
  other.synchronize();
  const Settled other_settled(other);
  const Settled held_settled(held);
  KernelGate gate(gate_kernel, held, flag);
  launch(kernel, config, held, buffer.view(0, count * 4), count, std::uint32_t{1});
  fill(buffer.view(count * 4, count * 4), std::byte{2}, other);
  other.synchronize();
  expect(!held.is_done(), "the stream behind the gate kernel is held");
  gate.open();
  held.synchronize();
  Bytes expected = words(1, count);
  expected.resize(2 * count * 4, std::byte{2});
  expect_equal(read_back(buffer), expected, "what both streams wrote");
}

}  // namespace hiptool::scenarios
