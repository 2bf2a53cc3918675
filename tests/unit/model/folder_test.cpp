// SPDX-License-Identifier: MIT
#include "model/folder.hpp"

#include <doctest/doctest.h>

#include "model/cut_file.hpp"
#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace fs = std::filesystem;

namespace {

const std::string digest(64, 'b');

std::string tensors(const std::string& name) {
  return safetensors("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
}

std::string gguf(const std::string& name) {
  return Gguf().architecture().tensor(name, {8}, 0, 0).data(32).bytes();
}

std::string gguf_with(const std::string& key, const std::string& text) {
  return Gguf().pair(key, 8, Bytes().text(text)).tensor("c", {8}, 0, 0).data(32).bytes();
}

// What is said of the other models alongside the one that was chosen.
std::string note_of(const fs::path& folder) {
  const ModelFile model = ModelFile::open(folder);
  for (const std::string& warning : model.warnings()) {
    if (warning.find("the folder holds") != std::string::npos) return warning;
  }
  return {};
}

// models--me--it of the Hugging Face cache with one revision of one file.
struct Cache {
  TemporaryFolder parent;
  fs::path root = parent.path() / "models--me--it";
  fs::path snapshot = root / "snapshots" / "0123abc";

  Cache() {
    for (const char* folder : {"blobs", "refs", "snapshots/0123abc"}) {
      fs::create_directories(root / folder);
    }
    write_file(root / "refs" / "main", "0123abc");
    write_file(root / "blobs" / digest, tensors("t"));
    fs::create_symlink("../../blobs/" + digest, snapshot / "model.safetensors");
  }
};

}  // namespace

TEST_CASE("folder: index before file before gguf") {
  const TemporaryFolder folder;
  const auto found = [&] {
    const ModelFile model = ModelFile::open(folder.path());
    CHECK(model.path() == folder.path());
    return model.files()[0].path.filename().string() + " " + model.tensors()[0].name;
  };
  write_file(folder.path() / "config.json", "{}");
  write_file(folder.path() / "m.gguf", gguf("of.gguf"));
  CHECK(found() == "m.gguf of.gguf");
  write_file(folder.path() / "any.safetensors", tensors("single"));
  CHECK(found() == "any.safetensors single");
  write_file(folder.path() / "other.safetensors", tensors("listed"));
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map":{"listed":"other.safetensors"}})");
  CHECK(found() == "other.safetensors listed");
}

TEST_CASE("folder: several models are listed") {
  const TemporaryFolder folder;
  write_file(folder.path() / "b.gguf", gguf("t"));
  write_file(folder.path() / "a.gguf", gguf("t"));
  check_message(refusal_of(folder.path()), "invalid_argument", folder.path().string(),
                "2 GGUF models", "'a.gguf', 'b.gguf'");
  try {
    static_cast<void>(ModelFile::open(folder.path()));
  } catch (const Error& error) {
    CHECK(error.hint() ==
          "name one of these files, such as " + (folder.path() / "a.gguf").string());
  }
  write_file(folder.path() / "y.safetensors", tensors("t"));
  write_file(folder.path() / "x.safetensors", tensors("t"));
  check_message(refusal_of(folder.path()), "invalid_argument", "'x.safetensors', 'y.safetensors'");
  write_file(folder.path() / "one.safetensors.index.json", "{}");
  write_file(folder.path() / "two.safetensors.index.json", "{}");
  check_message(refusal_of(folder.path()), "invalid_argument",
                "'one.safetensors.index.json', 'two");
}

TEST_CASE("folder: of very many models a few are named") {
  const TemporaryFolder folder;
  for (int i = 10; i < 50; ++i) {
    write_file(folder.path() / (std::to_string(i) + ".gguf"), i == 11 ? "no model" : gguf("t"));
  }
  check_message(refusal_of(folder.path()), "invalid_argument", "40 GGUF models",
                "'10.gguf', '11.gguf', '12.gguf', '13.gguf', '14.gguf' and 35 more");
}

