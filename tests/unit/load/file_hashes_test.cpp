// SPDX-License-Identifier: MIT
#include "load/file_hashes.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>

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
struct Fixture {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  std::filesystem::path path = test::write_small_model(folder.path() / "m.safetensors", tensors);
  ModelFile model = ModelFile::open(path);

  std::vector<std::byte> content() const {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
};

ErrorCode failure(const std::function<void()>& action) {
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

TEST_CASE_FIXTURE(Fixture, "tensors, all of them behind each other, and the whole file") {
  std::vector<std::byte> all;
  for (const auto& tensor : tensors)
    all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
  for (const HashKind kind : {HashKind::sha256, HashKind::xxh64, HashKind::xxh3}) {
    FileHashes::Options options;
    options.whole_files = {0};
    options.tensors = kind;
    FileHashes hashes(model, options);
    const FileHashes::Hashes& found = hashes.get();
    REQUIRE(found.tensors.size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& info = model.tensors()[i];
      const auto same = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const auto& one) { return one.name == info.name; });
      CHECK(found.tensors[i] == hash_of(kind, same->bytes));
    }
    CHECK(found.chains == std::vector{hash_of(kind, all)});
    CHECK(found.whole_files == std::vector{hash_of(HashKind::sha256, content())});
    CHECK(hashes.wait_for(std::chrono::milliseconds(0)));
    CHECK(hashes.done_bytes() == hashes.total_bytes());
    CHECK(hashes.total_bytes() == model.file_bytes() + 2 * model.tensor_bytes());
  }
}

TEST_CASE_FIXTURE(Fixture, "only what is wanted is read") {
  FileHashes::Options options;
  options.tensors = HashKind::xxh3;
  options.with_chains = false;
  FileHashes hashes(model, options);
  CHECK(hashes.get().chains == std::vector<std::string>{""});
  CHECK(hashes.get().whole_files == std::vector<std::string>{""});
  CHECK(hashes.total_bytes() == model.tensor_bytes());
  CHECK(FileHashes(model, {}).get().tensors.front().empty());
}

TEST_CASE_FIXTURE(Fixture, "a file that is not the one that was parsed") {
  FileHashes::Options options;
  options.whole_files = {0};
  SUBCASE("gone") { std::filesystem::remove(path); }
  SUBCASE("truncated") { std::filesystem::resize_file(path, 5000); }
  SUBCASE("written to") {
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  CHECK(failure([&] { FileHashes(model, options); }) == ErrorCode::input_failed);
}

TEST_CASE("a file that changes meanwhile, cancelling and giving up") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "large.safetensors";
  CancelToken cancel;
  FileHashes::Options options;
  options.whole_files = {0};
  options.cancel = &cancel;
  SUBCASE("written to") {
    const ModelFile model = make_large(path, 256u << 20);
    FileHashes hashes(model, options);
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    CHECK(failure([&] { hashes.get(); }) == ErrorCode::input_failed);
  }
  const std::uint64_t size = std::uint64_t{4} << 30;
  SUBCASE("truncated") {
    const ModelFile model = make_large(path, size);
    FileHashes hashes(model, options);
    std::filesystem::resize_file(path, 4096);
    CHECK(failure([&] { hashes.get(); }) == ErrorCode::input_failed);
  }
  SUBCASE("cancelled") {
    const ModelFile model = make_large(path, size);
    FileHashes hashes(model, options);
    CHECK_FALSE(hashes.wait_for(std::chrono::milliseconds(0)));
    cancel.cancel();
    CHECK(failure([&] { hashes.get(); }) == ErrorCode::cancelled);
    CHECK(hashes.done_bytes() < size);
  }
  SUBCASE("given up") {
    const ModelFile model = make_large(path, size);
    const auto start = std::chrono::steady_clock::now();
    { const FileHashes hashes(model, options); }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1500));
  }
}
