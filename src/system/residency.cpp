// SPDX-License-Identifier: MIT
#include "system/residency.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hiptool::system {
namespace {

// Number and layouts of cachestat(2), the same on every architecture (include/uapi/linux/mman.h).
constexpr long cachestat_number = 451;
struct CachestatRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: to the end of the file
};
struct Cachestat {
  std::uint64_t cached_pages = 0;
  std::uint64_t dirty_pages = 0;
  std::uint64_t writeback_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t recently_evicted_pages = 0;
};

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

std::optional<std::uint64_t> pages_by_cachestat(int descriptor) {
  CachestatRange range;
  Cachestat found;
  if (syscall(cachestat_number, descriptor, &range, &found, 0u) != 0) return std::nullopt;
  return found.cached_pages;
}

std::optional<std::uint64_t> pages_by_mincore(int descriptor, std::uint64_t size_bytes) {
  const std::uint64_t window_bytes = std::uint64_t{1} << 30;  // bounds the vector of answers
  std::uint64_t pages = 0;
  std::vector<unsigned char> answers;
  for (std::uint64_t offset = 0; offset < size_bytes; offset += window_bytes) {
    const std::uint64_t length = std::min(window_bytes, size_bytes - offset);
    void* mapped =
        mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return std::nullopt;
    answers.resize((length + page_bytes() - 1) / page_bytes());
    const bool is_known = mincore(mapped, length, answers.data()) == 0;
    munmap(mapped, length);
    if (!is_known) return std::nullopt;
    pages += static_cast<std::uint64_t>(std::count_if(
        answers.begin(), answers.end(), [](unsigned char answer) { return (answer & 1) != 0; }));
  }
  return pages;
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::uint64_t> cached;
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
    auto pages = pages_by_cachestat(descriptor);
    if (!pages) pages = pages_by_mincore(descriptor, size_bytes);
    if (pages) cached = std::min(*pages * page_bytes(), size_bytes);
  }
  close(descriptor);
  return cached;
}

}  // namespace hiptool::system
