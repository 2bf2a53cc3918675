// SPDX-License-Identifier: MIT
#include "model/gguf.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "model/element_types.hpp"
#include "refusal.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

// Two tensors, one of them quantized, that no rule objects to.
Gguf sound() {
  Gguf gguf;
  gguf.architecture();
  gguf.pair("general.quantization_version", 4, Bytes().u32(2));
  gguf.tensor("token_embd.weight", {8, 2}, 0, 0);      // 64 bytes
  gguf.tensor("blk.0.ffn_up.weight", {32, 3}, 8, 64);  // 3 blocks of 34
  gguf.data(64 + 102);
  return gguf;
}

Gguf with_pair(std::string_view key, std::uint32_t type, const Bytes& value) {
  return Gguf().architecture().pair(key, type, value);
}

Gguf one_tensor(std::vector<std::uint64_t> shape, std::uint32_t type = 0,
                std::size_t data_bytes = 64) {
  return Gguf()
      .architecture()
      .pair("general.quantization_version", 4, Bytes().u32(2))
      .tensor("t", std::move(shape), type, 0)
      .data(data_bytes);
}

// 24 bytes of header and the pair that architecture() adds.
constexpr std::size_t second_pair = 24 + 8 + 20 + 4 + 8 + 5;
// The pair that one_tensor() adds after those.
constexpr std::size_t first_tensor = second_pair + 8 + 28 + 4 + 4;

std::string at(std::size_t offset) { return "at header offset " + std::to_string(offset) + ":"; }

}  // namespace

TEST_CASE("gguf: a sound file of version 2 and 3") {
  for (const std::uint32_t version : {2u, 3u}) {
    Gguf gguf = sound();
    gguf.version = version;
    const ModelFile model = open_bytes(gguf.bytes(), true);
    CHECK(model.format() == ModelFormat::gguf);
    CHECK(to_string(model.format()) == "gguf");
    CHECK(model.format_version() == version);
    CHECK(model.warnings().empty());
    REQUIRE(model.tensors().size() == 2);
    const TensorInfo& up = model.tensors()[1];
    CHECK(up.name == "blk.0.ffn_up.weight");
    CHECK(up.type.name() == "Q8_0");
    CHECK(up.shape == std::vector<std::uint64_t>{32, 3});
    CHECK(up.elements == 96);
    CHECK(up.size_bytes == 102);
    CHECK(up.file == 0);
    const std::size_t data_start = gguf.bytes().size() - 166;
    CHECK(data_start % 32 == 0);
    CHECK(up.file_offset == data_start + 64);
    CHECK(model.find("blk.0.ffn_up.weight") == &up);
    CHECK(model.find("blk.0.ffn_up") == nullptr);
    CHECK(model.tensor_bytes() == 166);
    CHECK(model.parameters() == 112);
    CHECK(model.file_bytes() == gguf.bytes().size());
    REQUIRE(model.files().size() == 1);
    CHECK(model.files()[0].path == model.path());
    CHECK(model.files()[0].modified_ns > 0);
  }
}

