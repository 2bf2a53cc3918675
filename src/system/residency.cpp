// SPDX-License-Identifier: MIT
#include "system/residency.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace hiptool::system {
namespace {

// Number and layouts of cachestat(2), the same on every architecture (include/uapi/linux/mman.h).
constexpr long cachestat_number = 451;
struct CachestatRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
struct Cachestat {
  std::uint64_t cached_pages = 0;
  std::uint64_t dirty_pages = 0;
  std::uint64_t writeback_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t recently_evicted_pages = 0;
};

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

// The methods count whole pages; the caller starts on one.
using Count = std::optional<std::uint64_t>;

Count by_cachestat(int descriptor, std::uint64_t offset, std::uint64_t size_bytes) {
  CachestatRange range{offset, size_bytes};
  Cachestat found;
  if (syscall(cachestat_number, descriptor, &range, &found, 0u) != 0) return std::nullopt;
  return found.cached_pages * page_bytes();
}

Count by_mincore(int descriptor, std::uint64_t offset, std::uint64_t size_bytes) {
  const std::uint64_t window_bytes = std::uint64_t{1} << 30;  // bounds the vector of results
  std::uint64_t pages = 0;
  std::vector<unsigned char> answers;
  for (std::uint64_t done = 0; done < size_bytes; done += window_bytes) {
    const std::uint64_t length = std::min(window_bytes, size_bytes - done);
    void* mapped =
        mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset + done));
    if (mapped == MAP_FAILED) return std::nullopt;
    answers.resize((length + page_bytes() - 1) / page_bytes());
    const bool is_known = mincore(mapped, length, answers.data()) == 0;
    munmap(mapped, length);
    if (!is_known) return std::nullopt;
    pages += static_cast<std::uint64_t>(
        std::ranges::count_if(answers, [](unsigned char answer) { return (answer & 1) != 0; }));
  }
  return pages * page_bytes();
}

Count by_reads(int descriptor, std::uint64_t offset, std::uint64_t size_bytes) {
  constexpr std::uint64_t step_bytes = 64u << 10;
  std::uint64_t cached = 0;
  for (std::uint64_t done = 0; done < size_bytes; done += step_bytes) {
    const std::uint64_t length = std::min(step_bytes, size_bytes - done);
    // From the end backwards, and from the end of each step: the kernel may read ahead where it
    // found nothing, which must not be counted at the next step.
    const std::uint64_t at = offset + size_bytes - done - 1;
    std::byte byte{};
    const iovec target{&byte, 1};
    const ssize_t got = preadv2(descriptor, &target, 1, static_cast<off_t>(at), RWF_NOWAIT);
    if (got == 1) {
      cached += length;
    } else if (got < 0 && errno != EAGAIN && errno != EINTR) {
      return std::nullopt;
    }
  }
  return cached;
}

// To others, mincore (since Linux 5.2) reports every page as cached.
bool may_use_mincore(int descriptor, const struct stat& status) {
  if (geteuid() == status.st_uid) return true;
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return access(link.c_str(), W_OK) == 0;
}

Count count_cached(int descriptor, const struct stat& status, std::uint64_t offset,
                   std::uint64_t size_bytes, ResidencyMethod method) {
  const bool any = method == ResidencyMethod::automatic;
  Count found;
  if (any || method == ResidencyMethod::cachestat) {
    found = by_cachestat(descriptor, offset, size_bytes);
  }
  const bool may_map = method == ResidencyMethod::mincore || any;
  if (!found && may_map && may_use_mincore(descriptor, status)) {
    found = by_mincore(descriptor, offset, size_bytes);
  }
  if (!found && (any || method == ResidencyMethod::reads)) {
    found = by_reads(descriptor, offset, size_bytes);
  }
  return found;
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(int descriptor, std::uint64_t offset,
                                          std::uint64_t size_bytes, ResidencyMethod method) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto end = static_cast<std::uint64_t>(status.st_size);
  if (offset >= end || size_bytes == 0) return 0;
  size_bytes = std::min(size_bytes, end - offset);
  const std::uint64_t before = offset % page_bytes();
  const Count found =
      count_cached(descriptor, status, offset - before, size_bytes + before, method);
  // Pages at either end count whole; the share of the range itself is near enough.
  if (!found) return std::nullopt;
  return std::min(*found, size_bytes);
}

std::optional<std::uint64_t> estimate_cached_bytes(int descriptor, std::uint64_t offset,
                                                   std::uint64_t size_bytes) {
  // Of 13 GiB in small pages, one sample in each MiB took 10 ms of a load's start.
  constexpr std::uint64_t most_samples = 1024;
  constexpr std::uint64_t sample_bytes = 64u << 10;
  const std::uint64_t stride_bytes =
      std::max<std::uint64_t>(1u << 20, size_bytes / most_samples / sample_bytes * sample_bytes);
  std::uint64_t asked = 0;
  std::uint64_t cached = 0;
  for (std::uint64_t done = 0; done < size_bytes; done += stride_bytes) {
    const std::uint64_t sample = std::min(sample_bytes, size_bytes - done);
    const auto found = cached_bytes(descriptor, offset + done, sample);
    if (!found) return std::nullopt;
    asked += sample;
    cached += *found;
  }
  if (cached == asked) return size_bytes;
  const double share = static_cast<double>(cached) / static_cast<double>(asked);
  return static_cast<std::uint64_t>(static_cast<double>(size_bytes) * share);
}

namespace {

template <class CountRange>
std::optional<std::uint64_t> of_whole_file(const std::filesystem::path& file,
                                           CountRange&& count_range) {
  const base::Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!opened.is_open() || fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return count_range(opened.get(), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(const std::filesystem::path& file) {
  return of_whole_file(file, [](int descriptor, std::uint64_t size_bytes) {
    return cached_bytes(descriptor, 0, size_bytes);
  });
}

std::optional<std::uint64_t> estimate_cached_bytes(const std::filesystem::path& file) {
  return of_whole_file(file, [](int descriptor, std::uint64_t size_bytes) {
    return estimate_cached_bytes(descriptor, 0, size_bytes);
  });
}

}  // namespace hiptool::system
