// SPDX-License-Identifier: MIT
#include "load/read/direct_reader.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "support.hpp"
#include "unit/load/read/plain_file.hpp"

using namespace hiptool;
using load::DirectReader;

namespace {

constexpr std::uint64_t request_bytes = 64u << 10;

struct DirectReaderFixture : test::PlainFile {
  void for_each_engine(const std::function<void(DirectReader&)>& test) const {
    const auto plain = load::make_pread_reader(request_bytes);
    CHECK(std::string(plain->name()) == "pread");
    test(*plain);
    for (const std::uint32_t depth : {1u, 3u, 64u}) {
      std::string why;
      const auto ring = load::make_uring_reader(depth, request_bytes, why);
      if (ring == nullptr) {
        MESSAGE("not with io_uring here: ", why);
        CHECK_FALSE(why.empty());
        continue;
      }
      CHECK(std::string(ring->name()) == "io_uring");
      test(*ring);
    }
  }
};

void no_check() {}

}  // namespace

TEST_CASE_FIXTURE(DirectReaderFixture,
                  "a range arrives whole, whatever its size, up to the end of the file") {
  for_each_engine([&](DirectReader& engine) {
    for (const std::uint64_t begin : {0u, 4'096u, 983'040u}) {
      for (const std::uint64_t size_bytes : {1u, 4'096u, 65'536u, 200'000u, 300'000u, 1'000'003u}) {
        const std::uint64_t wanted_end = std::min<std::uint64_t>(begin + size_bytes, 1'000'003);
        const std::uint64_t end = (wanted_end + 4'095) / 4'096 * 4'096;
        std::vector<std::byte> found(end - begin);
        const auto result = engine.read(
            {descriptor, {begin, end - begin}, wanted_end},
            [&](std::uint64_t offset, std::span<const std::byte> bytes) {
              REQUIRE(offset >= begin);
              REQUIRE(bytes.size() <= end - offset);
              std::copy(bytes.begin(), bytes.end(),
                        found.begin() + static_cast<std::ptrdiff_t>(offset - begin));
            },
            no_check);
        CHECK(result.error == 0);
        REQUIRE(result.reached_wanted);
        REQUIRE(std::equal(contents.begin() + static_cast<std::ptrdiff_t>(begin),
                           contents.begin() + static_cast<std::ptrdiff_t>(wanted_end),
                           found.begin()));
      }
    }
  });
}

TEST_CASE_FIXTURE(DirectReaderFixture,
                  "a truncated file and a failing read are reported with path and offset") {
  for_each_engine([&](DirectReader& engine) {
    const auto ignore = [](std::uint64_t, std::span<const std::byte>) {};
    auto result = engine.read({descriptor, {819'200, 409'600}, 1'200'000}, ignore, no_check);
    CHECK(result.error == 0);
    CHECK_FALSE(result.reached_wanted);
    CHECK(result.read_end == 1'000'003);
    result = engine.read({descriptor, {1'228'800, 4'096}, 1'232'896}, ignore, no_check);
    CHECK_FALSE(result.reached_wanted);
    CHECK(result.read_end == 1'228'800);
    result = engine.read({-1, {4'096, 405'504}, 409'600}, ignore, no_check);
    CHECK(result.error == EBADF);
    CHECK(result.read_end == 4'096);
    CHECK_FALSE(result.reached_wanted);
    // The engine is whole afterwards.
    result = engine.read({descriptor, {0, 409'600}, 409'600}, ignore, no_check);
    CHECK(result.reached_wanted);
  });
}

TEST_CASE_FIXTURE(DirectReaderFixture,
                  "an exception of the caller ends the read, and the next read succeeds") {
  for_each_engine([&](DirectReader& engine) {
    int calls = 0;
    const auto throwing = [&] {
      if (++calls == 3) throw std::runtime_error("enough");
    };
    std::uint64_t taken = 0;
    const auto take = [&](std::uint64_t offset, std::span<const std::byte> bytes) {
      REQUIRE(std::equal(bytes.begin(), bytes.end(),
                         contents.begin() + static_cast<std::ptrdiff_t>(offset)));
      taken += bytes.size();
    };
    CHECK_THROWS_AS(engine.read({descriptor, {0, 983'040}, 983'040}, take, throwing),
                    std::runtime_error);
    CHECK(taken < 983'040);
    const auto throw_at_once = [](std::uint64_t, std::span<const std::byte>) {
      throw std::runtime_error("no");
    };
    CHECK_THROWS_AS(engine.read({descriptor, {0, 983'040}, 983'040}, throw_at_once, no_check),
                    std::runtime_error);
    taken = 0;
    CHECK(engine.read({descriptor, {0, 983'040}, 983'040}, take, no_check).reached_wanted);
    CHECK(taken == 983'040);
  });
}

TEST_CASE("where the kernel refuses a ring the reason is reported") {
  // UBSan reads the type of an object through a pipe the first time, which would need descriptors.
  CHECK_FALSE(std::generic_category().message(EMFILE).empty());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::string why;
  const auto ring = load::make_uring_reader(2, request_bytes, why);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(ring == nullptr);
  CHECK(why.find("io_uring") != std::string::npos);
}
