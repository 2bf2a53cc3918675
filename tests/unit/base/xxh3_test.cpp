// SPDX-License-Identifier: MIT
#include "base/xxh3.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <cstring>
#include <map>
#include <string>

#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using base::Xxh3Path;

namespace {

/// Sets a path, and the best one again afterwards.
class PathGuard {
 public:
  explicit PathGuard(Xxh3Path path) { base::set_xxh3_path(path); }
  ~PathGuard() { base::set_xxh3_path(before_); }
  PathGuard(const PathGuard&) = delete;
  PathGuard& operator=(const PathGuard&) = delete;

 private:
  Xxh3Path before_ = base::xxh3_path();
};

template <class Check>
void for_each_path(Check&& check) {
  for (const Xxh3Path path : base::xxh3_paths) {
    if (!base::has_xxh3_path(path)) continue;
    CAPTURE(std::string(to_string(path)));
    const PathGuard guard(path);
    REQUIRE(base::xxh3_path() == path);
    check();
  }
}

}  // namespace

TEST_CASE("the best path of this processor is chosen, and any other can be set") {
  Xxh3Path best = Xxh3Path::library;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) best = Xxh3Path::avx2;
  if (__builtin_cpu_supports("avx512f") != 0) best = Xxh3Path::avx512;
#endif
  CHECK(base::xxh3_path() == best);
  CHECK(base::has_xxh3_path(Xxh3Path::library));
  for (const Xxh3Path path : base::xxh3_paths) {
    if (base::has_xxh3_path(path)) continue;
    CHECK_THROWS_AS(base::set_xxh3_path(path), Error);
    CHECK(base::xxh3_path() == best);
  }
}

TEST_CASE("every path has the library's digests, for all short lengths, blocks and alignments") {
  const auto bytes = test::random_bytes(70'000, 11);
  for_each_path([&] {
    int wrong = 0;
    for (std::size_t size = 0; size <= 2000; ++size) {
      wrong += base::xxh3_64(bytes.data(), size) != XXH3_64bits(bytes.data(), size);
      const std::byte* const odd = bytes.data() + size % 64;
      wrong += base::xxh3_64(odd, size) != XXH3_64bits(odd, size);
    }
    for (const std::size_t size : {16'383u, 16'384u, 16'385u, 65'536u}) {
      for (std::size_t offset = 0; offset < 64; ++offset) {
        const std::byte* const data = bytes.data() + offset;
        wrong += base::xxh3_64(data, size) != XXH3_64bits(data, size);
      }
    }
    CHECK(wrong == 0);
    CHECK(base::xxh3_64(nullptr, 0) == XXH3_64bits(nullptr, 0));
  });
}

TEST_CASE("every path has the digests that Python's xxhash has") {
  // xxhash.xxh3_64_intdigest(bytes(i * 7 % 251 for i in range(n)))
  const std::map<std::size_t, std::uint64_t> digests{
      {0, 0x2d06800538d394c2U},    {1, 0xc44bdff4074eecdbU},     {16, 0x9da23836adf2be1eU},
      {128, 0x4c659b745f435148U},  {240, 0xd6dfbf67b0675b54U},   {241, 0xc614c8c3575348c1U},
      {1024, 0xf22ef3dc84ff47eaU}, {16383, 0x43883cf8b856a8e7U}, {16384, 0x864dbfe804f84fdaU}};
  std::vector<unsigned char> bytes(16'384);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 % 251);
  for_each_path([&] {
    for (const auto& [size, digest] : digests) CHECK(base::xxh3_64(bytes.data(), size) == digest);
  });
}
