// SPDX-License-Identifier: MIT
#include "model/safetensors.hpp"

#include <doctest/doctest.h>

#include "model/element_types.hpp"
#include "refusal.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

// Two tensors and metadata that no rule objects to.
constexpr std::string_view sound_json =
    R"({"__metadata__":{"format":"pt"},)"
    R"("a.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b.weight":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";

std::string sound_safetensors() { return safetensors(sound_json, 22); }

// A file of one tensor "t" with this entry.
std::string entry(std::string_view fields, std::size_t data_bytes = 4) {
  return safetensors("{\"t\":{" + std::string(fields) + "}}", data_bytes);
}

// Behind the header length and the opening brace.
const std::string tensor_place = "tensor 't' at header offset 9:";

}  // namespace

TEST_CASE("safetensors: a sound file") {
  const ModelFile model = open_bytes(sound_safetensors(), true);
  CHECK(model.format() == ModelFormat::safetensors);
  CHECK(to_string(model.format()) == "safetensors");
  CHECK(model.format_version() == 1);
  CHECK(model.warnings().empty());
  REQUIRE(model.tensors().size() == 2);
  const TensorInfo& second = model.tensors()[1];
  CHECK(second.name == "b.weight");
  CHECK(second.type.name() == "BF16");
  CHECK(second.shape == std::vector<std::uint64_t>{3});
  CHECK(second.elements == 3);
  CHECK(second.size_bytes == 6);
  CHECK(second.file_offset == 8 + sound_json.size() + 16);
  CHECK(model.find("b.weight") == &second);
  CHECK(model.find("__metadata__") == nullptr);
  CHECK(model.tensor_bytes() == 22);
  CHECK(model.parameters() == 7);
  CHECK(model.text("format") == "pt");
  CHECK_FALSE(model.integer("format").has_value());
  CHECK_FALSE(model.text("absent").has_value());
}

TEST_CASE("safetensors: every dtype has its size") {
  for (const model::SafetensorsType& type : model::safetensors_types()) {
    const std::string name(type.entry.name);
    CAPTURE(name);
    const std::uint64_t size = type.entry.block_bits;  // of eight elements, in bytes
    const auto with_end = [&](std::uint64_t end) {
      return entry("\"dtype\":\"" + name + "\",\"shape\":[2,4],\"data_offsets\":[0," +
                       std::to_string(end) + "]",
                   end);
    };
    CHECK(open_bytes(with_end(size), true).tensors()[0].type.name() == name);
    check_refused(with_end(size + 1), "corrupt_data", tensor_place,
                  "shape and dtype give " + std::to_string(size));
    if (size < 8) {
      check_refused(entry("\"dtype\":\"" + name + "\",\"shape\":[1],\"data_offsets\":[0,1]", 1),
                    "corrupt_data", tensor_place, "not a whole number of bytes");
    }
  }
  CHECK(model::safetensors_types().size() == 22);
  check_refused(entry(R"("dtype":"F7","shape":[1],"data_offsets":[0,4])"), "input_failed",
                tensor_place, "dtype 'F7'");
}

TEST_CASE("safetensors: what the reference reader accepts") {
  CHECK(open_bytes(safetensors("{}"), true).tensors().empty());
  CHECK(open_bytes(safetensors("{}   "), true).tensors().empty());
  CHECK(open_bytes(safetensors("{\"__metadata__\":{}}"), true).tensors().empty());
  CHECK(open_bytes(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,4])"), true)
            .tensors()[0]
            .elements == 1);
  CHECK(open_bytes(entry(R"("dtype":"F32","shape":[0,7],"data_offsets":[0,0])", 0), true)
            .tensors()[0]
            .size_bytes == 0);
  CHECK_NOTHROW(open_bytes(
      entry(R"("x":[{"dtype":1},"y"],"dtype":"F32","shape":[1],"z":null,"data_offsets":[0,4],)"
            R"("w":{"w":[1.5,-1,true]})"),
      true));
  const ModelFile escaped = open_bytes(
      safetensors(R"({"\u00e9\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1), true);
  CHECK(escaped.find("\xc3\xa9\n") != nullptr);
  // Not listed in the order of the data; an empty tensor stands before the one it shares a place
  // with.
  const ModelFile mixed =
      open_bytes(safetensors(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                             R"("z":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
                             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                             3),
                 true);
  CHECK(mixed.tensors()[0].name == "a");
  CHECK(mixed.tensors()[1].name == "z");
  CHECK(mixed.find("b") == &mixed.tensors()[2]);
}

