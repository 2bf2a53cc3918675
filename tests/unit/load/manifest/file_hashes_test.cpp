// SPDX-License-Identifier: MIT
#include "load/manifest/file_hashes.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <span>

#include "base/sha256.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"

using namespace hiptool;
using load::FileHashes;
using load::HashKind;

namespace {

std::string hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string hash_of(HashKind kind, const std::vector<std::byte>& bytes) {
  if (kind == HashKind::xxh64) return hex(XXH64(bytes.data(), bytes.size(), 0));
  if (kind == HashKind::xxh3) return hex(XXH3_64bits(bytes.data(), bytes.size()));
  base::Sha256 hasher;
  hasher.add(bytes);
  return hasher.hex_digest();
}

// A model of small tensors.
struct FileHashesFixture {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  std::filesystem::path path = test::write_small_model(folder.path() / "m.safetensors", tensors);
  ModelFile model = ModelFile::open(path);
};

ErrorCode failure_code(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return ErrorCode::internal;
}

// One tensor of zeros that takes no room on disk.
ModelFile make_large(const std::filesystem::path& path, std::uint64_t size_bytes) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[)" + std::to_string(size_bytes) +
                             R"(],"data_offsets":[0,)" + std::to_string(size_bytes) + "]}}";
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  file.close();
  std::filesystem::resize_file(path, 8 + length + size_bytes);
  return ModelFile::open(path);
}

}  // namespace

TEST_CASE("names and digits of hashes") {
  for (const HashKind kind : {HashKind::sha256, HashKind::xxh64, HashKind::xxh3}) {
    CHECK(load::hash_kind_from_name(load::to_string(kind)) == kind);
    CHECK(load::digits_of(kind) == hash_of(kind, {}).size());
  }
  CHECK_FALSE(load::hash_kind_from_name("sha1").has_value());
  CHECK_FALSE(load::hash_kind_from_name("").has_value());
}

TEST_CASE_FIXTURE(FileHashesFixture,
                  "tensors, all of them one after the other, and their digests") {
  std::vector<std::byte> all;
  for (const auto& tensor : tensors)
    all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
  for (const HashKind kind : {HashKind::sha256, HashKind::xxh64, HashKind::xxh3}) {
    FileHashes::Options options;
    options.tensors = kind;
    FileHashes hashes(model, options);
    const FileHashes::Hashes& found = hashes.get();
    REQUIRE(found.tensors.size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& info = model.tensors()[i];
      const auto same = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const auto& one) { return one.name == info.name; });
      CHECK(found.tensors[i] == hash_of(kind, same->bytes));
      std::vector<std::uint64_t> blocks;
      for (std::size_t at = 0; at < same->bytes.size(); at += 16384) {
        blocks.push_back(XXH3_64bits(same->bytes.data() + at,
                                     std::min<std::size_t>(16384, same->bytes.size() - at)));
      }
      CHECK(found.tensor_digests[i] == XXH3_64bits(blocks.data(), blocks.size() * 8));
    }
    CHECK(found.chains == std::vector{hash_of(kind, all)});
    CHECK(hashes.wait_for(std::chrono::milliseconds(0)));
    CHECK(hashes.statistics().bytes == hashes.statistics().total_bytes);
    CHECK(hashes.statistics().total_bytes == 2 * model.tensor_bytes());
  }
}

TEST_CASE_FIXTURE(FileHashesFixture, "only what is wanted is read") {
  FileHashes::Options options;
  options.tensors = HashKind::xxh3;
  options.with_chains = false;
  FileHashes hashes(model, options);
  CHECK(hashes.get().chains == std::vector<std::string>{""});
  CHECK(hashes.get().metadata.empty());
  CHECK(hashes.statistics().total_bytes == model.tensor_bytes());
  CHECK(FileHashes(model, {}).get().tensors.front().empty());
}

