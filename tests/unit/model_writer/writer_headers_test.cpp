// SPDX-License-Identifier: MIT
#include "model_writer/writer_headers.hpp"

#include <iterator>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "hiptool/error.hpp"
#include "model_writer/model_writer.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::model_writer;
using namespace hiptool::model;

namespace {

ModelWriterOptions options_of(std::uint32_t tensors, std::uint32_t shards,
                              ModelFormat format = ModelFormat::gguf) {
  ModelWriterOptions options;
  options.path = "folder/m";
  options.format = format;
  options.size_bytes = 1u << 20;
  options.tensors = tensors;
  options.shards = shards;
  return options;
}

std::size_t entry_count(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("shard names: numbers from one, five digits, the ending once") {
  CHECK(shard_path("a/m.gguf", ModelFormat::gguf, 0, 1) == "a/m.gguf");
  CHECK(shard_path("a/m.gguf", ModelFormat::gguf, 0, 2) == "a/m-00001-of-00002.gguf");
  CHECK(shard_path("m", ModelFormat::gguf, 65'534, 65'535) == "m-65535-of-65535.gguf");
  CHECK(shard_path("m.bin", ModelFormat::gguf, 1, 2) == "m.bin-00002-of-00002.gguf");
  CHECK(shard_path("m.safetensors", ModelFormat::safetensors, 2, 12) ==
        "m-00003-of-00012.safetensors");
}

TEST_CASE("sets: every tensor once, in order, in files of about the same size") {
  for (const std::uint32_t shards : {1u, 2u, 3u, 7u, 40u, 90u}) {
    const WriterPlan whole = plan_model(options_of(90, 1));
    const WriterPlan set = plan_model(options_of(90, shards));
    CAPTURE(shards);
    REQUIRE(set.files.size() == shards);
    CHECK(set.tensors == 90);
    std::size_t next = 0;
    for (const PlannedFile& file : set.files) {
      REQUIRE_FALSE(file.tensors.empty());
      std::uint64_t bytes = 0;
      for (const PlannedTensor& tensor : file.tensors) {
        CHECK(tensor.name == whole.files[0].tensors[next].name);
        CHECK(tensor.pattern.seed == whole.files[0].tensors[next].pattern.seed);
        bytes += tensor.size_bytes;
        ++next;
      }
      CHECK(file.tensors.front().offset == 0);
      if (shards <= 7) CHECK(bytes < set.tensor_bytes / shards + 200'000);
      CHECK(file.header.size() % 32 == 0);
    }
    CHECK(next == 90);
  }
}

TEST_CASE("sets: the index names each tensor's file, whatever the files are called") {
  ModelWriterOptions options = options_of(5, 2, ModelFormat::safetensors);
  options.path = "a \"b\".safetensors";
  const WriterPlan plan = plan_model(options);
  REQUIRE(plan.files.size() == 3);
  CHECK(plan.files[2].path == "a \"b\".safetensors.index.json");
  CHECK(plan.files[2].data_bytes == 0);
  const auto index = nlohmann::json::parse(plan.files[2].header);
  CHECK(index["metadata"]["total_size"] == plan.tensor_bytes);
  CHECK(index["weight_map"].size() == 5);
  for (std::size_t number = 0; number < 2; ++number) {
    for (const PlannedTensor& tensor : plan.files[number].tensors) {
      CHECK(index["weight_map"][tensor.name] == plan.files[number].path.filename().string());
    }
  }
}

TEST_CASE("sets: numbers that make no sense") {
  const auto refused = [](const ModelWriterOptions& options) {
    try {
      plan_model(options);
    } catch (const Error& error) {
      CHECK_FALSE(error.hint().empty());
      return error.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  CHECK(refused(options_of(4, 0)));
  CHECK(refused(options_of(4, 5)));
  CHECK(refused(options_of(100'000, 65'536)));
  CHECK_FALSE(refused(options_of(4, 4)));
  ModelWriterOptions options = options_of(1, 1);
  options.vocabulary = 10'000'001;
  CHECK(refused(options));
  options = options_of(1, 1, ModelFormat::safetensors);
  options.vocabulary = 1;
  CHECK(refused(options));
}

TEST_CASE("sets: the file that readers begin with gets its name last, and all or none") {
  const test::TemporaryFolder folder;
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    ModelWriterOptions options = options_of(6, 3, format);
    options.path = folder.path() / "m";
    options.size_bytes = 1u << 20;
    const std::filesystem::path first = format == ModelFormat::gguf
                                            ? folder.path() / "m-00001-of-00003.gguf"
                                            : folder.path() / "m.safetensors.index.json";
    // A folder stands in the way of the first file from the last write on.
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (done == total) std::filesystem::create_directories(first / "taken");
    };
    ErrorCode code = ErrorCode::internal;
    try {
      write_model(options);
    } catch (const Error& error) {
      code = error.code();
    }
    CHECK(code == ErrorCode::output_failed);
    CHECK(entry_count(folder.path()) == 1);
    std::filesystem::remove_all(first);
    options.progress = {};
    const ModelWriterResult result = write_model(options);
    CHECK(result.path == first);
    CHECK(result.files == 3);
    CHECK(entry_count(folder.path()) == (format == ModelFormat::gguf ? 3 : 4));
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      std::filesystem::remove(entry);
    }
  }
}

TEST_CASE("sets: progress counts the whole set; cancelling leaves nothing") {
  const test::TemporaryFolder folder;
  CancelToken cancel;
  ModelWriterOptions options = options_of(4, 4);
  options.path = folder.path() / "m";
  options.size_bytes = 4u << 20;
  std::uint64_t last = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done >= last);
    CHECK(done <= total);
    CHECK(total >= 4'000'000);
    last = done;
  };
  write_model(options);
  CHECK(last >= 4'000'000);
  for (std::uint32_t number = 0; number < 4; ++number) {
    std::filesystem::remove(shard_path(options.path, ModelFormat::gguf, number, 4));
  }
  CHECK(entry_count(folder.path()) == 0);
  options.cancel = &cancel;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done > total / 2) cancel.cancel();
  };
  CHECK_THROWS_AS(write_model(options), Error);
  CHECK(entry_count(folder.path()) == 0);
}
