// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

Gguf& split_keys(Gguf& gguf, std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
  gguf.pair("split.no", 2, Bytes().number(number));
  gguf.pair("split.count", 2, Bytes().number(count));
  return gguf.pair("split.tensors.count", 5, Bytes().number(tensors));
}

// Three files with three tensors in all, the first without any, as gguf-split can make it.
struct Set {
  TemporaryFolder folder;
  std::array<Gguf, 3> shards;

  Set() {
    shards[0].architecture().pair("a.context_length", 4, Bytes().u32(77));
    shards[0].pair("a.list", 9, Bytes().u32(4).u64(2).u32(5).u32(6));
    for (std::uint16_t number = 0; number < 3; ++number) split_keys(shards[number], number, 3, 3);
    shards[1].tensor("b", {8}, 0, 0).tensor("c", {4}, 0, 32).data(48);
    shards[2].tensor("a", {16}, 0, 0).data(64);
  }
  std::filesystem::path path(int number) const {
    return folder.path() / ("m-0000" + std::to_string(number) + "-of-00003.gguf");
  }
  void write() const {
    for (int number = 1; number <= 3; ++number) {
      write_file(path(number), shards[static_cast<std::size_t>(number - 1)].bytes());
    }
  }
  std::string refusal(bool strict = false) const {
    write();
    return refusal_of(path(1), {strict});
  }
};

constexpr std::size_t number_pair = 0;
constexpr std::size_t count_pair = 1;
constexpr std::size_t tensors_pair = 2;

}  // namespace

TEST_CASE("gguf set: whole from any of its files") {
  const Set set;
  set.write();
  for (int given = 1; given <= 3; ++given) {
    const ModelFile model = ModelFile::open(set.path(given), {true});
    CHECK(model.path() == set.path(given));
    REQUIRE(model.files().size() == 3);
    for (int number = 1; number <= 3; ++number) {
      const ModelPart& part = model.files()[static_cast<std::size_t>(number - 1)];
      CHECK(part.path == set.path(number));
      CHECK(part.size_bytes == std::filesystem::file_size(set.path(number)));
      CHECK_FALSE(part.published_sha256.has_value());
    }
    REQUIRE(model.tensors().size() == 3);
    CHECK(model.tensors()[0].name == "b");
    CHECK(model.tensors()[1].name == "c");
    CHECK(model.tensors()[2].name == "a");
    CHECK(model.tensors()[1].file == 1);
    CHECK(model.tensors()[2].file == 2);
    CHECK(model.tensors()[2].file_offset + 64 == model.files()[2].size_bytes);
    CHECK(model.find("a") == &model.tensors()[2]);
    CHECK(model.tensor_bytes() == 112);
    CHECK(model.integer("a.context_length") == 77);
    CHECK(model.integers("a.list") == std::vector<std::int64_t>{5, 6});
    CHECK(model.integer("split.no") == 0);
    CHECK(model.warnings().empty());
    const std::vector<ModelExtent> extents{{1, model.tensors()[0].file_offset, 48},
                                           {2, model.tensors()[2].file_offset, 64}};
    CHECK(model.extents() == extents);
  }
}

TEST_CASE("gguf set: a missing file is named") {
  const Set set;
  set.write();
  std::filesystem::remove(set.path(2));
  check_message(refusal_of(set.path(3)), "input_failed", set.path(2).string(), "it is missing",
                "'m-00003-of-00003.gguf'");
  std::filesystem::remove(set.path(3));
  check_message(refusal_of(set.path(1)), "input_failed", set.path(2).string(),
                "(and 1 other file of it)");
}