TEST_CASE("safetensors: warnings") {
  check_warned(safetensors("  {}"), "header at header offset 8: white space");
  check_warned(safetensors("{\"__metadata__\":null}"), "__metadata__ is null");
}

TEST_CASE("safetensors: header length") {
  const std::string_view large("\x01\xe1\xf5\x05\0\0\0\0", 8);  // 100 000 001
  check_refused(std::string(large) + "{}", "corrupt_data",
                "header at header offset 0:", "100000001 is above 100000000");
  check_refused(Bytes().u64(100'000'000).raw("{}").data(), "corrupt_data",
                "a header of 100000000 bytes ends beyond the file (10 bytes)");
  check_refused(Bytes().u64(3).raw("{}").data(), "corrupt_data", "ends beyond the file");
  check_refused(Bytes().u64(0).raw("{}").data(), "corrupt_data", "the header length is 0");
}

TEST_CASE("safetensors: malformed JSON") {
  for (const std::string_view json :
       {"{", "{\"a\"", "{]", "{}x", "{} {}", "{,}", "{'a':1}", "{/**/}", "{\"t\":{}"}) {
    check_refused(safetensors(json), "corrupt_data", "at header offset ");
  }
  check_refused(safetensors({"{}\0", 3}), "corrupt_data", "offset 10:", "'\\x00'");
  check_refused(safetensors({"{}\0 ", 4}), "corrupt_data", "offset 10:", "'\\x00'");
  check_refused(safetensors("\xef\xbb\xbf{}"), "corrupt_data", "offset 8:", "'\\xef'");
  check_refused(safetensors("x{}"), "corrupt_data", "offset 8:", "'x' instead of '{'");
  check_refused(safetensors("[]"), "corrupt_data", "offset 8:", "instead of '{'");
  check_refused(safetensors(" []"), "corrupt_data", "an array instead of an object");
  check_refused(safetensors(" 1"), "corrupt_data", "a number instead of an object");
  check_refused(safetensors("{\"\xff\":{}}"), "corrupt_data", "UTF-8");
  check_refused(safetensors(R"({"\ud800":{}})"), "corrupt_data", "surrogate");
  const auto nested = [](std::size_t depth) {
    return entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":)" +
                 std::string(depth, '[') + std::string(depth, ']'));
  };
  CHECK_NOTHROW(open_bytes(nested(126), true));
  check_refused(nested(127), "corrupt_data", tensor_place, "nested more than 128 deep");
}

TEST_CASE("safetensors: duplicate keys") {
  const std::string one = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  check_refused(safetensors("{\"t\":" + one + ",\"t\":" + one + "}", 1), "corrupt_data",
                "tensor 't' at header offset " + std::to_string(9 + 4 + one.size() + 1) + ":",
                "the name appears twice");
  check_refused(safetensors(R"({"__metadata__":{},"__metadata__":{}})"), "corrupt_data",
                "metadata key '__metadata__'", "twice");
  check_refused(safetensors(R"({"__metadata__":{"k":"1","k":"1"}})"), "corrupt_data",
                "metadata key 'k'", "twice");
  const std::string fields = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";
  for (const char* twice :
       {R"("dtype":"U8")", R"("shape":[1])", R"("data_offsets":[0,1])", R"("x":1,"x":1)"}) {
    check_refused(entry(fields + "," + twice, 1), "corrupt_data", tensor_place, "appears twice");
  }
}

TEST_CASE("safetensors: metadata and entries of wrong kinds") {
  for (const char* value : {"1", "[]", "\"x\"", "true"}) {
    check_refused(safetensors("{\"__metadata__\":" + std::string(value) + "}"), "corrupt_data",
                  "metadata key '__metadata__'", "instead of an object");
    check_refused(safetensors("{\"t\":" + std::string(value) + "}"), "corrupt_data", tensor_place,
                  "the entry is ", "instead of an object");
  }
  check_refused(safetensors("{\"t\":null}"), "corrupt_data", tensor_place, "the entry is null");
  for (const char* value : {"1", "-1", "1.5", "[]", "{}", "null", "true"}) {
    check_refused(safetensors("{\"__metadata__\":{\"k\":" + std::string(value) + "}}"),
                  "corrupt_data", "metadata key 'k'", "instead of a string");
  }
}