TEST_CASE("folder: what accompanies a GGUF model does not make it one of several") {
  const TemporaryFolder folder;
  const auto found = [&] {
    return ModelFile::open(folder.path()).files()[0].path.filename().string();
  };
  write_file(folder.path() / "a-vision.gguf", gguf_with("general.architecture", "clip"));
  CHECK(found() == "a-vision.gguf");
  write_file(folder.path() / "m.gguf", gguf("t"));
  CHECK(found() == "m.gguf");
  for (const char* type : {"mmproj", "adapter", "imatrix"}) {
    write_file(folder.path() / (std::string(type) + ".gguf"), gguf_with("general.type", type));
    CHECK(found() == "m.gguf");
  }
  CHECK(note_of(folder.path()).empty());
  write_file(folder.path() / "s.safetensors", tensors("t"));
  CHECK(found() == "s.safetensors");
  const std::string note = note_of(folder.path());
  check_message(note, folder.path().string(), ": the folder holds 2 models;",
                "this is 's.safetensors'; name 'm.gguf' to load it");
  fs::remove(folder.path() / "m.gguf");
  CHECK(note_of(folder.path()).empty());
  // Without a model they are what there is to choose from, and not one of them is better.
  fs::remove(folder.path() / "s.safetensors");
  check_message(refusal_of(folder.path()), "invalid_argument", "4 GGUF models");
}

TEST_CASE("folder: what is no companion by its own words counts as a model") {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.gguf", gguf("t"));
  for (const std::string& bytes :
       {gguf_with("general.type", "model"), gguf_with("general.type", "other"), std::string("GGUF"),
        std::string()}) {
    write_file(folder.path() / "b.gguf", bytes);
    check_message(refusal_of(folder.path()), "invalid_argument", "'a.gguf', 'b.gguf'");
  }
}

TEST_CASE("folder: models that were passed over are named, parts of the chosen one are not") {
  const TemporaryFolder folder;
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map":{"listed":"part.safetensors"}})");
  write_file(folder.path() / "part.safetensors", tensors("listed"));
  CHECK(note_of(folder.path()).empty());
  write_file(folder.path() / "consolidated.safetensors", tensors("t"));
  write_file(folder.path() / "b.gguf", gguf("t"));
  check_message(note_of(folder.path()), folder.path().string(), "the folder holds 3 models;",
                "this is 'model.safetensors.index.json'; name one of 'consolidated.safetensors', "
                "'b.gguf' to load it");
  CHECK(ModelFile::open(folder.path(), {true, false}).tensors()[0].name == "listed");
  // Who names a file is not told.
  const ModelFile named = ModelFile::open(folder.path() / "b.gguf");
  CHECK(named.warnings().empty());
}

TEST_CASE("folder: of several the model, then what is not consolidated") {
  const TemporaryFolder folder;
  const auto found = [&] { return ModelFile::open(folder.path()).tensors()[0].name; };
  write_file(folder.path() / "consolidated.safetensors", tensors("consolidated"));
  CHECK(found() == "consolidated");
  write_file(folder.path() / "other.safetensors", tensors("other"));
  CHECK(found() == "other");
  write_file(folder.path() / "model.safetensors", tensors("model"));
  CHECK(found() == "model");
  check_message(note_of(folder.path()), folder.path().string(), "3 models;",
                "this is 'model.safetensors'", "'consolidated.safetensors', 'other.safetensors'");
  write_file(folder.path() / "consolidated.safetensors.index.json",
             R"({"weight_map":{"consolidated":"consolidated.safetensors"}})");
  CHECK(found() == "consolidated");  // the only index
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map":{"other":"other.safetensors"}})");
  CHECK(found() == "other");
}

TEST_CASE("folder: attributes of macOS are skipped, and named where there is nothing else") {
  const TemporaryFolder folder;
  const std::string apple("\0\x05\x16\x07\0\x02\0\0Mac OS X        ", 24);
  for (const char* name : {"._m.gguf", "._model.safetensors", "._model.safetensors.index.json",
                           "._m-00001-of-00002.gguf"}) {
    write_file(folder.path() / name, apple);
  }
  check_message(refusal_of(folder.path()), "input_failed", "AppleDouble", "'._m.gguf'");
  check_message(refusal_of(folder.path() / "._m.gguf"), "input_failed", "AppleDouble");
  write_file(folder.path() / "m.gguf", gguf("of.gguf"));
  CHECK(ModelFile::open(folder.path(), {true}).tensors()[0].name == "of.gguf");
  CHECK(note_of(folder.path()).empty());
}

