// SPDX-License-Identifier: MIT
#include "read_rates.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "system/residency.hpp"

namespace hiptool::bench {
namespace {

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)) {
    if (number_ < 0) {
      throw std::runtime_error("open " + path.string() + ": " +
                               std::generic_category().message(errno));
    }
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// `read(offset, size)` is called for each request of the file, by the thread of that number.
double rate_of(std::uint64_t file_bytes, std::uint32_t threads, std::uint64_t request_bytes,
               const std::function<ssize_t(std::uint32_t, std::uint64_t, std::uint64_t)>& read) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> failure{0};
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> workers;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        for (;;) {
          const std::uint64_t offset = next.fetch_add(request_bytes);
          if (offset >= file_bytes || failure.load() != 0) return;
          const std::uint64_t wanted = std::min(request_bytes, file_bytes - offset);
          const ssize_t got = read(thread, offset, request_bytes);
          if (got < static_cast<ssize_t>(wanted)) failure.store(got < 0 ? errno : EIO);
        }
      });
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (failure.load() != 0) {
    throw std::runtime_error("read: " + std::generic_category().message(failure.load()));
  }
  return static_cast<double>(file_bytes) / elapsed.count();
}

}  // namespace

double read_rate(const std::filesystem::path& path, std::uint32_t threads,
                 std::uint64_t request_bytes, std::span<std::byte> destination) {
  const Descriptor file(path, 0);
  const std::uint64_t places = std::max<std::uint64_t>(1, destination.size() / request_bytes);
  return rate_of(std::filesystem::file_size(path), threads, request_bytes,
                 [&](std::uint32_t, std::uint64_t offset, std::uint64_t size_bytes) {
                   const std::uint64_t place = offset / request_bytes % places * request_bytes;
                   const auto target = destination.subspan(place);
                   return pread(file.number(), target.data(), std::min(size_bytes, target.size()),
                                static_cast<off_t>(offset));
                 });
}

double direct_read_rate(const std::filesystem::path& path, std::uint32_t threads,
                        std::uint64_t request_bytes) {
  const Descriptor file(path, O_DIRECT);
  std::vector<std::unique_ptr<void, decltype(&std::free)>> buffers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    buffers.emplace_back(std::aligned_alloc(1u << 16, request_bytes), &std::free);
  }
  return rate_of(std::filesystem::file_size(path), threads, request_bytes,
                 [&](std::uint32_t thread, std::uint64_t offset, std::uint64_t size_bytes) {
                   return pread(file.number(), buffers[thread].get(), size_bytes,
                                static_cast<off_t>(offset));
                 });
}

void evict(const std::filesystem::path& path) {
  const Descriptor file(path, 0);
  fsync(file.number());
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  const auto left = system::cached_bytes(path);
  if (!left) throw std::runtime_error("nobody says whether the file is cached");
  if (*left > 0) throw std::runtime_error(std::to_string(*left) + " bytes stay in the page cache");
}

double warm(const std::filesystem::path& path) {
  std::vector<std::byte> scratch(64u << 20);
  read_rate(path, std::max(1u, std::thread::hardware_concurrency()), 4u << 20, scratch);
  const auto cached = system::cached_bytes(path);
  return cached
             ? static_cast<double>(*cached) / static_cast<double>(std::filesystem::file_size(path))
             : 0;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace hiptool::bench
