// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "model/parts.hpp"
#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;
using namespace std::string_literals;

namespace {

std::string one_tensor(const std::string& name, int size, const std::string& before = {}) {
  const std::string number = std::to_string(size);
  return safetensors("{" + before + "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + number +
                         "],\"data_offsets\":[0," + number + "]}}",
                     static_cast<std::size_t>(size));
}

const std::string first_name = "model-00001-of-00002.safetensors";
const std::string second_name = "model-00002-of-00002.safetensors";

// Two files of one tensor each, and their index.
struct ShardSet {
  TemporaryFolder folder;
  ShardSet() {
    write_file(first(), one_tensor("z", 3, R"("__metadata__":{"format":"pt"},)"));
    write_file(second(), one_tensor("a", 5, R"("__metadata__":{"format":"np","more":"x"},)"));
    write_index(R"({"a":")" + second_name + R"(","z":")" + first_name + R"("})");
  }
  std::filesystem::path first() const { return folder.path() / first_name; }
  std::filesystem::path second() const { return folder.path() / second_name; }
  std::filesystem::path index() const { return folder.path() / "model.safetensors.index.json"; }
  void write_index(const std::string& map,
                   const std::string& metadata = "{\"total_size\": 8}") const {
    write_file(index(), "{\"metadata\": " + metadata + ", \"weight_map\": " + map + "}\n");
  }
  std::string refusal_of_map(const std::string& map) const {
    write_index(map);
    return refusal_of(index());
  }
};

}  // namespace

TEST_CASE("safetensors set: from the index and from each of its files") {
  const ShardSet set;
  for (const auto& given : {set.index(), set.first(), set.second()}) {
    const ModelFile model = ModelFile::open(given, {true});
    CHECK(model.path() == given);
    CHECK(model.format() == ModelFormat::safetensors);
    REQUIRE(model.files().size() == 2);
    CHECK(model.files()[0].path == set.first());
    CHECK(model.files()[1].path == set.second());
    CHECK(model.file_bytes() ==
          std::filesystem::file_size(set.first()) + std::filesystem::file_size(set.second()));
    REQUIRE(model.tensors().size() == 2);
    CHECK(model.tensors()[0].name == "z");
    CHECK(model.tensors()[0].file == 0);
    CHECK(model.find("a") == &model.tensors()[1]);
    CHECK(model.find("a")->file == 1);
    CHECK(model.find("a")->file_offset + 5 == model.files()[1].size_bytes);
    CHECK(model.text("format") == "pt");
    CHECK(model.text("more") == "x");
    CHECK(model.integer("total_size") == 8);
    CHECK(model.warnings().empty());
  }
}

TEST_CASE("safetensors set: a shard without its index is a file of its own") {
  const ShardSet set;
  std::filesystem::remove(set.index());
  const ModelFile alone = ModelFile::open(set.first(), {true});
  CHECK(alone.files().size() == 1);
  CHECK(alone.tensors().size() == 1);
  REQUIRE(alone.warnings().size() == 1);
  CHECK(alone.warnings()[0].find("'model.safetensors.index.json' is not in its folder") !=
        std::string::npos);
  // Nor is one that its index does not list.
  set.write_index(R"({"a":")" + second_name + R"("})");
  const ModelFile unlisted = ModelFile::open(set.first(), {true});
  CHECK(unlisted.tensors().size() == 1);
  REQUIRE(unlisted.warnings().size() == 1);
  CHECK(unlisted.warnings()[0].find("does not list it") != std::string::npos);
}

TEST_CASE("safetensors set: names that leave the folder are refused") {
  const ShardSet set;
  for (const char* name :
       {"../secret.safetensors", "/etc/passwd", "", ".", "..", "a\\\\b.safetensors", "a\\u0000b",
        "a\\nb", "sub/../../secret", "sub/../b", "./", "././..", ".//b", "./../b", "sub//b", "sub/",
        "sub/.", "a/b/c/d/e/f/g/h/i/j"}) {
    CAPTURE(name);
    check_message(set.refusal_of_map("{\"a\":\"" + second_name + "\",\"z\":\"" + name + "\"}"),
                  "corrupt_data", "index.json: tensor 'z' at offset ",
                  "does not name a file of the index's folder");
  }
  check_message(set.refusal_of_map("{\"z\":\"" + std::string(5000, 'x') + "\"}"), "corrupt_data",
                "does not name a file of the index's folder");
  check_message(set.refusal_of_map("{\"z\":1}"), "corrupt_data", "tensor 'z' at offset ",
                "a number instead of a string");
}

