// SPDX-License-Identifier: MIT
/// Rate of the digests of blocks on a device, for tensors of several sizes, against the device's
/// own copy traffic in the same run.
///
/// Usage: digest_bench [DEVICE [SIZE]]; without DEVICE cpu, without SIZE 8GiB (cpu: 64MiB).
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "kernel_store/digest.hpp"
#include "kernel_store/kernel_loader.hpp"

namespace {

using namespace hiptool;

constexpr int samples = 9;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds by device events, one warm-up first.
double median_time_s(const Stream& stream, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i <= samples; ++i) {
    Event start(stream.device());
    Event stop(stream.device());
    start.record(stream);
    work();
    stop.record(stream);
    stop.synchronize();
    if (i > 0) times.push_back(stop.elapsed_s(start));
  }
  return median(times);
}

// Tensors of one size at multiples of 256 bytes, as many as fit.
std::vector<kernel_store::DigestRange> cut_ranges(const Buffer& data, std::uint64_t tensor_bytes) {
  const std::uint64_t step = (tensor_bytes + 255) / 256 * 256;
  std::vector<kernel_store::DigestRange> ranges;
  for (std::uint64_t at = 0; at + tensor_bytes <= data.size_bytes(); at += step) {
    ranges.push_back({at, tensor_bytes});
  }
  return ranges;
}

void measure_rate(const Buffer& data, const Buffer& list) {
  const Stream stream(data.device());
  const std::uint64_t half = data.size_bytes() / 2;
  const double copy_s =
      median_time_s(stream, [&] { copy_d2d(data.view(0, half), data.view(half, half), stream); });
  kernel_store::KernelLoader loader(data.device());
  kernel_store::BlockDigester digester(loader);
  const double limit = static_cast<double>(2 * half) / copy_s;
  std::printf("limit    %s (device-to-device copy of %s, read + write), image %s\n",
              format_rate(limit).c_str(), format_size(half).c_str(), digester.image().c_str());
  for (const auto& [tensor_bytes, what] :
       {std::pair(data.size_bytes(), "one tensor"), std::pair(std::size_t{128} << 10, "128 KiB"),
        std::pair(std::size_t{40'000}, "40000 bytes"), std::pair(std::size_t{4096}, "4 KiB")}) {
    const auto ranges = cut_ranges(data, tensor_bytes);
    const kernel_store::DigestTable table(data, ranges);
    const double digest_s = median_time_s(
        stream, [&] { digester.digest(table, 0, table.block_count(), list, stream); });
    const double rate = static_cast<double>(ranges.size() * tensor_bytes) / digest_s;
    std::printf("digest   %s, %zu tensors (%s), ratio %.3f\n", format_rate(rate).c_str(),
                ranges.size(), what, rate / limit);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = find_device(platforms, argc > 1 ? argv[1] : "cpu");
  const char* size = argc > 2 ? argv[2] : device.is_host_memory() ? "64MiB" : "8GiB";
  Buffer data(device, parse_size(size));
  const Buffer list(device, data.size_bytes() / 512 + 8);
  const Stream stream(device);
  fill(data, std::byte{0x5A}, stream);
  stream.synchronize();
  std::printf("%s %s\n", device.id().c_str(), device.info().name.c_str());
  measure_rate(data, list);
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