TEST_CASE("safetensors: fields of wrong kinds") {
  const auto with = [](std::string_view type, std::string_view shape, std::string_view offsets) {
    return entry("\"dtype\":" + std::string(type) + ",\"shape\":" + std::string(shape) +
                 ",\"data_offsets\":" + std::string(offsets));
  };
  CHECK_NOTHROW(open_bytes(with("\"F32\"", "[1]", "[0,4]"), true));
  for (const char* wrong : {"1", "null", "[]", "{}", "true", "1.0"}) {
    check_refused(with(wrong, "[1]", "[0,4]"), "corrupt_data", tensor_place, "dtype is ");
  }
  for (const char* wrong : {"1", "null", "\"x\"", "{}", "true", "-1"}) {
    check_refused(with("\"F32\"", wrong, "[0,4]"), "corrupt_data", tensor_place, "shape is ");
    check_refused(with("\"F32\"", "[1]", wrong), "corrupt_data", tensor_place, "data_offsets is ");
  }
  for (const char* wrong : {"[-1]", "[1.0]", "[18446744073709551616]", "[null]", "[[1]]", "[{}]",
                            "[\"1\"]", "[1e0]", "[-0]"}) {
    check_refused(with("\"F32\"", wrong, "[0,4]"), "corrupt_data", tensor_place, "shape holds ");
    check_refused(with("\"F32\"", "[1]", wrong), "corrupt_data", tensor_place,
                  "data_offsets holds ");
  }
  check_refused(with("\"F32\"", "[1]", "[0]"), "corrupt_data", tensor_place, "1 number instead");
  check_refused(with("\"F32\"", "[1]", "[0,4,4]"), "corrupt_data", "3 numbers instead of 2");
  check_refused(entry(R"("shape":[1],"data_offsets":[0,4])"), "corrupt_data", tensor_place,
                "dtype is missing");
  check_refused(entry(R"("dtype":"F32","data_offsets":[0,4])"), "corrupt_data", tensor_place,
                "shape is missing");
  check_refused(entry(R"("dtype":"F32","shape":[1])"), "corrupt_data", tensor_place,
                "data_offsets is missing");
  check_refused(entry(""), "corrupt_data", tensor_place, "is missing");
}

TEST_CASE("safetensors: ranges") {
  const auto bytes = [](std::string_view shape, std::string_view offsets, std::size_t data) {
    return entry("\"dtype\":\"F32\",\"shape\":" + std::string(shape) +
                     ",\"data_offsets\":" + std::string(offsets),
                 data);
  };
  check_refused(bytes("[1]", "[4,0]", 4), "corrupt_data", tensor_place, "before they begin");
  check_refused(bytes("[1]", "[0,8]", 8), "corrupt_data", tensor_place, "span 8 bytes");
  check_refused(bytes("[4294967296,4294967296]", "[0,0]", 0), "corrupt_data", tensor_place,
                "2^64 elements");
  check_refused(bytes("[4294967296,1073741824]", "[0,0]", 0), "corrupt_data", tensor_place,
                "2^64 bits");
  check_refused(bytes("[1]", "[4,8]", 8), "corrupt_data", tensor_place, "begin at 4 where 0");
  check_refused(bytes("[1]", "[0,4]", 3), "corrupt_data", tensor_place, "end at 4",
                "3 bytes of data", "incomplete");
  check_refused(bytes("[1]", "[0,4]", 5), "corrupt_data", "1 byte follows the last tensor");
  check_refused(safetensors("{}", 1), "corrupt_data", "1 byte follows");
  const auto two = [](std::string_view first, std::string_view second) {
    return safetensors(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + std::string(first) +
            "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + std::string(second) +
            "}}",
        4);
  };
  CHECK_NOTHROW(open_bytes(two("[2,4]", "[0,2]"), true));
  check_refused(two("[0,2]", "[1,3]"), "corrupt_data", "tensor 'b'", "overlap");
  check_refused(two("[0,2]", "[0,2]"), "corrupt_data", "tensor 'b'", "overlap");
  check_refused(two("[0,2]", "[3,5]"), "corrupt_data", "tensor 'b'", "hole");
}

TEST_CASE("safetensors: a file cut at any byte is refused") {
  const std::string whole = sound_safetensors();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string found = refusal(whole.substr(0, size));
    CHECK_MESSAGE(found.substr(0, 12) == "corrupt_data", size, " ", found);
  }
}

TEST_CASE("safetensors: no flipped bit does harm") {
  const std::string whole = sound_safetensors();
  for (std::size_t bit = 0; bit < (8 + sound_json.size()) * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const MemoryFile changed(flipped);
    try {
      const ModelFile model = ModelFile::open(changed.path());
      for (const TensorInfo& tensor : model.tensors()) {
        CHECK(tensor.file_offset + tensor.size_bytes <= whole.size());
      }
    } catch (const Error& error) {
      const bool is_input =
          error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::input_failed;
      CHECK_MESSAGE(is_input, std::string(error.what()));
    }
  }
}
