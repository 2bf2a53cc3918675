// SPDX-License-Identifier: MIT
#include "system/residency.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "support.hpp"

using namespace hiptool;

TEST_CASE("a file that was just written is cached, one that was dropped is not") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const std::string bytes(1'000'001, 'x');
  std::ofstream(path, std::ios::binary) << bytes;
  REQUIRE(system::cached_bytes(path).has_value());
  CHECK(*system::cached_bytes(path) == bytes.size());

  const int descriptor = open(path.c_str(), O_RDONLY);
  fsync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
  // Some file systems (tmpfs) have nowhere to drop pages to.
  CHECK(*system::cached_bytes(path) <= bytes.size());
  CHECK_FALSE(system::cached_bytes(folder.path() / "absent").has_value());
  CHECK_FALSE(system::cached_bytes(folder.path()).has_value());
  std::ofstream(folder.path() / "empty");
  CHECK(*system::cached_bytes(folder.path() / "empty") == 0);
}