TEST_CASE("gguf: types of other programs are named with what to do") {
  const auto refused = [](std::uint32_t id, std::string_view cause) {
    check_refused(one_tensor({256, 2}, id, 4096).bytes(), "input_failed", cause);
  };
  // ik_llama.cpp's ggml.h.
  refused(137, "type 137 (IQ2_K) is a type of ik_llama.cpp");
  refused(139, "type 139 (IQ4_K) is a type of ik_llama.cpp");
  refused(144, "type 144 (IQ4_KS) is a type of ik_llama.cpp");
  refused(338, "type 338 is a type of ik_llama.cpp");
  refused(31, "type 31 (Q4_0_4_4) was removed from ggml");
  refused(36, "type 36 (IQ4_NL_4_4, or I2_S of BitNet.cpp) was removed from ggml");
  refused(99'999, "type 99999 is not a tensor type of ggml");
  CHECK(model::refusal_of_gguf_type(139).hint.find("use ik_llama.cpp, or download") == 0);
  CHECK(model::refusal_of_gguf_type(33).hint.find("Q4_0") != std::string::npos);
  CHECK(model::refusal_of_gguf_type(99'999).hint.find("update hiptool") == 0);
}

TEST_CASE("gguf: every type has its size") {
  for (const model::GgufType& type : model::gguf_types()) {
    const std::uint64_t id = type.id;
    CAPTURE(id);
    CHECK(model::gguf_types()[type.id].id == type.id);
    Gguf gguf = one_tensor({256, 2}, type.id, 4096);
    if (type.entry.name.empty()) {
      check_refused(gguf.bytes(), "input_failed", "tensor 't' " + at(first_tensor),
                    "type " + std::to_string(id) + " (", ") was removed from ggml");
      continue;
    }
    CHECK(model::find_gguf_type(type.entry.name) == &type);
    const ModelFile file = open_bytes(gguf.bytes());
    const TensorInfo& tensor = file.tensors()[0];
    CHECK(tensor.size_bytes == 512 / type.entry.block_elements * type.entry.block_bits / 8);
    // The end of the data is exactly what the size says.
    CHECK_NOTHROW(open_bytes(gguf.data(tensor.size_bytes).bytes()));
    check_refused(gguf.data(tensor.size_bytes - 1).bytes(), "corrupt_data", "beyond the file");
  }
}

TEST_CASE("gguf: metadata of every type") {
  Gguf gguf;
  gguf.architecture();
  gguf.pair("a.u8", 0, Bytes().number<std::uint8_t>(200));
  gguf.pair("a.i8", 1, Bytes().number<std::int8_t>(-3));
  gguf.pair("a.u16", 2, Bytes().number<std::uint16_t>(65535));
  gguf.pair("a.i16", 3, Bytes().number<std::int16_t>(-300));
  gguf.pair("a.u32", 4, Bytes().u32(4000000000));
  gguf.pair("a.i32", 5, Bytes().number<std::int32_t>(-70000));
  gguf.pair("a.f32", 6, Bytes().number(0.5f));
  gguf.pair("a.yes", 7, Bytes().number<std::uint8_t>(1));
  gguf.pair("a.no", 7, Bytes().number<std::uint8_t>(0));
  gguf.pair("a.text", 8, Bytes().text("h\xc3\xa9"));
  gguf.pair("a.array", 9, Bytes().u32(8).u64(2).text("x").text(""));
  gguf.pair("a.u64", 10, Bytes().u64(UINT64_MAX));
  gguf.pair("a.i64", 11, Bytes().number(std::numeric_limits<std::int64_t>::min()));
  gguf.pair("a.f64", 12, Bytes().number(1e300));
  gguf.pair("a.empty", 9, Bytes().u32(4).u64(0));
  gguf.pair("a.flags", 9, Bytes().u32(7).u64(3).raw({"\0\1\1", 3}));
  gguf.pair("a.nested", 9, Bytes().u32(9).u64(2).u32(0).u64(1).raw("x").u32(8).u64(1).text("yz"));
  gguf.pair("a.last", 4, Bytes().u32(7));
  const ModelFile model = open_bytes(gguf.bytes(), true);
  CHECK(model.integer("a.u8") == 200);
  CHECK(model.integer("a.i8") == -3);
  CHECK(model.integer("a.u16") == 65535);
  CHECK(model.integer("a.i16") == -300);
  CHECK(model.integer("a.u32") == 4000000000);
  CHECK(model.integer("a.i32") == -70000);
  CHECK(model.real("a.f32") == 0.5);
  CHECK(model.boolean("a.yes") == true);
  CHECK(model.boolean("a.no") == false);
  CHECK(model.text("a.text") == "h\xc3\xa9");
  CHECK(model.array_size("a.array") == 2);
  CHECK_FALSE(model.integer("a.u64").has_value());  // does not fit
  CHECK(model.integer("a.i64") == std::numeric_limits<std::int64_t>::min());
  CHECK(model.real("a.f64") == 1e300);
  CHECK(model.array_size("a.empty") == 0);
  CHECK(model.array_size("a.flags") == 3);
  CHECK(model.array_size("a.nested") == 2);
  CHECK(model.integer("a.last") == 7);
  CHECK_FALSE(model.integer("a.text").has_value());
  CHECK_FALSE(model.text("a.u8").has_value());
  CHECK_FALSE(model.real("a.u8").has_value());
  CHECK_FALSE(model.boolean("a.u8").has_value());
  CHECK_FALSE(model.array_size("a.text").has_value());
  CHECK_FALSE(model.text("absent").has_value());
}

TEST_CASE("gguf: a long text stays in the file until it is asked for") {
  const std::string text(5u << 20, 'x');
  const TemporaryFile file(with_pair("a.b", 8, Bytes().text(text)).bytes());
  const ModelFile model = ModelFile::open(file.path());
  CHECK(model.text("a.b") == text);
  std::filesystem::resize_file(file.path(), 100);
  CHECK_THROWS_AS(model.text("a.b"), Error);
}

TEST_CASE("gguf: a text that is shown may not be long") {
  const Bytes longest = Bytes().text(std::string(1u << 20, 'x'));
  const Bytes longer = Bytes().text(std::string((1u << 20) + 1, 'x'));
  for (const std::string key : {"general.architecture", "general.name"}) {
    CHECK(refusal(Gguf().pair(key, 8, longest).bytes()) == "accepted");
    check_refused(Gguf().pair(key, 8, longer).bytes(), "corrupt_data", key, "longer than 1 MiB");
  }
}

TEST_CASE("gguf: header fields") {
  Gguf gguf = sound();
  gguf.version = 1;
  check_refused(gguf.bytes(), "input_failed", "header " + at(0), "GGUF version 1");
  gguf.version = 4;
  check_refused(gguf.bytes(), "input_failed", "GGUF version 4");
  gguf.version = 0x03000000;
  check_refused(gguf.bytes(), "input_failed", "big-endian");
  gguf.version = 0;
  check_refused(gguf.bytes(), "corrupt_data", "GGUF version 0");
  gguf.version = 3;
  for (const std::uint64_t count : {std::uint64_t{100}, UINT64_MAX / 24 + 1, UINT64_MAX - 1}) {
    gguf.tensor_count = count;
    check_refused(gguf.bytes(), "corrupt_data", "header " + at(0),
                  "tensor count " + std::to_string(count));
    gguf.tensor_count = UINT64_MAX;
    gguf.metadata_count = count;
    check_refused(gguf.bytes(), "corrupt_data", "header " + at(0),
                  "metadata count " + std::to_string(count));
    gguf.metadata_count = UINT64_MAX;
  }
}

TEST_CASE("gguf: keys") {
  check_refused(with_pair("", 4, Bytes().u32(1)).bytes(), "corrupt_data",
                "metadata pair 2 " + at(second_pair), "the key is empty");
  check_refused(with_pair("general.architecture", 8, Bytes().text("x")).bytes(), "corrupt_data",
                "metadata key 'general.architecture' " + at(second_pair), "twice");
  check_refused(with_pair(std::string(65536, 'k'), 4, Bytes().u32(1)).bytes(), "corrupt_data",
                "65536 bytes");
  CHECK(open_bytes(with_pair(std::string(65535, 'k'), 4, Bytes().u32(1)).bytes(), true)
            .integer(std::string(65535, 'k')) == 1);
  Gguf gguf = Gguf().architecture();
  gguf.pairs.push_back(Bytes().u64(UINT64_MAX).raw("key").u32(4).u32(1).data());
  check_refused(gguf.bytes(), "corrupt_data", "key has a length of 18446744073709551615");
  gguf.pairs.back() = Bytes().u64(1000).raw("key").u32(4).u32(1).data();
  check_refused(gguf.bytes(), "corrupt_data", "metadata pair 2 " + at(second_pair),
                "key needs 1000 bytes", "11 remain");
  check_warned(with_pair("a b", 4, Bytes().u32(1)).bytes(),
               "metadata pair 'a b' " + at(second_pair));
}

TEST_CASE("gguf: keys are of lower_snake_case segments") {
  // As converters write them; the architectures with a hyphen are llama.cpp's own.
  for (const char* key :
       {"tokenizer.ggml.add_bos_token", "general.base_model.0.name", "gpt-oss.block_count",
        "jina-bert-v2.attention.layer_norm_epsilon", "ernie4_5-moe.expert_count", "split.no",
        "quantize.imatrix.chunks_count", "x", "a_1.2"}) {
    CAPTURE(std::string(key));
    CHECK_NOTHROW(open_bytes(with_pair(key, 4, Bytes().u32(1)).bytes(), true));
  }
  for (const char* key :
       {"General.name", "general.Name", "general.fileType", "a..b", ".a", "a.", ".", "a b", "a/b",
        "a:b", "general.size-label", "a.b-c.d", "a\xc3\xa9", "a\x7f", "a\n"}) {
    CAPTURE(std::string(key));
    check_warned(with_pair(key, 4, Bytes().u32(1)).bytes(),
                 "the key is not of lower_snake_case segments joined by dots");
  }
}

TEST_CASE("gguf: metadata values") {
  check_refused(with_pair("a.b", 13, Bytes().u32(1)).bytes(), "corrupt_data",
                "metadata key 'a.b' " + at(second_pair), "value type 13");
  check_refused(with_pair("a.b", 10, Bytes().u32(1)).bytes(), "corrupt_data", "value needs 8 bytes",
                "4 remain");
  check_refused(with_pair("a.b", 8, Bytes().u64(5).raw("abcd")).bytes(), "corrupt_data",
                "string needs 5 bytes", "4 remain");
  check_refused(with_pair("a.b", 8, Bytes().u64((1u << 30) + 1).raw("abcd")).bytes(),
                "corrupt_data", "string has a length of 1073741825", "1 GiB");
  check_warned(with_pair("a.b", 7, Bytes().number<std::uint8_t>(2)).bytes(),
               "metadata key 'a.b' " + at(second_pair) + " a boolean is 2");
  check_warned(with_pair("a.b", 8, Bytes().text("\xff")).bytes(), "not valid UTF-8");
  check_warned(Gguf().bytes(), "general.architecture is missing");
}

TEST_CASE("gguf: arrays") {
  const auto array = [](std::uint32_t type, std::uint64_t count, const Bytes& elements) {
    return with_pair("a.b", 9, Bytes().u32(type).u64(count).raw(elements.data())).bytes();
  };
  check_refused(array(13, 1, Bytes().u32(1)), "corrupt_data", "'a.b' " + at(second_pair),
                "array element type 13");
  check_refused(array(0, 5, Bytes().u32(1)), "corrupt_data", "array of 5 elements needs 5 bytes",
                "4 remain");
  check_refused(array(10, 2, Bytes().u64(1).u32(1)), "corrupt_data", "needs 16 bytes");
  check_refused(array(0, (1u << 30) + 1, Bytes().u32(1)), "corrupt_data", "above 2^30");
  check_refused(array(10, UINT64_MAX / 8 + 2, Bytes().u64(1)), "corrupt_data", "above 2^30");
  check_refused(array(8, 2, Bytes().text("ab").u64(3).raw("ab")), "corrupt_data",
                "string in the array needs 3 bytes", "2 remain");
  check_refused(array(8, 2, Bytes().text("0123456789")), "corrupt_data", "string in the array");
  check_refused(array(8, 1, Bytes().u64(UINT64_MAX)), "corrupt_data", "1 GiB");
  check_warned(array(7, 2, Bytes().raw({"\1\2", 2})), "a boolean is 2");
  // Eight arrays in each other are read, nine are not.
  Bytes nested;
  for (int depth = 1; depth < 8; ++depth) nested.u32(9).u64(1);
  const std::string eight =
      with_pair("a.b", 9, Bytes().raw(nested.data()).u32(4).u64(1).u32(1)).bytes();
  CHECK(open_bytes(eight, true).array_size("a.b") == 1);
  check_refused(
      with_pair("a.b", 9, Bytes().raw(nested.data()).u32(9).u64(1).u32(4).u64(1).u32(1)).bytes(),
      "corrupt_data", "'a.b' " + at(second_pair), "nested more than 8 deep");
}

TEST_CASE("gguf: alignment") {
  const auto aligned = [](std::uint32_t alignment) {
    Gguf gguf = sound().pair("general.alignment", 4, Bytes().u32(alignment));
    gguf.alignment = alignment;
    return gguf;
  };
  Gguf gguf = aligned(64);
  gguf.tensors[1].offset = 64;
  CHECK(open_bytes(gguf.bytes(), true).tensors()[0].file_offset % 64 == 0);
  gguf = aligned(128);
  check_refused(gguf.bytes(), "corrupt_data", "'blk.0.ffn_up.weight'",
                "offset 64 is not a multiple of the alignment 128");
  for (const std::uint32_t wrong : {0u, 3u, 48u}) {
    const Gguf odd = with_pair("general.alignment", 4, Bytes().u32(wrong));
    check_refused(odd.bytes(), "corrupt_data", "'general.alignment' " + at(second_pair),
                  "alignment " + std::to_string(wrong) + " is not a power of two");
  }
  check_refused(with_pair("general.alignment", 10, Bytes().u64(32)).bytes(), "corrupt_data",
                "must be of type u32");
  check_warned(with_pair("general.alignment", 4, Bytes().u32(1)).bytes(), "multiple of 8");
  // The padding of an enormous alignment ends beyond the file.
  gguf = sound().pair("general.alignment", 4, Bytes().u32(1u << 31));
  gguf.tensors.resize(1);
  check_refused(gguf.bytes(), "corrupt_data", "beyond the file");
}

TEST_CASE("gguf: shards, quantization version") {
  Gguf gguf = sound().pair("split.count", 2, Bytes().number<std::uint16_t>(3));
  check_refused(gguf.bytes(), "input_failed", "one of 3 of a split model");
  gguf = sound().pair("split.count", 2, Bytes().number<std::uint16_t>(1));
  CHECK_NOTHROW(open_bytes(gguf.bytes(), true));
  gguf = sound();
  gguf.pairs.pop_back();
  check_warned(gguf.bytes(), "general.quantization_version is missing");
}

TEST_CASE("gguf: tensor entries") {
  const auto named = [](const std::string& name) {
    Gguf gguf = one_tensor({8});
    gguf.tensors[0].name = name;
    return gguf.data(32).bytes();
  };
  CHECK(open_bytes(named(std::string(63, 'n')), true).tensors()[0].name.size() == 63);
  check_refused(named(std::string(64, 'n')), "corrupt_data", "tensor 1 " + at(first_tensor),
                "64 bytes");
  CHECK_NOTHROW(open_bytes(named(""), true));
  check_warned(named("a\xff"), "tensor 'a\\xff' " + at(first_tensor) + " the name is not valid");
  Gguf gguf = sound();
  gguf.tensors[1].name = gguf.tensors[0].name;
  check_refused(gguf.bytes(), "corrupt_data", "tensor 'token_embd.weight' ", "twice");

  CHECK_NOTHROW(open_bytes(one_tensor({2, 2, 2, 2}).bytes(), true));
  check_refused(one_tensor({2, 2, 2, 2, 1}).bytes(), "corrupt_data",
                "tensor 't' " + at(first_tensor), "5 dimensions");
  check_refused(one_tensor({8}, 43).bytes(), "input_failed", "tensor 't' " + at(first_tensor),
                "type 43 is not a tensor type");
  check_refused(one_tensor({33}, 8).bytes(), "corrupt_data", "a row of 33 elements", "Q8_0");
  check_refused(one_tensor({8, 32}, 8).bytes(), "corrupt_data", "a row of 8 elements");
  check_refused(one_tensor({}, 8).bytes(), "corrupt_data", "a row of 1 element is");
  CHECK(open_bytes(one_tensor({}).bytes(), true).tensors()[0].size_bytes == 4);
  CHECK(open_bytes(one_tensor({0, 5}).bytes(), true).tensors()[0].size_bytes == 0);
}

TEST_CASE("gguf: element counts and sizes that do not fit") {
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  check_refused(one_tensor({half}).bytes(), "corrupt_data", "'t' " + at(first_tensor), "2^63");
  check_refused(one_tensor({1u << 31, 1u << 31, 2}).bytes(), "corrupt_data", "2^63");
  check_refused(one_tensor({1u << 31, 1u << 31, 4}).bytes(), "corrupt_data", "2^63");
  check_refused(one_tensor({0, half}).bytes(), "corrupt_data", "2^63");
  check_refused(one_tensor({half - 1}, 28).bytes(), "corrupt_data", "does not fit 64 bits");
  check_refused(one_tensor({half - 1}, 24).bytes(), "corrupt_data", "beyond the file");
  check_refused(one_tensor({std::uint64_t{1} << 60}).bytes(), "corrupt_data", "beyond the file");
}

TEST_CASE("gguf: offsets") {
  Gguf gguf = sound();
  gguf.tensors[1].offset = 65;
  check_refused(gguf.bytes(), "corrupt_data", "tensor 'blk.0.ffn_up.weight' at header offset ",
                "offset 65 is not a multiple of the alignment 32");
  gguf.tensors[1].offset = 32;
  check_refused(gguf.bytes(), "corrupt_data", "overlaps tensor 'token_embd.weight'");
  gguf.tensors[1].offset = 0;
  check_refused(gguf.bytes(), "corrupt_data", "tensor 'blk.0.ffn_up.weight'", "overlaps");
  gguf.tensors[1].offset = 96;
  check_refused(gguf.bytes(), "corrupt_data", "tensor 'blk.0.ffn_up.weight'",
                "+ 102 bytes end beyond the file", "truncated");
  gguf.tensors[1].offset = UINT64_MAX - 31;
  check_refused(gguf.bytes(), "corrupt_data", "beyond the file");
  gguf.tensors[1].offset = 96;
  check_warned(gguf.data(96 + 102).bytes(), "offset 96 where llama.cpp expects 64");
}

TEST_CASE("gguf: tensors that are not listed in the order of their data") {
  Gguf gguf = sound();
  std::swap(gguf.tensors[0].offset, gguf.tensors[1].offset);
  gguf.tensors[0].offset = 128;
  gguf.data(192);
  const ModelFile model = open_bytes(gguf.bytes());
  CHECK(model.tensors()[0].name == "blk.0.ffn_up.weight");
  CHECK(model.tensors()[1].name == "token_embd.weight");
  CHECK(model.find("token_embd.weight") == &model.tensors()[1]);
  CHECK(model.find("blk.0.ffn_up.weight") == &model.tensors()[0]);
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("(and 1 more like it)") != std::string::npos);
}

TEST_CASE("gguf: a file cut at any byte is refused") {
  const std::string whole = sound().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const MemoryFile cut(whole.substr(0, size));
    const std::string found = refusal_of(cut.path());
    CHECK_MESSAGE(found.substr(0, 12) == "corrupt_data", size, " ", found);
  }
  CHECK_NOTHROW(open_bytes(whole + "more", true));
}

TEST_CASE("gguf: no flipped bit does harm") {
  const std::string whole = sound().bytes();
  const std::size_t header_bytes = sound().header().size();
  for (std::size_t bit = 0; bit < header_bytes * 8; ++bit) {
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

TEST_CASE("gguf: a count that lies costs neither time nor memory") {
  // Larger than its header needs, so that the count passes the first check.
  Gguf gguf = Gguf().architecture();
  gguf.tensor_count = 1u << 20;
  const TemporaryFile file(gguf.bytes());
  std::filesystem::resize_file(file.path(), std::uint64_t{1} << 40);  // sparse
  CHECK_THROWS_AS(ModelFile::open(file.path()), Error);
}

TEST_CASE("gguf: bytes after the last tensor") {
  // The writers of llama.cpp and gguf-py pad the last tensor to the alignment, 32 bytes.
  const auto with = [](std::size_t bytes) {
    return Gguf().architecture().tensor("t", {5}, 0, 0).data(20 + bytes).bytes();
  };
  for (const std::size_t padding : {0u, 11u, 12u}) {
    CAPTURE(padding);
    const TemporaryFile file(with(padding));
    CHECK(ModelFile::open(file.path(), {true}).warnings().empty());
  }
  const auto noted = [](const std::string& bytes, std::string_view text) {
    const TemporaryFile file(bytes);
    const ModelFile model = ModelFile::open(file.path(), {true});
    REQUIRE(model.warnings().size() == 1);
    check_message(model.warnings()[0], file.path().string(), text);
  };
  noted(with(13), "1 byte follows the last tensor");
  noted(with(12 + 1024), "1024 bytes follow the last tensor");
  // Without tensors the header ends the file.
  noted(Gguf().architecture().bytes() + std::string(40, 'x'), "bytes follow the header");
}