TEST_CASE("safetensors set: missing files") {
  const ShardSet set;
  std::filesystem::remove(set.second());
  check_message(refusal_of(set.index()), "input_failed", set.second().string(), "it is missing",
                "model.safetensors.index.json");
  check_message(refusal_of(set.first()), "input_failed", set.second().string());
  std::filesystem::create_symlink("../../blobs/abc", set.second());
  check_message(refusal_of(set.index()), "input_failed", second_name,
                "blobs/abc, which is missing");
}

TEST_CASE("safetensors set: the map and the files must agree") {
  const ShardSet set;
  const auto map = [&](const std::string& a, const std::string& z, const std::string& more = {}) {
    return "{\"a\":\"" + a + "\",\"z\":\"" + z + "\"" + more + "}";
  };
  check_message(set.refusal_of_map(map(second_name, first_name, ",\"q\":\"" + first_name + "\"")),
                "corrupt_data", "tensor 'q' at offset ", "not in '" + first_name + "'");
  check_message(set.refusal_of_map(map(first_name, second_name)), "corrupt_data",
                "tensor 'a' at offset ", "not in '" + first_name + "' but in '" + second_name);
  check_message(set.refusal_of_map(map(second_name, first_name, ",\"a\":\"" + second_name + "\"")),
                "corrupt_data", "tensor 'a' at offset ", "twice");
  set.write_index(map(second_name, first_name));
  write_file(set.second(), one_tensor("z", 3));
  check_message(refusal_of(set.index()), "corrupt_data", "tensor 'a' at offset ",
                "the tensor is not in '" + second_name + "'");
}

TEST_CASE("safetensors set: of a tensor in two files the map's one is read") {
  const ShardSet set;
  // 'z' has 3 bytes in the first file and 4 in the second.
  write_file(set.first(), safetensors(R"({"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                      R"("z":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
                                      4));
  write_file(set.second(), safetensors(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},)"
                                       R"("z":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                                       9));
  const auto map_to = [](const std::string& file) {
    return "{\"a\":\"" + second_name + "\",\"y\":\"" + first_name + "\",\"z\":\"" + file + "\"}";
  };
  for (const std::string& file : {first_name, second_name}) {
    const std::uint64_t bytes = file == first_name ? 3 : 4;
    CAPTURE(file);
    set.write_index(map_to(file), "{\"total_size\": " + std::to_string(6 + bytes) + "}");
    const ModelFile model = ModelFile::open(set.index());
    REQUIRE(model.tensors().size() == 3);
    REQUIRE(model.find("z") != nullptr);
    CHECK(model.find("z")->size_bytes == bytes);
    CHECK(model.files()[model.find("z")->file].path.filename() == file);
    CHECK(model.find("a")->size_bytes == 5);
    CHECK(model.find("y")->size_bytes == 1);
    CHECK(model.tensor_bytes() == 6 + bytes);
    REQUIRE(model.warnings().size() == 1);
    const std::string& warning = model.warnings()[0];
    CHECK_MESSAGE(warning.find("tensor 'z'") != std::string::npos, warning);
    CHECK(warning.find("read from '" + file + "'") != std::string::npos);
    // transformers loads the files in the order of their names, so that the last one counts.
    CHECK((warning.find("transformers") != std::string::npos) == (file == first_name));
    check_message(refusal_of(set.index(), {true}), "corrupt_data", "tensor 'z'");
  }
  check_message(set.refusal_of_map("{\"a\":\"" + second_name + "\",\"y\":\"" + first_name + "\"}"),
                "corrupt_data", "tensor 'z'", "weight_map does not say", first_name);
  const std::string twice = map_to(first_name + "\",\"z\":\"" + second_name);
  check_message(set.refusal_of_map(twice), "corrupt_data", "tensor 'z' at offset ");
  std::filesystem::remove(set.index());
  CHECK(ModelFile::open(set.second()).tensors().size() == 2);
}

TEST_CASE("safetensors set: what is only warned of") {
  const ShardSet set;
  const auto warning = [&](const std::string& map, const std::string& metadata) {
    set.write_index(map, metadata);
    const ModelFile model = ModelFile::open(set.index());
    check_message(refusal_of(set.index(), {true}), "corrupt_data");
    return model.warnings().size() == 1 ? model.warnings()[0] : "not one warning";
  };
  const std::string map = "{\"a\":\"" + second_name + "\",\"z\":\"" + first_name + "\"}";
  CHECK(warning(map, "{\"total_size\": 9}").find("total_size") != std::string::npos);
  CHECK(warning(map, "{\"total_size\": -8.5}").find("total_size") != std::string::npos);
  write_file(set.second(),
             safetensors(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},)"
                         R"("extra":{"dtype":"U8","shape":[0],"data_offsets":[5,5]}})",
                         5));
  CHECK(warning(map, "{\"total_size\": 8}").find("weight_map lacks tensor 'extra'") !=
        std::string::npos);
}

