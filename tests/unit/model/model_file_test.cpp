// SPDX-License-Identifier: MIT
#include "hiptool/model_file.hpp"

#include <doctest/doctest.h>

#include "refusal.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

Gguf with_arrays() {
  Gguf gguf;
  gguf.architecture();
  gguf.pair("a.u8", 9, Bytes().u32(0).u64(2).raw("\x01\xff"));
  gguf.pair("a.i8", 9, Bytes().u32(1).u64(2).raw("\x01\xff"));
  gguf.pair("a.u16", 9, Bytes().u32(2).u64(1).number<std::uint16_t>(65535));
  gguf.pair("a.i16", 9, Bytes().u32(3).u64(1).number<std::int16_t>(-2));
  gguf.pair("a.u32", 9, Bytes().u32(4).u64(1).u32(4000000000));
  gguf.pair("a.i32", 9, Bytes().u32(5).u64(3).u32(7).number(-8).u32(9));
  gguf.pair("a.f32", 9, Bytes().u32(6).u64(2).number(0.5f).number(-2.0f));
  gguf.pair("a.flags", 9, Bytes().u32(7).u64(3).raw({"\1\0\1", 3}));
  gguf.pair("a.texts", 9, Bytes().u32(8).u64(4).text("zero").text("").text("two").text("3"));
  gguf.pair("a.u64", 9, Bytes().u32(10).u64(2).u64(1).u64(std::uint64_t{1} << 63));
  gguf.pair("a.i64", 9, Bytes().u32(11).u64(1).number(std::int64_t{-5}));
  gguf.pair("a.f64", 9, Bytes().u32(12).u64(1).number(1e300));
  gguf.pair("a.empty", 9, Bytes().u32(5).u64(0));
  gguf.pair("a.nested", 9, Bytes().u32(9).u64(1).u32(0).u64(1).raw("x"));
  return gguf.pair("a.one", 4, Bytes().u32(7));
}

using Integers = std::vector<std::int64_t>;
using Wholes = std::vector<std::uint64_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("model file: arrays of every type") {
  const TemporaryFile file(with_arrays().bytes());
  const ModelFile model = ModelFile::open(file.path());
  CHECK(model.integers("a.u8") == Integers{1, 255});
  CHECK(model.integers("a.i8") == Integers{1, -1});
  CHECK(model.integers("a.u16") == Integers{65535});
  CHECK(model.integers("a.i16") == Integers{-2});
  CHECK(model.integers("a.u32") == Integers{4000000000});
  CHECK(model.integers("a.i32") == Integers{7, -8, 9});
  CHECK(model.integers("a.i64") == Integers{-5});
  CHECK_FALSE(model.integers("a.u64").has_value());  // one of them does not fit
  CHECK(model.integers("a.empty") == Integers{});
  CHECK(model.reals("a.f32") == Reals{0.5, -2.0});
  CHECK(model.reals("a.f64") == Reals{1e300});
  CHECK(model.booleans("a.flags") == std::vector<bool>{true, false, true});
  CHECK(model.texts("a.texts") == Texts{"zero", "", "two", "3"});
  CHECK(model.texts("a.texts", 1, 2) == Texts{"", "two"});
  CHECK(model.texts("a.texts", 3, UINT64_MAX) == Texts{"3"});
  CHECK(model.texts("a.texts", 4) == Texts{});
  CHECK(model.texts("a.texts", UINT64_MAX, UINT64_MAX) == Texts{});
  for (const char* key : {"a.one", "absent", "a.nested", "a.texts"}) {
    CAPTURE(key);
    CHECK_FALSE(model.integers(key).has_value());
    CHECK_FALSE(model.reals(key).has_value());
    CHECK_FALSE(model.booleans(key).has_value());
  }
  for (const char* key : {"a.one", "absent", "a.nested", "a.u8"}) {
    CAPTURE(key);
    CHECK_FALSE(model.texts(key).has_value());
  }
}

