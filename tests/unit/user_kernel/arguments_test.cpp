// SPDX-License-Identifier: MIT
#include "user_kernel/arguments.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "hiptool/error.hpp"
#include "user_kernel/signature.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;
using user_kernel::ArgumentInfo;
using user_kernel::ArgumentKind;

namespace {

ErrorCode code_of(const std::string& text) {
  try {
    parse_kernel_argument(text);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

std::string refusal(const std::vector<std::string>& given,
                    const std::vector<ArgumentInfo>& expected) {
  std::vector<KernelArgument> arguments;
  for (const std::string& text : given) arguments.push_back(parse_kernel_argument(text));
  try {
    check_arguments("k", arguments, expected);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("values and buffers") {
  const KernelArgument value = parse_kernel_argument("i16:-2");
  CHECK_FALSE(value.is_buffer);
  CHECK(value.bytes == std::vector<std::byte>{std::byte{0xfe}, std::byte{0xff}});
  const KernelArgument buffer = parse_kernel_argument("buf:u16:3:iota");
  CHECK(buffer.is_buffer);
  CHECK(buffer.count == 3);
  CHECK(buffer.type == ElementType::u16);
  CHECK(buffer.bytes == iota(ElementType::u16, 3));
  CHECK(parse_kernel_argument("buf:f64:2:zeros").bytes == std::vector<std::byte>(16));
  CHECK(parse_kernel_argument("buf:f32:5:random:9").bytes ==
        random_elements(ElementType::f32, 5, 9));
}

TEST_CASE("contents of buffers that are misspelt or incomplete are named") {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      parse_kernel_argument(text);
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return {};
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    return refused(text).find(part) != std::string::npos;
  };
  CHECK(says("buf:f32:4:iot", "unknown contents 'iot' for the buffer | did you mean 'iota'? "));
  CHECK(says("buf:f32:4:zeroes", "did you mean 'zeros'? "));
  CHECK(says("buf:f32:4:what", "unknown contents 'what' for the buffer | write "));
  CHECK(says("buf:f32:4:zeros:1", "zeros takes no value"));
  CHECK(says("buf:f32:4:file:", "file needs a path"));
  CHECK(says("buf:f32:4", "has no contents for the buffer"));
}

TEST_CASE("constants, bits and structs") {
  CHECK(parse_kernel_argument("buf:f32:3:value:1.5").bytes ==
        std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x3f},
                               std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x3f},
                               std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x3f}});
  CHECK(parse_kernel_argument("buf:u16:2:value:0xfffe").bytes ==
        std::vector<std::byte>{std::byte{0xfe}, std::byte{0xff}, std::byte{0xfe}, std::byte{0xff}});
  // The bits of a number, also of a NaN with a payload.
  CHECK(parse_kernel_argument("f32:0x7fc00001").bytes ==
        std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{0xc0}, std::byte{0x7f}});
  CHECK(parse_kernel_argument("f16:0x3c00").bytes == parse_kernel_argument("f16:1").bytes);
  const KernelArgument raw = parse_kernel_argument("bytes:0a00_FF 10");
  CHECK(raw.is_raw);
  CHECK_FALSE(raw.is_buffer);
  CHECK(raw.bytes ==
        std::vector<std::byte>{std::byte{0x0a}, std::byte{0}, std::byte{0xff}, std::byte{0x10}});
  CHECK(parse_kernel_argument("bytes:0x0102").bytes.size() == 2);
  CHECK(parse_kernel_argument("bytes:" + std::string(2 * most_argument_bytes, '0')).bytes.size() ==
        most_argument_bytes);
  CHECK(code_of("bytes:" + std::string(2 * most_argument_bytes + 2, '0')) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("arguments are compared with the types of a declaration") {
  const auto declared =
      parse_parameters("float a, const float* x, int* y, unsigned n, double d, Params p, void* v");
  const std::vector<std::string> good{"f32:1", "buf:f32:1:zeros", "buf:i32:1:zeros", "u32:1",
                                      "f64:1", "bytes:00",        "buf:f64:1:zeros"};
  CHECK(refusal(good, declared).empty());
  const auto with = [&](std::size_t place, const char* word) {
    std::vector<std::string> given = good;
    given[place] = word;
    return refusal(given, declared);
  };
  using Given = std::pair<std::size_t, const char*>;
  // Whole numbers of either sign, bytes, and null pointers fit.
  for (const Given& one :
       {Given{3, "i32:1"}, Given{2, "buf:u32:1:zeros"}, Given{1, "buf:u8:4:zeros"},
        Given{1, "u64:0"}, Given{0, "bytes:0000803f"}, Given{5, "bytes:000102"},
        Given{6, "buf:u8:1:zeros"}, Given{5, "i32:1"}}) {
    CAPTURE(one.second);
    CHECK(with(one.first, one.second).empty());
  }
  for (const Given& one :
       {Given{0, "i32:1"}, Given{0, "f64:1"}, Given{0, "bytes:00"}, Given{1, "buf:i32:1:zeros"},
        Given{1, "buf:f64:1:zeros"}, Given{1, "u64:1"}, Given{2, "buf:f32:1:zeros"},
        Given{2, "buf:i64:1:zeros"}, Given{3, "f32:1"}, Given{3, "u16:1"}, Given{4, "u64:1"},
        Given{5, "buf:u8:1:zeros"}}) {
    CAPTURE(one.second);
    CHECK(with(one.first, one.second).find("argument " + std::to_string(one.first)) !=
          std::string::npos);
  }
  CHECK(with(0, "i32:1").find("'float a'; 'i32:1' is a value of 4 bytes, i32") !=
        std::string::npos);
  const auto halves = parse_parameters("__half* h, __half s");
  CHECK(refusal({"buf:f16:1:zeros", "f16:1"}, halves).empty());
  CHECK_FALSE(refusal({"buf:bf16:1:zeros", "f16:1"}, halves).empty());
  CHECK_FALSE(refusal({"buf:f16:1:zeros", "u16:1"}, halves).empty());
}

TEST_CASE("a file fills a buffer with its first bytes") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hiptool-arguments-" + std::to_string(getpid())))
          .string();
  std::ofstream(path, std::ios::binary) << "abcdefgh:";
  CHECK(parse_kernel_argument("buf:u8:4:file:" + path).bytes ==
        std::vector<std::byte>{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}});
  CHECK(parse_kernel_argument("buf:u8:9:file:" + path).bytes.back() == std::byte{':'});
  CHECK(code_of("buf:u8:10:file:" + path) == ErrorCode::input_failed);
  CHECK(code_of("buf:u32:3:file:" + path) == ErrorCode::input_failed);
  std::remove(path.c_str());
  CHECK(code_of("buf:u8:4:file:" + path) == ErrorCode::input_failed);
}