TEST_CASE("gguf set: a shard in a cache keeps its name, and a link with the other name is named") {
  namespace fs = std::filesystem;
  const Set set;
  set.write();
  const fs::path root = set.folder.path() / "models--o--r";
  const fs::path blob = root / "blobs" / std::string(64, 'b');
  const fs::path link = root / "snapshots" / "abc" / "sub" / "m-00002-of-00003.gguf";
  fs::create_directories(blob.parent_path());
  fs::create_directories(link.parent_path());
  fs::copy_file(set.path(2), blob);
  const auto hint_of = [](const fs::path& path) {
    try {
      static_cast<void>(ModelFile::open(path));
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string("accepted");
  };
  const std::string without = hint_of(blob);
  CHECK(without.find("names back") == std::string::npos);
  CHECK(without.find("do not rename") != std::string::npos);
  fs::create_symlink("../../../blobs/" + blob.filename().string(), link);
  CHECK(hint_of(blob) == "name the link to it in the cache: " + link.string());
  // A file that is in no cache has lost its name.
  fs::rename(set.path(2), set.folder.path() / "lost.gguf");
  CHECK(hint_of(set.folder.path() / "lost.gguf") == "give all files of the set their names back");
}

TEST_CASE("gguf set: names and counts that contradict each other") {
  Set set;
  const auto renamed = set.folder.path() / "renamed.gguf";
  write_file(renamed, set.shards[1].bytes());
  check_message(refusal_of(renamed), "input_failed", "renamed.gguf: ", "one of 3 of a split model");
  const auto of_four = set.folder.path() / "m-00002-of-00004.gguf";
  write_file(of_four, set.shards[1].bytes());
  check_message(refusal_of(of_four), "corrupt_data", "split.count is 3", "name says 4");

  std::swap(set.shards[1], set.shards[2]);
  check_message(set.refusal(), "corrupt_data",
                "m-00002-of-00003.gguf: ", "split.no is 2 where 1 is expected");
  std::swap(set.shards[1], set.shards[2]);
  set.shards[1].pairs[number_pair] = Bytes().text("split.x").u32(2).raw({"\0\0", 2}).data();
  check_message(set.refusal(), "corrupt_data", "m-00002-of-00003.gguf: ", "split.no is missing");
}

TEST_CASE("gguf set: every file has the set's counts") {
  const auto with = [](std::size_t pair, const char* key, std::uint32_t type, const Bytes& value) {
    Set set;
    set.shards[2].pairs[pair] = Bytes().text(key).u32(type).raw(value.data()).data();
    return set.refusal();
  };
  check_message(with(count_pair, "split.count", 2, Bytes().number<std::uint16_t>(4)),
                "corrupt_data", "m-00003-of-00003.gguf: ", "split.count is 4 where 3 is expected");
  check_message(with(tensors_pair, "split.tensors.count", 5, Bytes().u32(4)), "corrupt_data",
                "m-00003-of-00003.gguf: ", "split.tensors.count is 4 where 3 is expected");
  check_message(with(count_pair, "split.count", 8, Bytes().text("3")), "corrupt_data",
                "split.count is not a number");
  check_message(with(tensors_pair, "split.tensors.count", 5, Bytes().number<std::int32_t>(-3)),
                "corrupt_data", "split.tensors.count is not a number from 0 on");
  // The first file's total counts the tensors of all.
  Set set;
  for (Gguf& shard : set.shards) {
    shard.pairs[shard.pairs.size() - 1] = Bytes().text("split.tensors.count").u32(5).u32(4).data();
  }
  check_message(set.refusal(), "corrupt_data", "m-00001-of-00003.gguf: ",
                "split.tensors.count is 4, the files of the set have 3 tensors");
  set.shards[0].pairs.pop_back();
  check_message(set.refusal(), "corrupt_data", "split.tensors.count is missing");
}

TEST_CASE("gguf set: a later file that lacks a count is warned of") {
  Set set;
  set.shards[1].pairs.erase(set.shards[1].pairs.begin() + tensors_pair);
  set.write();
  const ModelFile model = ModelFile::open(set.path(1));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("m-00002-of-00003.gguf: ") != std::string::npos);
  CHECK(model.warnings()[0].find("split.tensors.count is missing") != std::string::npos);
  check_message(set.refusal(true), "corrupt_data", "split.tensors.count is missing");
}

TEST_CASE("gguf set: a tensor in two files") {
  Set set;
  set.shards[2].tensors[0].name = "b";
  check_message(set.refusal(), "corrupt_data", "m-00003-of-00003.gguf: tensor 'b' at header offset",
                "also in 'm-00002-of-00003.gguf'");
}

TEST_CASE("gguf set: a file of it that is damaged, or something else") {
  Set set;
  set.write();
  const std::string whole = set.shards[2].bytes();
  write_file(set.path(3), whole.substr(0, whole.size() - 1));
  check_message(refusal_of(set.path(1)), "corrupt_data", "m-00003-of-00003.gguf: tensor 'a'",
                "beyond the file");
  write_file(set.path(3), "<html>");
  check_message(refusal_of(set.path(1)), "input_failed", "m-00003-of-00003.gguf: ", "web page");
  write_file(set.path(3), safetensors("{}"));
  check_message(refusal_of(set.path(1)), "input_failed", "m-00003-of-00003.gguf: ", "not GGUF");
}

TEST_CASE("gguf set: counts 0 and 1 are a model of one file") {
  for (const std::uint16_t count : {std::uint16_t{0}, std::uint16_t{1}}) {
    Gguf gguf = Gguf().architecture().tensor("a", {8}, 0, 0).data(32);
    split_keys(gguf, 0, count, 1);
    CHECK(open_bytes(gguf.bytes(), true).files().size() == 1);
  }
}

TEST_CASE("gguf set: quantized tensors of any file want the version") {
  Set set;
  set.shards[2].tensors[0] = {"q", {32}, 8, 0};
  set.write();
  const ModelFile model = ModelFile::open(set.path(2));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("m-00001-of-00003.gguf: ") != std::string::npos);
  CHECK(model.warnings()[0].find("quantization_version is missing") != std::string::npos);
}
