// SPDX-License-Identifier: MIT
/// Time of an allocation and its release by the CachingAllocator, against the runtime's own and
/// against its limit: the calls that stream-ordered reuse cannot do without (an event recorded at
/// release and asked at the next allocation).
///
/// Usage: caching_bench [DEVICE]; without DEVICE cpu.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/units.hpp"
#include "hiptool/caching_allocator.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"

namespace {

using namespace hiptool;

constexpr int samples = 9;
constexpr int rounds = 200;

// Seconds of one call, the median of several runs after a warm-up.
double median_time_s(const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i <= samples; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) work();
    const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
    if (i > 0) times.push_back(duration.count() / rounds);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(CachingAllocator& allocator, const Stream& stream, std::size_t size_bytes) {
  const Device& device = allocator.device();
  Event event(device, Event::Kind::ordering);
  const double limit_s = median_time_s([&] {
    event.record(stream);
    static_cast<void>(event.is_done());
  });
  const double raw_s = median_time_s([&] { const Buffer buffer(device, size_bytes); });
  const double cached_s =
      median_time_s([&] { const Buffer buffer = allocator.allocate(size_bytes, stream); });
  std::printf(
      "%-9s cached %s, raw %s: %.1f times as fast; limit %s (record and ask an event), "
      "ratio %.3f\n",
      format_size(size_bytes).c_str(), format_duration(cached_s).c_str(),
      format_duration(raw_s).c_str(), raw_s / cached_s, format_duration(limit_s).c_str(),
      limit_s / cached_s);
}

}  // namespace

int main(int argc, char** argv) try {
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = find_device(platforms, argc > 1 ? argv[1] : "cpu");
  const Stream stream(device);
  CachingAllocator allocator(device);
  std::printf("%s %s\n", device.id().c_str(), device.info().name.c_str());
  for (const std::size_t size_bytes :
       {std::size_t{4} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
    measure(allocator, stream, size_bytes);
  }
  const auto statistics = allocator.statistics();
  std::printf("%s hits, %s misses\n", format_count(statistics.hits).c_str(),
              format_count(statistics.misses).c_str());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