TEST_CASE("folder: pieces of bytes are joined by cat") {
  const TemporaryFolder folder;
  const std::string bytes = gguf("t");
  const auto write = [&](const std::string& name, std::size_t begin, std::size_t end) {
    write_file(folder.path() / name, bytes.substr(begin, end - begin));
  };
  const auto hint_of = [](const fs::path& path) {
    try {
      static_cast<void>(ModelFile::open(path));
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string("accepted");
  };
  for (const auto& [first, second] :
       {std::pair("m.gguf.part1of2", "m.gguf.part2of2"),
        std::pair("m.gguf-split-a", "m.gguf-split-b"), std::pair("m.gguf.001", "m.gguf.002"),
        std::pair("m.gguf.part9", "m.gguf.part10"), std::pair("m.GGUF.part-aa", "m.GGUF.part-ab"),
        std::pair("m.gguf.aa", "m.gguf.ab"),
        std::pair("m.safetensors.part_01", "m.safetensors.part_02"),
        std::pair("m.gguf.part-1-of-2", "m.gguf.part-2-of-2")}) {
    const std::string name = first;  // CAPTURE cannot take a structured binding
    CAPTURE(name);
    write(first, 0, 40);
    write(second, 40, bytes.size());
    const std::string command = "`cat " + (folder.path() / first).string() + " " +
                                (folder.path() / second).string() + " > ";
    for (const fs::path& given :
         {folder.path() / first, folder.path() / second, fs::path(folder.path())}) {
      CHECK(refusal_of(given).find("cut into") != std::string::npos);
      CHECK(hint_of(given).find(command) != std::string::npos);
    }
    fs::remove(folder.path() / first);
    fs::remove(folder.path() / second);
  }
  write("m.gguf.part2of3", 40, 50);
  check_message(refusal_of(folder.path()), "input_failed", "cut into 3 pieces", "2 are missing");
  CHECK(hint_of(folder.path()).find("download all pieces") != std::string::npos);
  write("m.gguf", 0, bytes.size());
  CHECK(hint_of(folder.path() / "m.gguf.part2of3")
            .find("name " + (folder.path() / "m.gguf").string()) != std::string::npos);
  CHECK(ModelFile::open(folder.path()).tensors().size() == 1);
  // Whatever a whole model is called, it is read.
  write("whole.gguf.part1", 0, bytes.size());
  CHECK(ModelFile::open(folder.path() / "whole.gguf.part1").tensors().size() == 1);
}

TEST_CASE("folder: names that are no pieces") {
  for (const char* name :
       {"m.gguf", "m.gguf.part", "m.gguf.bak", "m.gguf.gz", "m.gguf.1", ".gguf.aa", "m.gguf.md",
        "m.gguf.part1of", "m.gguf.part1of2x", "m.gguf.sha256", "m.gguf.part123456", "m.bin.001",
        "m-00001-of-00002.gguf",
        // Names of downloads, and words that only begin as "part" does.
        "m.gguf.partial", "m.gguf-partial", "m.gguf.PARTIAL", "m.gguf.part.tmp", "m.gguf.PART.TMP",
        "m.gguf.parts", "m.gguf.splits", "m.safetensors.part-a.part"}) {
    CAPTURE(std::string(name));
    CHECK_FALSE(model::parse_piece_name(name).has_value());
  }
  for (const char* name : {"m.gguf.partaa", "m.gguf.partba", "m.gguf-split-b"}) {
    CAPTURE(std::string(name));
    CHECK(model::parse_piece_name(name).has_value());
  }
}

TEST_CASE("folder: an unfinished download or a single file is no set of pieces") {
  for (const char* end : {".partial", ".part.tmp", ".parts", ".part1", ".001", ".part-old"}) {
    CAPTURE(std::string(end));
    const TemporaryFolder folder;
    const fs::path path = folder.path() / (std::string("m.gguf") + end);
    write_file(path, gguf("t").substr(0, 60));
    for (const fs::path& given : {path, fs::path(folder.path())}) {
      const std::string refusal = refusal_of(given);
      CHECK(refusal != "accepted");
      CHECK(refusal.find("cut into") == std::string::npos);
    }
    check_message(refusal_of(folder.path()), "input_failed", path.filename().string());
  }
}

TEST_CASE("folder: names that browsers and wget make are named") {
  for (const char* name :
       {"m.gguf?download=true", "m.gguf (1)", "m.gguf.1", "m.safetensors?download=true", "m.GGUF.1",
        "m.gguf~", "m.safetensors - Copy", "m.gguf@SynoEAStream"}) {
    CAPTURE(std::string(name));
    const TemporaryFolder folder;
    write_file(folder.path() / name, gguf("t"));
    check_message(refusal_of(folder.path()), "input_failed", "'" + std::string(name) + "'",
                  "whose name ends otherwise");
  }
  // Words that begin as an extension does, and files about a model.
  for (const char* name : {"m.ggufs", "m.safetensorsx", "gguf.1", "m-gguf (1)", "m.gguf_info"}) {
    CAPTURE(std::string(name));
    const TemporaryFolder folder;
    write_file(folder.path() / name, gguf("t"));
    CHECK(refusal_of(folder.path()).find(name) == std::string::npos);
  }
}

TEST_CASE("folder: shards of GGUF that cat has joined") {
  const TemporaryFolder folder;
  std::string bytes;
  for (std::uint16_t number = 0; number < 2; ++number) {
    Gguf shard = Gguf().architecture();
    shard.pair("split.no", 2, Bytes().number(number));
    shard.pair("split.count", 2, Bytes().number<std::uint16_t>(2));
    shard.pair("split.tensors.count", 5, Bytes().u32(2));
    shard.tensor("t" + std::to_string(number), {8}, 0, 0).data(32);
    bytes += shard.bytes();
  }
  const std::size_t half = bytes.size() / 2;
  for (const char* name : {"m.gguf", "m-00001-of-00002.gguf"}) {
    write_file(folder.path() / name, bytes);
    check_message(refusal_of(folder.path() / name), "input_failed", "joined by `cat`",
                  "the first ends at byte " + std::to_string(half));
  }
  // What follows a model of one file is ignored, and named if it is another model.
  write_file(folder.path() / "n.gguf", gguf("a") + gguf("b"));
  const ModelFile model = ModelFile::open(folder.path() / "n.gguf");
  REQUIRE(model.warnings().size() == 1);
  check_message(model.warnings()[0], model.path().string(), "another GGUF file begins at byte");
}

TEST_CASE("folder: only later shards") {
  const TemporaryFolder folder;
  Gguf shard = Gguf().architecture();
  shard.pair("split.no", 2, Bytes().number<std::uint16_t>(2));
  shard.pair("split.count", 2, Bytes().number<std::uint16_t>(3));
  shard.pair("split.tensors.count", 5, Bytes().u32(3));
  shard.tensor("t", {8}, 0, 0).data(32);
  write_file(folder.path() / "m-00003-of-00003.gguf", shard.bytes());
  check_message(refusal_of(folder.path()), "input_failed", "m-00001-of-00003.gguf",
                "the set of 3 that 'm-00003-of-00003.gguf' belongs to", "1 other file of it");
  fs::remove(folder.path() / "m-00003-of-00003.gguf");
  write_file(folder.path() / "w-00002-of-00003.safetensors", tensors("b"));
  check_message(refusal_of(folder.path()), "input_failed", "index 'w.safetensors.index.json'",
                "'w-00001-of-00003.safetensors', 'w-00003-of-00003.safetensors'");
}

TEST_CASE("folder: what downloaders leave beside a file of full length") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "m.gguf";
  write_file(path, gguf("t"));
  CHECK(ModelFile::open(path, {true}).warnings().empty());
  for (const char* end : {".aria2", ".part", ".crdownload", ".incomplete", "-partial", ".!qB",
                          ".!ut", ".bc!", ".xltd", ".filepart", ".gstmp", ".downloadInProgress"}) {
    const fs::path other = path.string() + end;
    write_file(other, "x");
    const ModelFile model = ModelFile::open(path, {true});
    REQUIRE(model.warnings().size() == 1);
    check_message(model.warnings()[0], path.string(), other.filename().string(), "not finished");
    fs::remove(other);
  }
  const fs::path blob = folder.path() / "blobs" / digest;
  fs::create_directory(blob.parent_path());
  fs::rename(path, blob);
  fs::create_symlink("blobs/" + digest, path);
  write_file(blob.string() + ".incomplete", "x");
  REQUIRE(ModelFile::open(path).warnings().size() == 1);
  // A link that leads to itself is no reason to hang.
  fs::create_symlink("loop.gguf", folder.path() / "loop.gguf");
  CHECK(refusal_of(folder.path() / "loop.gguf") != "accepted");
}