TEST_CASE("model file: parts of arrays, and integers beyond 63 bits") {
  Gguf gguf = with_arrays();
  gguf.pair("a.large", 10, Bytes().u64(UINT64_MAX));
  gguf.pair("a.signed", 5, Bytes().number(7));
  gguf.pair("a.negative", 5, Bytes().number(-7));
  const TemporaryFile file(gguf.bytes());
  const ModelFile model = ModelFile::open(file.path());
  CHECK(model.integers("a.i32", 1) == Integers{-8, 9});
  CHECK(model.integers("a.i32", 1, 1) == Integers{-8});
  CHECK(model.integers("a.i32", 3) == Integers{});
  CHECK(model.integers("a.i32", UINT64_MAX, UINT64_MAX) == Integers{});
  CHECK(model.integers("a.u64", 0, 1) == Integers{1});
  CHECK(model.reals("a.f32", 1, 5) == Reals{-2.0});
  CHECK(model.booleans("a.flags", 1, 1) == std::vector<bool>{false});
  CHECK(model.unsigned_integers("a.u64") == Wholes{1, std::uint64_t{1} << 63});
  CHECK(model.unsigned_integers("a.u8", 1) == Wholes{255});
  CHECK(model.unsigned_integers("a.i32", 0, 1) == Wholes{7});
  CHECK_FALSE(model.unsigned_integers("a.i32").has_value());  // one of them is negative
  CHECK_FALSE(model.unsigned_integers("a.f32").has_value());
  CHECK(model.unsigned_integer("a.large") == UINT64_MAX);
  CHECK(model.unsigned_integer("a.one") == 7);
  CHECK(model.unsigned_integer("a.signed") == 7);
  CHECK_FALSE(model.unsigned_integer("a.negative").has_value());
  CHECK_FALSE(model.integer("a.large").has_value());
  CHECK_FALSE(model.unsigned_integer("a.u8").has_value());
}

TEST_CASE("model file: arrays are read from the file, unless it changed") {
  const TemporaryFile file(with_arrays().bytes());
  const ModelFile model = ModelFile::open(file.path());
  file.write_over(0, "XXXX");
  CHECK_THROWS_WITH_AS(model.texts("a.texts"), doctest::Contains("changed"), Error);
  CHECK_THROWS_AS(model.integers("a.u8"), Error);
  CHECK(model.integer("a.one") == 7);
}

TEST_CASE("model file: the metadata is listed in the file's order") {
  const ModelFile model = open_bytes(with_arrays().bytes());
  const std::vector<MetadataEntry> entries = model.metadata();
  REQUIRE(entries.size() == 16);
  CHECK(entries[0].key == "general.architecture");
  CHECK(entries[0].type == "string");
  CHECK_FALSE(entries[0].is_array);
  CHECK(entries[0].count == 1);
  CHECK(entries[8].key == "a.flags");
  CHECK(entries[8].type == "bool");
  CHECK(entries[8].is_array);
  CHECK(entries[8].count == 3);
  CHECK(entries[9].type == "string");
  CHECK(entries[14].type == "array");
  CHECK(entries[15].key == "a.one");
  CHECK(entries[15].type == "u32");
}

TEST_CASE("model file: extents join what only padding separates") {
  Gguf gguf = Gguf().architecture();
  gguf.tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 64).tensor("empty", {0}, 0, 96);
  gguf.tensor("c", {8}, 0, 32 + 64 + 4095 - 4095 % 32);  // 4064 bytes behind b
  gguf.tensor("d", {8}, 0, 32 + 64 + 4095 - 4095 % 32 + 32 + 4096).data(96 + 4064 + 32 + 4096 + 32);
  const ModelFile model = open_bytes(gguf.bytes());
  const std::uint64_t start = model.find("a")->file_offset;
  const std::vector<ModelExtent> expected{{0, start, 96 + 4064 + 32},
                                          {0, start + 96 + 4064 + 32 + 4096, 32}};
  CHECK(model.extents() == expected);
  CHECK(open_bytes(Gguf().architecture().bytes()).extents().empty());
}

