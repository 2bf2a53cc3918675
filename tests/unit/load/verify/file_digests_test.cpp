// SPDX-License-Identifier: MIT
#include "load/verify/file_digests.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "load/verify/readback.hpp"
#include "small_model.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::load;
namespace fs = std::filesystem;

namespace {

std::vector<std::uint64_t> expected_digests(const std::vector<test::SmallTensor>& tensors) {
  std::vector<std::uint64_t> digests;
  for (const auto& tensor : tensors) {
    for (std::size_t at = 0; at < tensor.bytes.size(); at += block_bytes) {
      const std::size_t size = std::min<std::size_t>(block_bytes, tensor.bytes.size() - at);
      digests.push_back(XXH3_64bits(tensor.bytes.data() + at, size));
    }
  }
  return digests;
}

/// A model of one tensor of zeros that takes no room on disk, last written an hour ago.
struct LargeModel {
  static constexpr std::uint64_t tensor_bytes = 128u << 20;

  test::TemporaryFolder folder;
  fs::path path = folder.path() / "large.safetensors";

  LargeModel() { write(path); }

  static void write(const fs::path& path) {
    const std::string header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[" +
                               std::to_string(tensor_bytes) + "],\"data_offsets\":[0," +
                               std::to_string(tensor_bytes) + "]}}";
    const std::uint64_t length = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    file.close();
    fs::resize_file(path, sizeof length + length + tensor_bytes);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
};

Error failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "test", "nothing was thrown");
}

bool wait_for_bytes(const FileDigests& digests, std::uint64_t bytes) {
  return test::comes_true([&] { return digests.statistics().bytes >= bytes; });
}

/// How many ranges each thread has read.
std::map<std::uint32_t, int> ranges_by_track(const Timeline& timeline) {
  std::map<std::uint32_t, int> ranges;
  for (const auto& span : timeline.spans()) ++ranges[span.track];
  return ranges;
}

}  // namespace

TEST_CASE_FIXTURE(test::ModelFixture, "digests are those of the tensors, whatever the threads do") {
  const auto expected = expected_digests(tensors);
  for (const std::uint32_t threads : {0u, 1u, 3u, 100u}) {
    FileDigests digests(model, {threads});
    digests.limit_threads(threads % 2);  // chosen, or one
    CHECK(std::ranges::equal(digests.get(), expected));
    CHECK(std::ranges::equal(digests.get(), expected));
    CHECK(digests.statistics().bytes == layout.tensor_bytes);
    CHECK(digests.statistics().duration_s > 0);
    CHECK(digests.statistics().duration_s == digests.statistics().duration_s);  // it stands still
    digests.limit_threads(1);
  }
  FileDigests shared(model);
  std::vector<std::jthread> threads;
  std::atomic<int> equal{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { equal += std::ranges::equal(shared.get(), expected); });
  threads.clear();
  CHECK(equal == 4);
}

TEST_CASE("no more threads than the limit run, and all run again when somebody waits") {
  const LargeModel large;
  const ModelFile model = ModelFile::open(large.path);
  Timeline timeline;
  FileDigests digests(model, {4, nullptr, &timeline});
  digests.limit_threads(1);
  const auto before = ranges_by_track(timeline);
  REQUIRE(wait_for_bytes(digests, LargeModel::tensor_bytes));
  int beyond = 0;  // threads that read more than the one range they may have been at
  for (const auto& [track, ranges] : ranges_by_track(timeline)) {
    const auto at_limit = before.find(track);
    if (ranges > (at_limit == before.end() ? 0 : at_limit->second) + 1) ++beyond;
  }
  CHECK(beyond <= 1);
  const std::vector<std::byte> zeros(block_bytes);
  const std::uint64_t zeros_digest = XXH3_64bits(zeros.data(), zeros.size());
  const auto found = digests.get();
  CHECK(found.size() == LargeModel::tensor_bytes / block_bytes);
  CHECK(std::ranges::count(found, zeros_digest) == std::ssize(found));
}

TEST_CASE("reading completes although threads pause") {
  const LargeModel large;
  const ModelFile model = ModelFile::open(large.path);
  FileDigests digests(model, {4});
  digests.limit_threads(1);
  CHECK(test::comes_true([&] { return digests.wait_for(std::chrono::milliseconds(0)); }));
}

