// SPDX-License-Identifier: MIT
#include "base/input_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "hiptool/error.hpp"
#include "support.hpp"
#include "waiting.hpp"

using namespace hiptool;
using base::read_input_file;

namespace {

std::string write(const std::string& path, const char* text) {
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const std::string& path, std::uint64_t limit_bytes = 10) {
  try {
    read_input_file(path, limit_bytes);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::input_failed);
    return error.what();
  }
  return "not refused";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("input file: whole up to the limit, refused beyond it") {
  const test::TemporaryFolder folder;
  const std::string path = write(folder / "file", "0123456789");
  CHECK(read_input_file(path, 10) == "0123456789");
  CHECK(has(refusal(path, 9), "more than"));
  CHECK(read_input_file(write(folder / "empty", ""), 10).empty());
  CHECK(!read_input_file("/proc/self/stat", 1 << 20).empty());  // of size 0
}

TEST_CASE("input file: folders, devices and what is missing") {
  const test::TemporaryFolder folder;
  CHECK(has(refusal(folder.path().string()), "it is a folder"));
  CHECK(has(refusal("/dev/zero"), "neither a regular file nor a pipe"));
  CHECK(has(refusal(folder / "none"), "none"));
  const std::string large = write(folder / "large", "");
  REQUIRE(::truncate(large.c_str(), off_t{1} << 42) == 0);
  CHECK(has(refusal(large), "more than"));
}

TEST_CASE("input file: pipes") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  SUBCASE("the writer has left") {
    REQUIRE(::write(ends[1], "text", 4) == 4);
    ::close(ends[1]);
    CHECK(read_input_file(path, 10) == "text");
    CHECK(read_input_file(path, 10).empty());
  }
  SUBCASE("the writer is slow") {
    std::thread writer([&ends] {
      for (const char* part : {"a", "b", "c"}) {
        CHECK(test::become_idle());  // the reader waits
        CHECK(::write(ends[1], part, 1) == 1);
      }
      ::close(ends[1]);
    });
    CHECK(read_input_file(path, 10) == "abc");
    writer.join();
  }
  SUBCASE("beyond the limit, and the writer goes on") {
    REQUIRE(::write(ends[1], "0123456789x", 11) == 11);
    CHECK(has(refusal(path), "more than"));
    ::close(ends[1]);
  }
  ::close(ends[0]);
}

TEST_CASE("input file: a wait for the writer of a pipe can be cancelled") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CancelToken cancel;
  std::thread other([&cancel] {
    test::become_idle();
    cancel.cancel();
  });
  try {
    read_input_file(path, 10, &cancel);
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
  other.join();
}
