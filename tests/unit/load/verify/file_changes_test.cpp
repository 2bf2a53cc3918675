// SPDX-License-Identifier: MIT
#include "load/verify/file_changes.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <chrono>
#include <functional>
#include <thread>

#include "cases.hpp"
#include "hiptool/error.hpp"
#include "load/layout/blocks.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::load;
namespace fs = std::filesystem;

namespace {

// A model, and the result of a verification that found the last tensor wrong on the device.
struct FileChangesFixture {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  fs::path path = test::write_small_model(folder.path() / "m.safetensors", tensors);
  ModelFile model = ModelFile::open(path);
  VerifyResult result;

  FileChangesFixture() {
    for (const TensorInfo& tensor : model.tensors()) {
      std::vector<std::uint64_t> blocks;
      const auto& bytes = content(tensor.name);
      for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
        blocks.push_back(
            XXH3_64bits(bytes.data() + at, std::min<std::size_t>(block_bytes, bytes.size() - at)));
      }
      result.tensor_digests.push_back(XXH3_64bits(blocks.data(), blocks.size() * 8));
    }
    const TensorInfo& wrong = large();
    result.mismatches.push_back({wrong.name, 0, wrong.file_offset + 500'000, 0, 1, "cpu:0"});
    result.mismatch_count = 1;
  }

  const std::vector<std::byte>& content(const std::string& name) const {
    for (const auto& tensor : tensors) {
      if (tensor.name == name) return tensor.bytes;
    }
    FAIL("no such tensor");
    return tensors.front().bytes;
  }
  // Of several blocks, the last one short.
  const TensorInfo& large() const { return *model.find("blk.11.weight"); }

  Error failure(const std::function<void()>& action) const {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "test", "nothing was thrown");
  }
  void expect_blame(const std::string& what) const {
    const Error error = failure([&] { load::blame_changed_files(model, result); });
    CAPTURE(std::string(error.what()));
    CHECK(error.code() == ErrorCode::input_failed);
    CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
    CHECK(std::string(error.what()).find(what) != std::string::npos);
  }
  // Through a shared mapping; puts the times back that it moved, if it moved them.
  void flip_in_mapping(std::uint64_t offset) const {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(descriptor >= 0);
    const std::size_t size = fs::file_size(path);
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    REQUIRE(mapped != MAP_FAILED);
    static_cast<unsigned char*>(mapped)[offset] ^= 1;
    munmap(mapped, size);
    ::close(descriptor);
  }
};

}  // namespace

TEST_CASE_FIXTURE(FileChangesFixture, "an unchanged file is not blamed") {
  CHECK_NOTHROW(load::blame_changed_files(model, result));
  // Of a tensor whose reading is not known nothing can be said.
  for (std::uint64_t& digest : result.tensor_digests) digest = 0;
  CHECK_NOTHROW(load::blame_changed_files(model, result));
}

TEST_CASE_FIXTURE(FileChangesFixture, "a file that was written and restored is blamed") {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat before {};
  REQUIRE(fstat(descriptor, &before) == 0);
  char byte = 0;
  const auto at = static_cast<off_t>(large().file_offset);
  REQUIRE(pread(descriptor, &byte, 1, at) == 1);
  REQUIRE(pwrite(descriptor, "?", 1, at) == 1);
  REQUIRE(pwrite(descriptor, &byte, 1, at) == 1);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(futimens(descriptor, times) == 0);
  ::close(descriptor);
  expect_blame("its ctime moved");
}

TEST_CASE_FIXTURE(FileChangesFixture, "a file that was truncated, replaced or removed is blamed") {
  SUBCASE("cut") {
    fs::resize_file(path, 1000);
    expect_blame("it was truncated");
  }
  SUBCASE("replaced") {
    fs::copy_file(path, folder.path() / "other");
    fs::rename(folder.path() / "other", path);
    expect_blame("changed while it was read");
  }
  SUBCASE("removed") {
    fs::remove(path);
    expect_blame("cannot open");
  }
}

TEST_CASE("a write through a shared mapping is found by its bytes") {
  if (!fs::is_directory("/dev/shm")) return test::skip_case("there is no /dev/shm");
  // On tmpfs, where such a write moves no time.
  setenv("TMPDIR", "/dev/shm", 1);
  const FileChangesFixture fixture;
  unsetenv("TMPDIR");
  fixture.flip_in_mapping(fixture.large().file_offset + 999'999);
  fixture.expect_blame("two readings of tensor 'blk.11.weight' differ");
  fixture.flip_in_mapping(fixture.large().file_offset + 999'999);
  CHECK_NOTHROW(load::blame_changed_files(fixture.model, fixture.result));
}

TEST_CASE_FIXTURE(FileChangesFixture, "reading again can be cancelled") {
  CancelToken cancel;
  cancel.cancel();
  const Error error = failure([&] { load::blame_changed_files(model, result, &cancel); });
  CHECK(error.code() == ErrorCode::cancelled);
}

TEST_CASE_FIXTURE(FileChangesFixture, "two readings are the same or the file is named") {
  auto other = result.tensor_digests;
  CHECK_NOTHROW(load::require_same_reading(model, result.tensor_digests, other));
  other.back() ^= 1;
  const Error error =
      failure([&] { load::require_same_reading(model, result.tensor_digests, other); });
  CHECK(error.code() == ErrorCode::input_failed);
  CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
  CHECK(std::string(error.what()).find("'" + model.tensors().back().name + "'") !=
        std::string::npos);
}