TEST_CASE("safetensors set: what an index may leave out or add") {
  const ShardSet set;
  const std::string map = "{\"a\":\"" + second_name + "\",\"z\":\"" + first_name + "\"}";
  for (const char* metadata : {"{}", "null", "[1]", "{\"total_size\": 8.0}",
                               "{\"x\":{\"y\":[null]},\"flag\":true,\"n\":null}"}) {
    CAPTURE(metadata);
    set.write_index(map, metadata);
    CHECK(ModelFile::open(set.index(), {true}).tensors().size() == 2);
  }
  CHECK(ModelFile::open(set.index()).boolean("flag") == true);
  write_file(set.index(), "{\"weight_map\": " + map + ", \"other\": [1, {}]}");
  CHECK(ModelFile::open(set.index(), {true}).tensors().size() == 2);
}

TEST_CASE("safetensors set: an index that is broken") {
  const ShardSet set;
  const std::string map = "{\"a\":\"" + second_name + "\"}";
  check_message(set.refusal_of_map("{}"), "corrupt_data", "lists no tensor");
  check_message(set.refusal_of_map("[]"), "corrupt_data", "weight_map is an array");
  write_file(set.index(), "{\"weight_map\": " + map + ",\"weight_map\": " + map + "}");
  check_message(refusal_of(set.index()), "corrupt_data", "'weight_map' at offset", "twice");
  const std::string whole = "{\"weight_map\": {\"a\":\"" + second_name + "\"}}";
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write_file(set.index(), whole.substr(0, size));
    CAPTURE(size);
    const std::string found = refusal_of(set.index());
    CHECK_MESSAGE(found.find("corrupt_data: ") == 0, found);
  }
}

TEST_CASE("safetensors set: a file of it that is something else") {
  const ShardSet set;
  write_file(set.second(), "PK\x03\x04 archive/data.pkl");
  check_message(refusal_of(set.index()), "input_failed", second_name, "zip archive");
  write_file(set.second(), Gguf().bytes());
  check_message(refusal_of(set.index()), "input_failed", second_name, "not safetensors");
}