TEST_CASE("folder: a gguf set is one model") {
  const TemporaryFolder folder;
  for (std::uint16_t number = 0; number < 2; ++number) {
    Gguf shard = Gguf().architecture();
    shard.pair("split.no", 2, Bytes().number(number));
    shard.pair("split.count", 2, Bytes().number<std::uint16_t>(2));
    shard.pair("split.tensors.count", 5, Bytes().u32(2));
    shard.tensor("t" + std::to_string(number), {8}, 0, 0).data(32);
    write_file(folder.path() / ("m-0000" + std::to_string(number + 1) + "-of-00002.gguf"),
               shard.bytes());
  }
  CHECK(ModelFile::open(folder.path()).tensors().size() == 2);
  fs::remove(folder.path() / "m-00001-of-00002.gguf");
  check_message(refusal_of(folder.path()), "input_failed", "m-00001-of-00002.gguf");
  write_file(folder.path() / "other.gguf", gguf("t"));
  check_message(refusal_of(folder.path()), "invalid_argument",
                "'m-00001-of-00002.gguf', 'other.gguf'");
}

TEST_CASE("folder: shards whose index is missing") {
  const TemporaryFolder folder;
  write_file(folder.path() / "model-00001-of-00002.safetensors", tensors("a"));
  write_file(folder.path() / "model-00002-of-00002.safetensors", tensors("b"));
  check_message(refusal_of(folder.path()), "input_failed",
                "index 'model.safetensors.index.json' is missing");
}