TEST_CASE("metadata is every byte outside the tensors, also between and after them") {
  const test::TemporaryFolder folder;
  // GGUF with alignment 32 and trailing bytes: gaps before, between and after the tensors.
  const auto path = folder.path() / "m.gguf";
  std::string bytes("GGUF\3\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  for (const char name : {'a', 'b'}) {
    bytes += std::string("\1\0\0\0\0\0\0\0", 8) + name;
    bytes += std::string("\1\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0", 16);  // 3 of F32
    bytes += std::string(1, name == 'a' ? '\0' : '\x20') + std::string(7, '\0');
  }
  bytes.resize((bytes.size() + 31) / 32 * 32, 'p');
  const std::size_t header_bytes = bytes.size();
  bytes += "aaaabbbbcccc" + std::string(20, 'q') + "ddddeeeeffff" + std::string(20, 'r') + "tail";
  std::ofstream(path, std::ios::binary) << bytes;
  const ModelFile model = ModelFile::open(path);
  REQUIRE(model.tensors().size() == 2);
  FileHashes::Options options;
  options.with_metadata = true;
  FileHashes hashes(model, options);
  const std::string outside =
      bytes.substr(0, header_bytes) + std::string(20, 'q') + std::string(20, 'r') + "tail";
  const auto expected = std::as_bytes(std::span(outside));
  const std::vector<std::byte> all(expected.begin(), expected.end());
  REQUIRE(hashes.get().metadata.size() == 1);
  const FileHashes::Metadata& found = hashes.get().metadata[0];
  CHECK(found.bytes == outside.size());
  CHECK(found.xxh3 == hash_of(HashKind::xxh3, all));
  CHECK(found.sha256 == hash_of(HashKind::sha256, all));
  CHECK(hashes.statistics().total_bytes == outside.size());
  CHECK(hashes.statistics().bytes == outside.size());
}

TEST_CASE_FIXTURE(FileHashesFixture, "a file that is not the one that was parsed") {
  FileHashes::Options options;
  options.tensors = HashKind::sha256;
  SUBCASE("gone") { std::filesystem::remove(path); }
  SUBCASE("truncated") { std::filesystem::resize_file(path, 5000); }
  SUBCASE("written to") {
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  CHECK(failure_code([&] { FileHashes(model, options); }) == ErrorCode::input_failed);
}

TEST_CASE("a file that changes meanwhile, cancelling and giving up") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "large.safetensors";
  CancelToken cancel;
  FileHashes::Options options;
  options.tensors = HashKind::sha256;
  options.cancel = &cancel;
  SUBCASE("written to") {
    // A machine that is busy with something else may have hashed a small one by then.
    std::optional<ErrorCode> code;
    for (std::uint64_t bytes = 64u << 20; !code && bytes < std::uint64_t{8} << 30; bytes *= 4) {
      const ModelFile model = make_large(path, bytes);
      FileHashes hashes(model, options);
      std::filesystem::last_write_time(
          path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
      code = test::code_of([&] { hashes.get(); });
    }
    CHECK(code == ErrorCode::input_failed);
  }
  const std::uint64_t size = std::uint64_t{256} << 30;  // of a hole: minutes of hashing
  SUBCASE("truncated") {
    const ModelFile model = make_large(path, size);
    FileHashes hashes(model, options);
    std::filesystem::resize_file(path, 4096);
    CHECK(failure_code([&] { hashes.get(); }) == ErrorCode::input_failed);
  }
  SUBCASE("cancelled") {
    const ModelFile model = make_large(path, size);
    FileHashes hashes(model, options);
    CHECK_FALSE(hashes.wait_for(std::chrono::milliseconds(0)));
    cancel.cancel();
    CHECK(failure_code([&] { hashes.get(); }) == ErrorCode::cancelled);
    CHECK(hashes.statistics().bytes < size);
  }
  SUBCASE("given up") {
    const ModelFile model = make_large(path, size);
    const FileHashes hashes(model, options);
    CHECK(hashes.statistics().bytes < size);
  }
}