TEST_CASE("safetensors set: an index with more than one can believe in") {
  const ShardSet set;
  const auto entries = [](int count, const std::string& value) {
    std::string text = "{\"z\":" + value;
    for (int index = 1; index < count; ++index) {
      const std::string number = std::to_string(index);
      text += ",\"" + number + "\":" + (value == "0" ? value : "\"f" + number + "\"");
    }
    return text + "}";
  };
  const std::string name = "\"" + first_name + "\"";
  check_message(set.refusal_of_map(entries(65'536, name)), "input_failed", "it is missing");
  check_message(set.refusal_of_map(entries(65'537, name)), "corrupt_data", "more than 65536 files");
  const std::string map = R"({"a":")" + second_name + R"(","z":")" + first_name + R"("})";
  set.write_index(map, entries(65'536, "0"));
  CHECK(refusal_of(set.index()) == "accepted");
  set.write_index(map, entries(65'537, "0"));
  check_message(refusal_of(set.index()), "corrupt_data", "more than 65536 keys");
}

TEST_CASE("safetensors set: files in folders below the index") {
  const ShardSet set;
  const std::filesystem::path folder = set.folder.path();
  const std::string map = R"({"a":"sub/deep/x.safetensors","z":"other/x.safetensors"})";
  std::filesystem::create_directories(folder / "sub" / "deep");
  std::filesystem::create_directories(folder / "other");
  std::filesystem::rename(set.second(), folder / "sub" / "deep" / "x.safetensors");
  std::filesystem::rename(set.first(), folder / "other" / "x.safetensors");
  set.write_index(map);
  const ModelFile model = ModelFile::open(folder, {true});
  CHECK(model.folder() == folder);  // where its config.json is
  REQUIRE(model.files().size() == 2);
  CHECK(model::name_in_model(model, model.files()[0]) == "other/x.safetensors");
  CHECK(model::name_in_model(model, model.files()[1]) == "sub/deep/x.safetensors");
  CHECK(model.find("a")->file == 1);
  std::filesystem::remove(folder / "other" / "x.safetensors");
  check_message(refusal_of(folder), "input_failed", "other/x.safetensors", "it is missing");
}

TEST_CASE("safetensors set: a path from the index's folder on may begin with ./") {
  // os.path.join(folder, "./x") is what transformers opens.
  const ShardSet set;
  set.write_index(R"({"a":"./)" + second_name + R"(","z":"././)" + first_name + R"("})");
  for (const auto& given : {set.index(), set.second(), set.folder.path()}) {
    const ModelFile model = ModelFile::open(given, {true});
    REQUIRE(model.files().size() == 2);
    CHECK(model.files()[0].path == set.first());
    CHECK(model.warnings().empty());
  }
}

TEST_CASE("safetensors set: a shard that the index does not list") {
  const ShardSet set;
  set.write_index(R"({"z":")" + first_name + "\"}", "{}");
  const std::string other = (set.folder.path() / "other.safetensors").string();
  const auto warnings = [&] {
    const ModelFile model = ModelFile::open(set.folder.path());
    CHECK(model.files().size() == 1);
    return std::vector<std::string>(model.warnings().begin(), model.warnings().end());
  };
  REQUIRE(warnings().size() == 1);
  check_message(warnings()[0], set.folder.path().string(),
                "'model.safetensors.index.json' does not list " + ("'" + second_name + "'"),
                "which is not read", "download the index again");
  CHECK(warnings()[0].find("to load it") == std::string::npos);
  write_file(other, one_tensor("o", 3));
  REQUIRE(warnings().size() == 2);
  check_message(warnings()[1], set.folder.path().string(), "the folder holds 2 models",
                "name 'other.safetensors' to load it");
}

TEST_CASE("safetensors set: links below the index that lead out of its folder") {
  const ShardSet set;
  const TemporaryFolder outside;
  const std::filesystem::path folder = set.folder.path();
  write_file(outside.path() / "x.safetensors", one_tensor("a", 5));
  set.write_index(R"({"a":"sub/x.safetensors"})");
  const auto refused = [&] {
    check_message(refusal_of(set.index()), "corrupt_data", "does not name a file of the index");
  };
  std::filesystem::create_directory_symlink(outside.path(), folder / "sub");
  refused();
  std::filesystem::remove(folder / "sub");
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink(outside.path() / "x.safetensors",
                                  folder / "sub" / "x.safetensors");
  refused();
  std::filesystem::remove(folder / "sub" / "x.safetensors");
  std::filesystem::create_symlink("x.safetensors", folder / "sub" / "x.safetensors");
  check_message(refusal_of(set.index()), "input_failed", "x.safetensors");  // a circle
  std::filesystem::remove(folder / "sub" / "x.safetensors");
  std::filesystem::create_symlink("../" + second_name, folder / "sub" / "x.safetensors");
  CHECK(ModelFile::open(set.index()).tensors().size() == 1);
}

TEST_CASE("safetensors set: files below a snapshot of the cache are links to its blobs") {
  const TemporaryFolder parent;
  const std::filesystem::path root = parent.path() / "models--me--it";
  const std::filesystem::path snapshot = root / "snapshots" / "0123abc";
  std::filesystem::create_directories(root / "blobs");
  std::filesystem::create_directories(snapshot / "sub");
  write_file(root / "blobs" / std::string(64, 'b'), one_tensor("a", 5));
  std::filesystem::create_symlink("../../../blobs/" + std::string(64, 'b'),
                                  snapshot / "sub" / "x.safetensors");
  write_file(snapshot / "model.safetensors.index.json",
             R"({"weight_map":{"a":"sub/x.safetensors"}})");
  CHECK(ModelFile::open(root).files()[0].published_sha256 == std::string(64, 'b'));
}

TEST_CASE("safetensors set: an index behind a byte order mark") {
  const ShardSet set;
  const std::string map = R"({"weight_map":{"a":")" + second_name + "\"}}";
  write_file(set.index(), "\xEF\xBB\xBF" + map);
  CHECK(ModelFile::open(set.index()).tensors().size() == 1);
  write_file(set.index(), "\xEF\xBB\xBF\xEF\xBB\xBF" + map);
  CHECK(refusal_of(set.index()) != "accepted");
  write_file(set.index(), "\xEF\xBB\xBF");
  CHECK(refusal_of(set.index()) != "accepted");
  write_file(set.index(), "\xFF\xFE{\0\"\0"s);
  check_message(refusal_of(set.index()), "input_failed", "UTF-16");
}

TEST_CASE("safetensors: files that cat has joined") {
  const ShardSet set;
  const std::string first = one_tensor("a", 5);
  write_file(set.first(), first + one_tensor("b", 3));
  check_message(refusal_of(set.first()), "input_failed", "joined by `cat`",
                "ends at byte " + std::to_string(first.size()));
  write_file(set.first(), first + "12345678x");
  check_message(refusal_of(set.first()), "corrupt_data", "9 bytes follow the last tensor");
}

TEST_CASE("safetensors set: names that no file can have") {
  const ShardSet set;
  const auto map_to = [](const std::string& name) { return R"({"a":")" + name + "\"}"; };
  check_message(set.refusal_of_map(map_to(std::string(255, 'f'))), "input_failed", "is missing");
  for (const std::string& name : {std::string(256, 'f'), std::string(5000, 'f'), "a\x7F"s}) {
    const std::string found = set.refusal_of_map(map_to(name));
    check_message(found, "corrupt_data", "does not name a file of the index's folder");
    CHECK(found.size() < 500);
  }
}
