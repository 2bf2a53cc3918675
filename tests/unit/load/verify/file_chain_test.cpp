// SPDX-License-Identifier: MIT
#include "load/verify/file_chain.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>

#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/verify/readback.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::load;
using load::FileChain;

namespace {

// A file of random bytes, and what coreutils' sha256sum says of it.
struct FileChainFixture {
  static constexpr std::size_t size_bytes = 200'003;
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "file";
  std::vector<std::byte> content = test::random_bytes(size_bytes, 7);
  std::string expected_sha256;

  FileChainFixture() {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), size_bytes);
    const std::string command = "sha256sum " + path.string();
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    char digits[65] = {};
    REQUIRE(std::fread(digits, 1, 64, pipe.get()) == 64);
    expected_sha256 = digits;
  }

  void check(const std::vector<FileChain::Tensor>& tensors, std::uint64_t read_bytes) const {
    std::vector<std::uint64_t> expected;
    for (const auto& [bytes, block] : tensors) {
      REQUIRE(block == expected.size());
      for (std::uint64_t at = bytes.offset; at < bytes.end(); at += block_bytes) {
        expected.push_back(
            XXH3_64bits(content.data() + at, std::min(block_bytes, bytes.end() - at)));
      }
    }
    auto shuffled = tensors;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937_64(tensors.size()));
    const base::File file = base::File::open(path);
    FileChain chain(shuffled, size_bytes, read_bytes);
    std::vector<std::uint64_t> digests(expected.size());
    std::uint64_t read = 0;
    for (std::uint64_t got = 1; got > 0; read += got) got = chain.read_next(file, digests);
    CAPTURE(read_bytes);
    CHECK(read == size_bytes);
    CHECK(digests == expected);
    CHECK(chain.sha256() == expected_sha256);
  }
};

std::vector<FileChain::Tensor> numbered(std::vector<FileChain::Tensor> tensors) {
  std::uint64_t next = 0;
  for (auto& [bytes, block] : tensors) {
    block = next;
    next += (bytes.size_bytes + block_bytes - 1) / block_bytes;
  }
  return tensors;
}

}  // namespace

TEST_CASE_FIXTURE(FileChainFixture,
                  "hash and digests are those of the bytes, wherever a buffer ends") {
  const auto tensors = numbered({{{0, 1}},                     // at the start
                                 {{13, 0}},                    // empty
                                 {{13, 40'001}},               // at an odd offset
                                 {{40'014, block_bytes}},      // right after it, a whole block
                                 {{40'014, 3 * block_bytes}},  // the same bytes once more
                                 {{50'000, 100'000}},          // overlapping both
                                 {{size_bytes - 1, 1}},        // the last byte
                                 {{size_bytes, 0}}});          // empty, at the end
  for (const std::uint64_t read_bytes :
       {std::uint64_t{1'000}, block_bytes - 1, block_bytes, block_bytes + 1, std::uint64_t{40'014},
        std::uint64_t{size_bytes}, std::uint64_t{256} << 10}) {
    check(tensors, read_bytes);
  }
}

TEST_CASE_FIXTURE(FileChainFixture, "a file without tensors has a hash only") { check({}, 4096); }

TEST_CASE_FIXTURE(FileChainFixture, "random ranges and buffers") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<FileChain::Tensor> tensors(random() % 9);
    for (auto& [bytes, block] : tensors) {
      bytes.offset = random() % size_bytes;
      bytes.size_bytes = random() % (size_bytes - bytes.offset + 1);
    }
    check(numbered(tensors), 1 + random() % 60'000);
  }
}

TEST_CASE_FIXTURE(FileChainFixture, "a file that ends too early is named") {
  const base::File file = base::File::open(path);
  std::filesystem::resize_file(path, 100'000);
  FileChain chain({}, size_bytes, 4096);
  std::vector<std::uint64_t> none;
  try {
    while (chain.read_next(file, none) > 0) continue;
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::input_failed);
    CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
  }
}