TEST_CASE("folder: the index of a variant, as transformers names it") {
  // stabilityai/stable-diffusion-3-medium-diffusers, text_encoder_3.
  const TemporaryFolder folder;
  write_file(folder.path() / "model.fp16-00001-of-00002.safetensors", tensors("a"));
  write_file(folder.path() / "model.fp16-00002-of-00002.safetensors", tensors("b"));
  write_file(folder.path() / "model.safetensors.index.fp16.json",
             R"({"weight_map":{"a":"model.fp16-00001-of-00002.safetensors",
                 "b":"model.fp16-00002-of-00002.safetensors"}})");
  CHECK(ModelFile::open(folder.path()).tensors().size() == 2);
  CHECK(ModelFile::open(folder.path() / "model.fp16-00002-of-00002.safetensors").tensors().size() ==
        2);
  // The model itself comes first.
  write_file(folder.path() / "model.safetensors", tensors("c"));
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map":{"c":"model.safetensors"}})");
  CHECK(ModelFile::open(folder.path()).find("c") != nullptr);
}

TEST_CASE("folder: without a model") {
  const TemporaryFolder folder;
  check_message(refusal_of(folder.path()), "input_failed", "no .safetensors or .gguf file");
  write_file(folder.path() / "pytorch_model.bin", "PK");
  check_message(refusal_of(folder.path()), "input_failed", "'pytorch_model.bin'", "not read");
  fs::create_directory(folder.path() / "unet");
  write_file(folder.path() / "unet" / "x.safetensors", tensors("t"));
  check_message(refusal_of(folder.path()), "input_failed", "sub-folders do: 'unet'");
  const fs::path local = folder.path() / ".cache" / "huggingface" / "download";
  fs::create_directories(local);
  write_file(local / "abc.incomplete", "x");
  check_message(refusal_of(folder.path()), "input_failed", "not finished", "abc.incomplete");
}