TEST_CASE("model file: a long safetensors text stays in the file until it is asked for") {
  std::string text;
  for (int index = 0; index < 300'000; ++index) text += "\\u00e9\\n";
  const TemporaryFile file(safetensors(R"({"__metadata__":{"long":")" + text + R"(","b":"c"}})"));
  const ModelFile model = ModelFile::open(file.path(), {true});
  std::string expected;
  for (int index = 0; index < 300'000; ++index) expected += "\xc3\xa9\n";
  CHECK(expected.size() > 1u << 19);
  CHECK((model.text("long") == expected));
  CHECK(model.text("b") == "c");
}

TEST_CASE("model file: opaque gguf types reach up to the next tensor or the end") {
  Gguf gguf = Gguf().architecture();
  gguf.tensor("a", {8}, 0, 0).tensor("b", {4, 4}, 97, 32).tensor("c", {8}, 0, 128);
  gguf.tensor("d", {3}, 97, 160).tensor("e", {5}, 4, 192).data(192 + 50);
  const TemporaryFile file(gguf.bytes());
  check_message(refusal_of(file.path()), "input_failed", "tensor 'b'", "type 97 is not");
  const ModelFile model = ModelFile::open(file.path(), {true, true});
  const auto size_of = [&](const char* name) { return model.find(name)->size_bytes; };
  CHECK(size_of("a") == 32);
  CHECK(size_of("b") == 96);
  CHECK(size_of("c") == 32);
  CHECK(size_of("d") == 32);
  CHECK(size_of("e") == 50);
  CHECK(model.find("b")->elements == 16);
  CHECK(model.find("b")->type.name() == "opaque(97)");
  CHECK(model.find("e")->type.name() == "opaque(4)");
  CHECK(model.find("b")->type.block_bits() == 0);
  CHECK(model.find("b")->type.block_elements() == 1);
  CHECK(model.find("b")->type == model.find("d")->type);
  CHECK_FALSE(model.find("b")->type == model.find("e")->type);
}

TEST_CASE("model file: a type may outlive its file, known or not") {
  Gguf gguf = Gguf().architecture();
  gguf.tensor("a", {8}, 0, 0).tensor("b", {4, 4}, 97, 32).data(96);
  const TemporaryFile file(gguf.bytes());
  const auto types = [&] {
    const ModelFile model = ModelFile::open(file.path(), {true, true});
    return std::vector{model.find("a")->type, model.find("b")->type};
  }();
  const ModelFile again = ModelFile::open(file.path(), {true, true});
  CHECK(types[0].name() == "F32");
  CHECK(types[1].name() == "opaque(97)");
  CHECK(types[1] == again.find("b")->type);
}

TEST_CASE("model file: opaque tensors still must have their own bytes") {
  const auto opaque = [](Gguf gguf) {
    const TemporaryFile file(gguf.bytes());
    return refusal_of(file.path(), {false, true});
  };
  Gguf same = Gguf().architecture().tensor("a", {8}, 97, 0).tensor("b", {8}, 0, 0).data(64);
  check_message(opaque(same), "corrupt_data", "overlaps");
  same.tensors[1].type = 98;
  check_message(opaque(same), "corrupt_data", "overlaps");
  Gguf inside = Gguf().architecture().tensor("a", {64}, 0, 0).tensor("b", {8}, 97, 32).data(256);
  check_message(opaque(inside), "corrupt_data", "tensor 'b'", "overlaps tensor 'a'");
  check_message(opaque(Gguf().architecture().tensor("a", {8}, 97, 64).data(64)), "corrupt_data",
                "tensor 'a'", "the file ends where");
  check_message(opaque(Gguf().architecture().tensor("a", {8}, 97, 64).data(32)), "corrupt_data",
                "beyond the file");
}

TEST_CASE("model file: opaque safetensors types have the size of their range") {
  const TemporaryFile file(
      safetensors(R"({"t":{"dtype":"F7","shape":[3],"data_offsets":[0,9]}})", 9));
  check_message(refusal_of(file.path()), "input_failed", "dtype 'F7'");
  const ModelFile model = ModelFile::open(file.path(), {true, true});
  CHECK(model.find("t")->type.name() == "opaque(F7)");
  CHECK(model.find("t")->size_bytes == 9);
  CHECK(model.find("t")->elements == 3);
}

TEST_CASE("model file: a model outlives its copies") {
  std::optional<ModelFile> kept;
  {
    const TemporaryFile file(with_arrays().bytes());
    const ModelFile model = ModelFile::open(file.path());
    kept = model;
  }
  CHECK(kept->integer("a.one") == 7);
  CHECK_THROWS_AS(kept->integers("a.u8"), Error);
}
