// SPDX-License-Identifier: MIT
#include "user_kernel/msgpack.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hiptool/error.hpp"

using hiptool::Error;
using hiptool::user_kernel::MsgpackReader;
using nlohmann::json;

namespace {

std::vector<std::uint8_t> packed(const json& value) { return json::to_msgpack(value); }

MsgpackReader reader(const std::vector<std::uint8_t>& bytes) {
  return MsgpackReader(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST_CASE("numbers, texts and counts of every width") {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{255},
        std::uint64_t{256}, std::uint64_t{65535}, std::uint64_t{65536}, std::uint64_t{1} << 40,
        ~std::uint64_t{0}}) {
    CHECK(reader(packed(number)).read_number() == number);
  }
  for (const std::size_t length : {0u, 31u, 32u, 255u, 256u, 65535u, 65536u}) {
    const std::string text(length, 'x');
    const auto bytes = packed(text);
    CHECK(reader(bytes).read_text() == text);
    const auto list = packed(json(std::vector<int>(length, 1)));
    CHECK(reader(list).read_array() == length);
    json map = json::object();
    if (length > 300) continue;
    for (std::size_t i = 0; i < length; ++i) map[std::to_string(i)] = 1;
    CHECK(reader(packed(map)).read_map() == length);
  }
}

TEST_CASE("skip passes over every kind of value") {
  const std::vector<json> values{nullptr,
                                 true,
                                 false,
                                 5,
                                 -1,
                                 -32,
                                 -33,
                                 -1000,
                                 -100000,
                                 std::int64_t{-1} << 40,
                                 1.5,
                                 1e300,
                                 300,
                                 70000,
                                 std::uint64_t{1} << 40,
                                 "text",
                                 std::string(300, 'y'),
                                 std::string(70000, 'z'),
                                 json::array({1, json::array({2, 3}), "a"}),
                                 json{{"k", json{{"l", json::array()}}}},
                                 json::binary({1, 2, 3}),
                                 json::binary(std::vector<std::uint8_t>(300)),
                                 json::binary({1}, 7),
                                 json::binary({1, 2}, 7),
                                 json::binary({1, 2, 3}, 7),
                                 json::binary(std::vector<std::uint8_t>(16), 7)};
  std::vector<std::uint8_t> all;
  for (const json& value : values) {
    const auto bytes = packed(value);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  all.push_back(42);
  MsgpackReader whole = reader(all);
  for (std::size_t i = 0; i < values.size(); ++i) whole.skip();
  CHECK(whole.read_number() == 42);
  CHECK_THROWS_AS(whole.skip(), Error);
}

TEST_CASE("what ends too early or is of another kind is refused") {
  const auto bytes = packed(json{{"key", json::array({1, 70000, "text", 1.5})}});
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    const std::vector<std::uint8_t> cut(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(kept));
    CHECK_THROWS_AS(reader(cut).skip(), Error);
  }
  CHECK_THROWS_AS(reader(packed("text")).read_number(), Error);
  CHECK_THROWS_AS(reader(packed(-1)).read_number(), Error);
  CHECK_THROWS_AS(reader(packed(1)).read_text(), Error);
  CHECK_THROWS_AS(reader(packed(1)).read_map(), Error);
  CHECK_THROWS_AS(reader(packed(1)).read_array(), Error);
}

TEST_CASE("deep nesting costs no stack, and a great count no time") {
  std::vector<std::uint8_t> deep(4'000'000, 0x91);
  deep.push_back(1);
  CHECK_NOTHROW(reader(deep).skip());
  CHECK_THROWS_AS(reader({0xdd, 0xff, 0xff, 0xff, 0xff}).skip(), Error);
}