TEST_CASE("folder: with what is almost a model, or one of another program") {
  const TemporaryFolder folder;
  for (const char* name :
       {"model.onnx", "tf_model.h5", "flax_model.msgpack", "rust_model.ot", "model_state.pdparams",
        "m.nemo", "v1.ckpt", "m.keras", "m.tflite", "w.npz"}) {
    write_file(folder.path() / name, "x");
    check_message(refusal_of(folder.path()), "input_failed", name, "not read");
    fs::remove(folder.path() / name);
  }
  // wget numbers a second download; rsync and the AWS client add letters while they copy.
  for (const char* name : {"m.gguf.1", ".m.gguf.Ab3dEf", "model.safetensors.6eF5b5da"}) {
    write_file(folder.path() / name, gguf("t"));
    check_message(refusal_of(folder.path()), "input_failed", name, "ends otherwise");
    fs::remove(folder.path() / name);
  }
  // A download to a file of the folder UD-Q4_K_XL, which is not there yet.
  const fs::path part = folder.path() / ".cache" / "huggingface" / "download" / "UD-Q4_K_XL";
  fs::create_directories(part);
  check_message(refusal_of(folder.path()), "input_failed", "no .safetensors or .gguf file");
  write_file(part / "abc.incomplete", "x");
  check_message(refusal_of(folder.path()), "input_failed", "not finished", "abc.incomplete");
  fs::remove(part / "abc.incomplete");
  // ModelScope's folder for downloads, which is not a folder of a model.
  fs::create_directory(folder.path() / "._____temp");
  write_file(folder.path() / "._____temp" / "model.safetensors", "x");
  check_message(refusal_of(folder.path()), "input_failed", "not finished",
                "._____temp/model.safetensors");
}

TEST_CASE("folder: the Hugging Face cache") {
  const Cache cache;
  for (const fs::path& given :
       {cache.root, cache.root / "", cache.snapshot, cache.snapshot / "model.safetensors"}) {
    const ModelFile model = ModelFile::open(given);
    CHECK(model.path() == given);
    REQUIRE(model.files().size() == 1);
    CHECK(model.files()[0].path.filename() == "model.safetensors");
    CHECK(model.files()[0].published_sha256 == digest);
  }
  CHECK(ModelFile::open(cache.root / "blobs" / digest).files()[0].published_sha256 == digest);
}

TEST_CASE("folder: refs of the cache") {
  const Cache cache;
  for (const char* revision : {"../../other", "..", "a\\b"}) {
    write_file(cache.root / "refs" / "main", revision);
    check_message(refusal_of(cache.root), "input_failed", "does not name a snapshot");
  }
  write_file(cache.root / "refs" / "main", "fff");
  check_message(refusal_of(cache.root), "input_failed", "snapshot 'fff'", "missing");
  fs::remove(cache.root / "refs" / "main");
  CHECK(ModelFile::open(cache.root).tensors().size() == 1);
  fs::create_directory(cache.root / "snapshots" / "999");
  check_message(refusal_of(cache.root), "input_failed", "'0123abc', '999'");
}

TEST_CASE("folder: downloads of the cache that are not finished") {
  const Cache cache;
  fs::rename(cache.root / "blobs" / digest, cache.root / "blobs" / (digest + ".incomplete"));
  for (const fs::path& given : {cache.root, cache.snapshot, cache.snapshot / "model.safetensors"}) {
    check_message(refusal_of(given), "input_failed", "model.safetensors", "not finished",
                  digest + ".incomplete");
  }
  fs::remove(cache.snapshot / "model.safetensors");
  check_message(refusal_of(cache.root), "input_failed", "not finished", digest + ".incomplete");
  fs::remove(cache.root / "blobs" / (digest + ".incomplete"));
  fs::create_symlink("../../blobs/" + digest, cache.snapshot / "model.safetensors");
  check_message(refusal_of(cache.root), "input_failed", "model.safetensors",
                digest + ", which is missing");
}