TEST_CASE("a file that changes while it is read is named, whatever happens to it") {
  const LargeModel large;
  const std::uint64_t size = fs::file_size(large.path);
  const fs::path other = large.folder.path() / "other";
  const std::vector<std::pair<std::string, std::function<void()>>> changes{
      {"truncated", [&] { fs::resize_file(large.path, size - 1); }},
      {"cut short", [&] { fs::resize_file(large.path, 1000); }},
      {"grown", [&] { fs::resize_file(large.path, size + 1); }},
      {"overwritten", [&] { std::fstream(large.path) << 'x'; }},
      {"replaced", [&] { fs::rename(other, large.path); }},
      {"removed", [&] { fs::remove(large.path); }}};
  for (const auto& change : changes) {
    CAPTURE(change.first);
    bool is_in_time = false;  // the reader may have been quicker
    for (int attempt = 0; attempt < 20 && !is_in_time; ++attempt) {
      for (const fs::path& path : {large.path, other}) LargeModel::write(path);
      fs::last_write_time(other, fs::last_write_time(large.path));
      const ModelFile model = ModelFile::open(large.path);
      FileDigests digests(model, {4});
      digests.limit_threads(1);  // so that others pause when the one fails
      change.second();
      is_in_time = digests.statistics().bytes < LargeModel::tensor_bytes;
      if (!is_in_time) continue;
      const Error error = failure([&] { digests.get(); });
      CHECK(error.code() == ErrorCode::input_failed);
      CHECK(std::string(error.what()).find(large.path.string()) != std::string::npos);
    }
    CHECK(is_in_time);
  }
}

TEST_CASE_FIXTURE(test::ModelFixture, "a file that is not the parsed one any more is refused") {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(failure([&] { FileDigests{model}; }).code() == ErrorCode::input_failed);
  fs::remove(path);
  CHECK(failure([&] { FileDigests{model}; }).code() == ErrorCode::input_failed);
}

TEST_CASE("reading can be cancelled and given up, also while threads pause") {
  const LargeModel large;
  const ModelFile model = ModelFile::open(large.path);
  CancelToken cancel;
  FileDigests digests(model, {3, &cancel});
  digests.limit_threads(1);
  cancel.cancel();
  CHECK(failure([&] { digests.get(); }).code() == ErrorCode::cancelled);
  for (const std::uint32_t threads : {1u, 4u}) {
    FileDigests given_up(model, {threads});
    given_up.limit_threads(1);
  }
}

TEST_CASE_FIXTURE(test::ModelFixture, "SHA-256 and digests come from one reading of a file") {
  const auto expected = expected_digests(tensors);
  FILE* pipe = popen(("sha256sum " + path.string()).c_str(), "r");
  char expected_hash[65] = {};
  REQUIRE(std::fread(expected_hash, 1, 64, pipe) == 64);
  pclose(pipe);
  for (const std::uint32_t threads : {1u, 4u}) {
    FileDigests digests(model, {threads, nullptr, nullptr, {0}});
    digests.limit_threads(1);
    CHECK(std::ranges::equal(digests.get(), expected));
    CHECK(digests.sha256() == std::vector<std::string>{expected_hash});
    CHECK(digests.wait_for(std::chrono::milliseconds(0)));
    CHECK(digests.statistics().bytes == model.file_bytes());  // each byte once
    CHECK(digests.statistics().total_bytes == model.file_bytes());
  }
  FileDigests without(model);
  CHECK(without.sha256() == std::vector<std::string>{""});
  CHECK(without.statistics().total_bytes == model.tensor_bytes());
  for (const std::vector<std::uint32_t>& files : {std::vector{1u}, std::vector{0u, 0u}}) {
    CHECK(failure([&] {
            FileDigests(model, {1, nullptr, nullptr, files});
          }).code() == ErrorCode::out_of_bounds);
  }
}

TEST_CASE("a file that is hashed as a whole and changes is named, and can be given up") {
  const LargeModel large;
  const ModelFile model = ModelFile::open(large.path);
  {
    FileDigests given_up(model, {1, nullptr, nullptr, {0}});
    CHECK_FALSE(given_up.wait_for(std::chrono::milliseconds(0)));
  }
  const auto modified = fs::last_write_time(large.path);
  FileDigests digests(model, {1, nullptr, nullptr, {0}});
  // Of zeros: written with what it holds, and the time put back.
  std::fstream(large.path, std::ios::in | std::ios::out | std::ios::binary).seekp(1 << 20).put(0);
  fs::last_write_time(large.path, modified);
  const Error error = failure([&] { digests.sha256(); });
  CHECK(error.code() == ErrorCode::input_failed);
  CHECK(std::string(error.what()).find("its ctime moved") != std::string::npos);
}

TEST_CASE("a model of no bytes has no digests") {
  const test::TemporaryFolder folder;
  const ModelFile model = ModelFile::open(
      test::write_small_model(folder.path() / "m.safetensors", {{"a", {}}, {"b", {}}}));
  FileDigests digests(model);
  CHECK(digests.get().empty());
}
