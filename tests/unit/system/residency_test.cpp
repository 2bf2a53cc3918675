// SPDX-License-Identifier: MIT
#include "system/residency.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "support.hpp"

using namespace hiptool;
using system::ResidencyMethod;

namespace {

constexpr std::uint64_t file_bytes = 5'000'001;
constexpr std::uint64_t range_bytes = 1u << 20;

struct Fixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "file";
  int descriptor = -1;

  Fixture() {
    std::ofstream(path, std::ios::binary) << std::string(file_bytes, 'x');
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    // Without read-ahead only what is read becomes cached.
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  }
  ~Fixture() { close(descriptor); }

  // False where pages have nowhere to go (tmpfs).
  bool evict() const {
    fsync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    return system::cached_bytes(path).value_or(1) == 0;
  }
  void read(std::uint64_t offset, std::uint64_t size_bytes) const {
    std::vector<char> bytes(size_bytes);
    CHECK(pread(descriptor, bytes.data(), size_bytes, static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(size_bytes));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a file that was just written is cached, one that was dropped is not") {
  REQUIRE(system::cached_bytes(path).has_value());
  CHECK(*system::cached_bytes(path) == file_bytes);
  if (evict()) {
    CHECK(*system::cached_bytes(path) == 0);
    read(0, 1);
    CHECK(*system::cached_bytes(path) > 0);
    CHECK(*system::cached_bytes(path) < file_bytes / 2);
  } else {
    CHECK(*system::cached_bytes(path) == file_bytes);
  }
}

TEST_CASE_FIXTURE(Fixture, "every method tells warm ranges from cold ones") {
  const bool is_evicted = evict();
  if (is_evicted) read(range_bytes, 2 * range_bytes);
  for (const auto method : {ResidencyMethod::automatic, ResidencyMethod::cachestat,
                            ResidencyMethod::mincore, ResidencyMethod::reads}) {
    CAPTURE(static_cast<int>(method));
    for (std::uint64_t offset = 0; offset < file_bytes; offset += range_bytes) {
      const auto cached = system::cached_bytes(descriptor, offset, range_bytes, method);
      if (!cached) {
        CHECK(method != ResidencyMethod::automatic);  // one of them works everywhere
        break;
      }
      const std::uint64_t place = offset / range_bytes;
      const bool is_warm = !is_evicted || place == 1 || place == 2;
      if (is_warm) {
        CHECK(*cached == std::min(range_bytes, file_bytes - offset));
      } else if (method == ResidencyMethod::reads) {
        CHECK(*cached < range_bytes / 2);  // a fast disk answered some of the questions in time
      } else {
        CHECK(*cached == 0);
      }
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "ranges need not start on a page and may reach beyond the end") {
  CHECK(*system::cached_bytes(descriptor, 5, 10) == 10);
  CHECK(*system::cached_bytes(descriptor, 4'095, 2) == 2);
  CHECK(*system::cached_bytes(descriptor, file_bytes - 10, 1'000'000) == 10);
  CHECK(*system::cached_bytes(descriptor, file_bytes, 1) == 0);
  CHECK(*system::cached_bytes(descriptor, 0, 0) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a sample is exact for all and nothing, and near for parts") {
  CHECK(*system::estimate_cached_bytes(path) == file_bytes);
  CHECK(*system::estimate_cached_bytes(descriptor, 100, 2'000'000) == 2'000'000);
  CHECK(*system::estimate_cached_bytes(descriptor, 100, 0) == 0);
  if (!evict()) return test::skip_case("the file system keeps cached pages");
  CHECK(*system::estimate_cached_bytes(path) == 0);
  read(range_bytes, 2 * range_bytes);
  CHECK(*system::estimate_cached_bytes(descriptor, range_bytes, range_bytes) == range_bytes);
  CHECK(*system::estimate_cached_bytes(descriptor, 3 * range_bytes, range_bytes) == 0);
  const double share = static_cast<double>(*system::estimate_cached_bytes(path)) / file_bytes;
  CHECK(share == doctest::Approx(2.0 * range_bytes / file_bytes).epsilon(0.2));
  CHECK_FALSE(system::estimate_cached_bytes(folder.path()).has_value());
}

TEST_CASE_FIXTURE(Fixture, "nothing is known of what is no regular file") {
  CHECK_FALSE(system::cached_bytes(folder.path() / "absent").has_value());
  CHECK_FALSE(system::cached_bytes(folder.path()).has_value());
  CHECK_FALSE(system::cached_bytes(-1, 0, range_bytes).has_value());
  std::ofstream(folder.path() / "empty");
  CHECK(*system::cached_bytes(folder.path() / "empty") == 0);
}