TEST_CASE("what is no argument is refused") {
  const std::vector<std::string> texts{"",
                                       "5",
                                       "i32",
                                       "i32:",
                                       "int:5",
                                       "buf",
                                       "buf:",
                                       "buf:f32",
                                       "buf:f32:4",
                                       "buf:f32:4:",
                                       "buf:f32:0:zeros",
                                       "buf:f32:-1:zeros",
                                       "buf:f32:x:zeros",
                                       "buf:f32::zeros",
                                       "buf:f32:4:ones",
                                       "buf:f32:4:zeros:1",
                                       "buf:f32:4:iota:1",
                                       "buf:f32:4:random",
                                       "buf:f32:4:random:",
                                       "buf:f32:4:random:x",
                                       "buf:f32:4:random:1:2",
                                       "buf:f32:4:value",
                                       "buf:f32:4:value:",
                                       "buf:u8:4:value:256",
                                       "bytes:",
                                       "bytes:0",
                                       "bytes:0g",
                                       "bytes:0x",
                                       "f32:0x1ffffffff",
                                       "f32:0x",
                                       "buf:f32:4:file",
                                       "buf:f32:4:file:",
                                       "buf:f33:4:zeros",
                                       "buf:f64:4611686018427387904:zeros",
                                       "buf:u8:18446744073709551616:zeros"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(code_of(text) == ErrorCode::invalid_argument);
  }
  CHECK(code_of("buf:u8:9223372036854775000:zeros") == ErrorCode::host_out_of_memory);
}

TEST_CASE("arguments are compared with what the image says") {
  const ArgumentInfo pointer{8, ArgumentKind::pointer};
  const ArgumentInfo value4{4, ArgumentKind::value};
  const ArgumentInfo value8{8, ArgumentKind::value};
  const ArgumentInfo unknown4{4, ArgumentKind::unknown};
  const ArgumentInfo unknown8{8, ArgumentKind::unknown};
  const std::string buffer = "buf:u8:1:zeros";
  CHECK(refusal({}, {}).empty());
  CHECK(refusal({buffer, "f32:1"}, {pointer, value4}).empty());
  CHECK(refusal({buffer, "u32:1", buffer, "u64:1"}, {unknown8, unknown4, unknown8, unknown8})
            .empty());
  CHECK(refusal({"u64:0"}, {pointer}).empty());
  CHECK(refusal({"i32:1"}, {}).find("takes 0 arguments, and 1 is given") != std::string::npos);
  CHECK(refusal({}, {value4}).find("takes 1 argument, and 0 are given") != std::string::npos);
  CHECK(refusal({buffer, "i64:1"}, {pointer, value4}).find("argument 1") != std::string::npos);
  CHECK_FALSE(refusal({"u64:1"}, {pointer}).empty());
  CHECK_FALSE(refusal({"u32:0"}, {pointer}).empty());
  CHECK_FALSE(refusal({buffer}, {value8}).empty());
  CHECK_FALSE(refusal({buffer}, {unknown4}).empty());
  CHECK_FALSE(refusal({"i16:1"}, {unknown4}).empty());
}
