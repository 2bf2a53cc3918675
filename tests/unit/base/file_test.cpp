// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using base::File;

namespace {

struct Fixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "file";

  Fixture() { write("0123456789"); }
  // An hour old, so that every later write shows, however coarse the file system's clock is.
  void write(const std::string& text) const {
    std::ofstream(path) << text;
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
};

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::input_failed);
    return error.what();
  }
  return "no failure";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a read fills its span or says where the file ends") {
  const File file = File::open(path);
  std::vector<std::byte> bytes(4);
  file.read_at(bytes, 6);
  CHECK(static_cast<char>(bytes[0]) == '6');
  CHECK(static_cast<char>(bytes[3]) == '9');
  CHECK(has(message_of([&] { file.read_at(bytes, 7); }), "ends at offset 10, 1 byte too early"));
  // Also for a read that starts beyond the end.
  CHECK(has(message_of([&] { file.read_at(bytes, 30); }), "ends at offset 10, 24 bytes too early"));
}

TEST_CASE_FIXTURE(Fixture, "what happened to a file is told") {
  const File file = File::open(path);
  const auto check = [&] {
    return message_of([&] { file.check_unchanged(file.size_bytes(), file.stamp()); });
  };
  CHECK(check() == "no failure");
  std::ofstream(path, std::ios::app) << "more";
  CHECK(has(check(), "it grew from 10 to 14 bytes"));
  std::filesystem::resize_file(path, 3);
  CHECK(has(check(), "it was truncated from 10 to 3 bytes"));
  std::ofstream(path) << "abcdefghij";
  CHECK(has(check(), "it was written to"));
}

TEST_CASE_FIXTURE(Fixture, "a file that was removed, replaced or restored is reported") {
  const File file = File::open(path);
  const auto check = [&] {
    return message_of([&] { file.check_unchanged(file.size_bytes(), file.stamp()); });
  };
  const auto modified = std::filesystem::last_write_time(path);
  SUBCASE("removed, and replaced by one that is alike in all but what it is") {
    std::filesystem::remove(path);
    CHECK(has(check(), "it was removed or renamed"));
    write("0123456789");
    std::filesystem::last_write_time(path, modified);
    CHECK(has(check(), "it was replaced by another file"));
  }
  SUBCASE("written and restored, the time of writing too") {
    std::fstream(path) << 'x';
    std::fstream(path) << '0';
    std::filesystem::last_write_time(path, modified);
    CHECK(has(check(), "its ctime moved"));
  }
}

TEST_CASE_FIXTURE(Fixture, "a change right after opening a new file is seen") {
  // Without a wait in open() the coarse clock gives both changes one time, unless a tick passes.
  for (int i = 0; i < 30; ++i) {
    const auto long_ago = std::filesystem::file_time_type(std::chrono::hours(1));
    std::ofstream(path) << "0123456789";
    std::filesystem::last_write_time(path, long_ago);
    const File file = File::open(path);
    timespec clock{};
    clock_gettime(CLOCK_REALTIME_COARSE, &clock);
    const std::int64_t now = std::int64_t{clock.tv_sec} * 1'000'000'000 + clock.tv_nsec;
    CHECK(file.stamp().changed_ns < now);
    std::fstream(path) << 'x';
    std::filesystem::last_write_time(path, long_ago);
    CHECK(has(message_of([&] { file.check_unchanged(file.size_bytes(), file.stamp()); }),
              "its ctime moved"));
  }
}

TEST_CASE_FIXTURE(Fixture, "what a path names is there, a link to nothing and a bad name are not") {
  CHECK(base::is_there(path));
  CHECK(base::is_there(folder.path()));
  CHECK_FALSE(base::is_there(folder.path() / "none"));
  CHECK_FALSE(base::is_there(path / "below a file"));
  CHECK_FALSE(base::is_there(folder.path() / std::string(5000, 'x')));
  std::filesystem::create_symlink("nothing", folder.path() / "link");
  CHECK_FALSE(base::is_there(folder.path() / "link"));
}

TEST_CASE("everything is written, also into a full pipe that does not block") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_NONBLOCK) == 0);
  const std::string sent(1 << 20, 'x');  // more than a pipe holds
  std::size_t received = 0;
  std::jthread reader([&] {
    std::array<char, 4096> part{};
    while (received < sent.size()) {
      const ssize_t count = ::read(ends[0], part.data(), part.size());
      if (count > 0) received += static_cast<std::size_t>(count);
    }
  });
  CHECK(base::write_all(ends[1], sent) == 0);
  reader.join();
  CHECK(received == sent.size());
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(base::write_all(ends[1], "x") == EBADF);
  CHECK(base::write_all(ends[1], "") == 0);
}
