// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "hip/cpu/calls.hpp"
#include "kernel_tool.hpp"
#include "sanitized.hpp"

namespace hiptool::hip::cpu::test {
namespace {

template <class Value>
std::vector<Value> counted(std::size_t count) {
  std::vector<Value> values(count);
  std::iota(values.begin(), values.end(), Value{1});
  return values;
}

TEST_CASE("kernels: vector add") {
  const NothingLeaks nothing_leaks;
  const LoadedKernels kernels;
  constexpr unsigned n = 1000;
  const auto a = counted<float>(n);
  const std::vector<float> b(n, 0.25f);
  std::vector<float> sum(n + 24, -1);
  REQUIRE(kernels.launch("test_vector_add", {4}, {256}, 0, a.data(), b.data(), sum.data(), n) ==
          hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  for (unsigned i = 0; i < n; ++i) REQUIRE(sum[i] == a[i] + 0.25f);
  CHECK(sum[n] == -1);
}

TEST_CASE("kernels: a block's sum needs barriers and shared memory") {
  const LoadedKernels kernels;
  for (const unsigned n : {1u, 255u, 256u, 257u, 5000u}) {
    CAPTURE(n);
    const auto values = counted<unsigned>(n);
    const unsigned blocks = (n + 255) / 256;
    std::vector<unsigned> sums(blocks);
    REQUIRE(kernels.launch("test_block_sum", {blocks}, {256}, 0, values.data(), sums.data(), n) ==
            hipSuccess);
    REQUIRE(kernels.wait() == hipSuccess);
    CHECK(std::accumulate(sums.begin(), sums.end(), 0u) == n * (n + 1) / 2);
  }
}

TEST_CASE("kernels: a warp's sum by shuffles, 32 and 64 lanes wide") {
  const LoadedKernels kernels;
  for (const unsigned lanes : {32u, 64u}) {
    CAPTURE(lanes);
    const KernelsRun kernels_run(KernelPath::fibers, lanes);
    const auto values = counted<float>(512);
    std::vector<float> sums(512 / lanes);
    REQUIRE(kernels.launch("test_warp_sums", {2}, {256}, 0, values.data(), sums.data()) ==
            hipSuccess);
    REQUIRE(kernels.wait() == hipSuccess);
    for (std::size_t warp = 0; warp < sums.size(); ++warp) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(warp * lanes);
      REQUIRE(sums[warp] == std::accumulate(first, first + lanes, 0.0f));
    }
    int width = 0;
    CHECK(kernels.api().hipDeviceGetAttribute(&width, hipDeviceAttributeWarpSize, 0) == hipSuccess);
    CHECK(width == static_cast<int>(lanes));
  }
}

TEST_CASE("kernels: shuffles keep inside their width") {
  const LoadedKernels kernels;
  constexpr unsigned n = 96;
  std::vector<int> from_3(n);
  std::vector<unsigned> up_2(n);
  std::vector<std::uint64_t> down_5(n);
  std::vector<std::int64_t> mirrored(n);
  REQUIRE(kernels.launch("test_shuffles", {1}, {n}, 0, from_3.data(), up_2.data(), down_5.data(),
                         mirrored.data()) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  for (unsigned i = 0; i < n; ++i) {
    CAPTURE(i);
    const unsigned part = i / 16 * 16;
    const unsigned inside = i % 16;
    CHECK(from_3[i] == static_cast<int>(part + 3));
    CHECK(up_2[i] == (inside >= 2 ? i - 2 : i));
    CHECK(down_5[i] == std::uint64_t{inside + 5 < 16 ? i + 5 : i} << 40);
    CHECK(mirrored[i] == -static_cast<std::int64_t>(part + 15 - inside));
  }
}

TEST_CASE("kernels: lanes that take no part in a shuffle give nothing") {
  const LoadedKernels kernels;
  std::vector<int> values(8, -1);
  REQUIRE(kernels.launch("test_half_warp", {1}, {32}, 0, values.data()) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(values == std::vector<int>{4, 5, 6, 7, 4, 5, 6, 7});
}

TEST_CASE("kernels: lanes that leave a loop wait for the others behind it") {
  const LoadedKernels kernels;
  std::vector<int> values(32, -1);
  REQUIRE(kernels.launch("test_uneven_loop", {1}, {32}, 0, values.data()) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  // The sums of turns are 0, 1, 3, 6 in each four lanes, then neighbours change places.
  for (std::size_t i = 0; i < 32; i += 4) {
    CHECK(values[i] == 1);
    CHECK(values[i + 1] == 0);
    CHECK(values[i + 2] == 6);
    CHECK(values[i + 3] == 3);
  }
}

TEST_CASE("kernels: lanes joined at once have what their exchanges give") {
  for (const unsigned lanes : {32u, 64u}) {
    const KernelsRun run(KernelPath::fibers, lanes);
    const LoadedKernels kernels;
    for (const int end : {1, 7, 32, 45, 96}) {
      CAPTURE(lanes);
      CAPTURE(end);
      std::vector<int> at_once(96, -1);
      std::vector<int> by_exchanges(96, -1);
      REQUIRE(kernels.launch("test_join_lanes", {1}, {96}, 0, at_once.data(), by_exchanges.data(),
                             end) == hipSuccess);
      REQUIRE(kernels.wait() == hipSuccess);
      CHECK(at_once == by_exchanges);
      CHECK(std::count(at_once.begin(), at_once.end(), -1) == 96 - end);
    }
  }
}

TEST_CASE("kernels: joins of two types at one line do not meet") {
  const LoadedKernels kernels;
  std::vector<int> values(32, -1);
  REQUIRE(kernels.launch("test_joins_apart", {1}, {32}, 0, values.data()) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  for (std::size_t i = 0; i < 32; i += 2) {
    CHECK(values[i] == -2);
    CHECK(values[i + 1] == 10);
  }
}

TEST_CASE("kernels: where the first thread works alone the others do not begin") {
  const LoadedKernels kernels;
  int begun = 0;
  REQUIRE(kernels.launch("test_work_alone", {3}, {96}, 0, &begun, 0) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(begun == 3);
  REQUIRE(kernels.launch("test_work_alone", {1}, {96}, 0, &begun, 1) == hipSuccess);
  CHECK(kernels.wait() == hipErrorLaunchFailure);
  CHECK(last_launch_error().find("1 of 96 threads") != std::string::npos);
}

TEST_CASE("kernels: dynamic shared memory") {
  const LoadedKernels kernels;
  for (const unsigned n : {1u, 33u, 1024u}) {
    const auto values = counted<int>(n);
    std::vector<int> reversed(n);
    const auto shared_bytes = static_cast<unsigned>(n * sizeof(int));
    REQUIRE(kernels.launch("test_reverse", {1}, {n}, shared_bytes, values.data(),
                           reversed.data()) == hipSuccess);
    REQUIRE(kernels.wait() == hipSuccess);
    std::reverse(reversed.begin(), reversed.end());
    CHECK(reversed == values);
  }
}

TEST_CASE("kernels: atomics of many blocks") {
  struct Counters {
    unsigned sum = 0;
    unsigned lowest = ~0u;
    unsigned highest = 0;
    unsigned bits = 0;
    unsigned long long wide_sum = 0;
    unsigned long long wide_lowest = ~0ull;
    unsigned long long wide_highest = 0;
    float real_sum = 0;
  } counters;
  const LoadedKernels kernels;
  REQUIRE(kernels.launch("test_atomics", {64}, {64}, 0, &counters) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(counters.sum == 4096);
  CHECK(counters.lowest == 0);
  CHECK(counters.highest == 4095);
  CHECK(counters.bits == ~0u);
  CHECK(counters.wide_sum == 4096ull << 32);
  CHECK(counters.wide_lowest == 1ull << 40);
  CHECK(counters.wide_highest == (1ull << 40) + 4095);
  CHECK(counters.real_sum == 2048);
}

TEST_CASE("kernels: each thread of three dimensions runs once, at its place") {
  const LoadedKernels kernels;
  constexpr Dimensions grid{3, 2, 4};
  constexpr Dimensions block{5, 4, 3};
  std::vector<unsigned> places(24 * 60);
  REQUIRE(kernels.launch("test_places", grid, block, 0, places.data()) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(places == counted<unsigned>(places.size()));
}

TEST_CASE("kernels: 16 bytes at once") {
  const LoadedKernels kernels;
  alignas(16) float from[64];
  alignas(16) float to[64] = {};
  std::iota(std::begin(from), std::end(from), 1.0f);
  REQUIRE(kernels.launch("test_copy16", {1}, {16}, 0, static_cast<float*>(from),
                         static_cast<float*>(to)) == hipSuccess);
  REQUIRE(kernels.wait() == hipSuccess);
  CHECK(std::equal(std::begin(from), std::end(from), std::begin(to)));
}

TEST_CASE("kernels: a barrier that not all threads reach fails the launch, once") {
  const LoadedKernels kernels;
  const Api& api = kernels.api();
  std::vector<int> values(32);
  SUBCASE("some have ended") {
    REQUIRE(kernels.launch("test_divergent_barrier", {2}, {32}, 0, values.data()) == hipSuccess);
    SUBCASE("the stream says so") { CHECK(kernels.wait() == hipErrorLaunchFailure); }
    SUBCASE("the device says so") { CHECK(api.hipDeviceSynchronize() == hipErrorLaunchFailure); }
    SUBCASE("an event says so") {
      hipEvent_t event = nullptr;
      REQUIRE(api.hipEventCreateWithFlags(&event, hipEventDefault) == hipSuccess);
      REQUIRE(api.hipEventRecord(event, kernels.stream()) == hipSuccess);
      CHECK(api.hipEventSynchronize(event) == hipErrorLaunchFailure);
      CHECK(api.hipEventDestroy(event) == hipSuccess);
    }
    const std::string text = last_launch_error();
    CAPTURE(text);
    CHECK(text.find("test_divergent_barrier") != std::string::npos);
    CHECK(text.find("5 of 32 threads") != std::string::npos);
    CHECK(text.find("27 have ended") != std::string::npos);
  }
  SUBCASE("others wait elsewhere") {
    REQUIRE(kernels.launch("test_two_barriers", {1}, {32}, 0, values.data()) == hipSuccess);
    CHECK(kernels.wait() == hipErrorLaunchFailure);
    CHECK(last_launch_error().find("16 wait at another barrier") != std::string::npos);
  }
  // Its fibers were given up in their middle; the next kernel runs as if nothing had been.
  const std::vector<unsigned> ones(256, 1);
  unsigned sum = 0;
  REQUIRE(kernels.launch("test_block_sum", {1}, {256}, 0, ones.data(), &sum, 256u) == hipSuccess);
  CHECK(kernels.wait() == hipSuccess);
  CHECK(sum == 256);
}

TEST_CASE("kernels: the native function does the same as the fibers") {
  static int native_calls = 0;
  // The table is the process's, and a test may run more than once in it.
  if (find_native("test_vector_add") == nullptr) {
    register_native("test_vector_add", [](Dimensions, Dimensions, void* const* arguments) {
      ++native_calls;
      const auto* const a = *static_cast<const float* const*>(arguments[0]);
      const auto* const b = *static_cast<const float* const*>(arguments[1]);
      auto* const sum = *static_cast<float* const*>(arguments[2]);
      const auto n = *static_cast<const unsigned*>(arguments[3]);
      std::transform(a, a + n, b, sum, std::plus<>());
    });
  }
  const LoadedKernels kernels;
  const auto a = counted<float>(300);
  const auto b = counted<float>(300);
  std::vector<float> by_fibers(300);
  std::vector<float> natively(300);
  const auto run = [&](KernelPath path, float* sum) {
    const KernelsRun kernels_run(path);
    REQUIRE(kernels.launch("test_vector_add", {2}, {256}, 0, a.data(), b.data(), sum, 300u) ==
            hipSuccess);
    REQUIRE(kernels.wait() == hipSuccess);
  };
  const int calls_before = native_calls;
  run(KernelPath::fibers, by_fibers.data());
  CHECK(native_calls == calls_before);
  run(KernelPath::native, natively.data());
  CHECK(native_calls == calls_before + 1);
  CHECK(by_fibers == natively);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
