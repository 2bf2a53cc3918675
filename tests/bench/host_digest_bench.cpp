// SPDX-License-Identifier: MIT
/// Rate of one core's digests of blocks, for every set of instructions that this processor has,
/// alongside what the same core copies with memcpy.
///
/// Usage: host_digest_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/xxh3.hpp"

namespace {

using namespace hiptool;
using Clock = std::chrono::steady_clock;

constexpr std::align_val_t page{4096};
constexpr int samples = 5;
constexpr std::uint64_t sample_bytes = 1u << 30;

struct Free {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, page); }
};
constexpr std::size_t block_bytes = 16u << 10;  // as a load digests

using Bytes = std::unique_ptr<std::byte[], Free>;

Bytes make_bytes(std::size_t size) {
  Bytes bytes(new (page) std::byte[size]);
  std::memset(bytes.get(), 0x5A, size);
  return bytes;
}

// Median over the samples, each of which goes over the buffer until 1 GiB is done.
double median_rate(std::size_t size, const std::function<void()>& pass) {
  std::vector<double> rates;
  const std::uint64_t passes = std::max<std::uint64_t>(1, sample_bytes / size);
  for (int i = 0; i <= samples; ++i) {
    const auto start = Clock::now();
    for (std::uint64_t n = 0; n < passes; ++n) pass();
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (i > 0) rates.push_back(static_cast<double>(passes * size) / elapsed_s);
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

void measure(std::size_t size) {
  const Bytes from = make_bytes(size);
  const Bytes to = make_bytes(size);
  const double limit = median_rate(size, [&] { std::memcpy(to.get(), from.get(), size); });
  std::uint64_t sum = 0;  // so that nothing is left out
  for (const base::Xxh3Path path : base::xxh3_paths) {
    if (!base::has_xxh3_path(path)) continue;
    base::set_xxh3_path(path);
    const double rate = median_rate(size, [&] {
      for (std::size_t at = 0; at < size; at += block_bytes) {
        sum += base::xxh3_64(from.get() + at, block_bytes);
      }
    });
    std::printf("%-8s %s of %s in 16 KiB blocks; memcpy %s, ratio %.2f (median of %d)\n",
                std::string(to_string(path)).c_str(), format_rate(rate).c_str(),
                format_size(size).c_str(), format_rate(limit).c_str(), rate / limit, samples);
  }
  if (sum == 0) std::printf("unlikely\n");
}

}  // namespace

int main() {
  for (const std::size_t size :
       {std::size_t{256} << 10, std::size_t{4} << 20, std::size_t{64} << 20}) {
    measure(size);
  }
  return 0;
}
