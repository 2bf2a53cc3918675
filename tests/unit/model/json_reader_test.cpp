// SPDX-License-Identifier: MIT
#include "model/json_reader.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "builders.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::test;
using Kind = model::JsonReader::Kind;

namespace {

// A reader of these bytes, which stand behind three others in a file.
class Text {
 public:
  explicit Text(std::string_view json)
      : memory_("abc" + std::string(json) + "]"),
        file_(base::File::open(memory_.path())),
        diagnostics_(memory_.path(), false),
        reader(file_, 3, 3 + json.size(), diagnostics_) {}

 private:
  MemoryFile memory_;
  base::File file_;
  model::Diagnostics diagnostics_;

 public:
  model::JsonReader reader;
};

// The value as nlohmann's library would hold it.
nlohmann::json value_of(model::JsonReader& reader) {
  switch (reader.next()) {
    case Kind::null: reader.read_null(); return nullptr;
    case Kind::boolean: return reader.read_boolean();
    case Kind::number: {
      const model::JsonReader::Number number = reader.read_number();
      if (number.is_whole) return number.whole;
      return number.real;
    }
    case Kind::text: {
      std::string text;
      CHECK(reader.read_text(text, UINT64_MAX));
      return text;
    }
    case Kind::object: {
      nlohmann::json object = nlohmann::json::object();
      std::string key;
      reader.enter();
      while (reader.next_key(key)) {
        nlohmann::json value = value_of(reader);
        object[key] = std::move(value);
      }
      return object;
    }
    case Kind::array: break;
  }
  nlohmann::json array = nlohmann::json::array();
  reader.enter();
  while (reader.next_element()) array.push_back(value_of(reader));
  return array;
}

std::string json_refusal_of(std::string_view json) {
  Text text(json);
  try {
    text.reader.skip();
    text.reader.finish();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt_data);
    return error.what();
  }
  return "accepted";
}

constexpr std::string_view sample =
    R"( {"a" : [1, -2, 3.5e-1, 18446744073709551615, 0, -0.0, 1E2, []], "b":{},)"
    R"("text":"x\"\\\/\b\f\n\r\tA\u00e9\u20AC\ud83d\uDE00)"
    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f"
    R"(", "t":true,"f":false,"n":null ,"deep":[[[{"k":[{}]}]]] } )";

}  // namespace

TEST_CASE("json: values as an independent library reads them") {
  Text text(sample);
  const nlohmann::json value = value_of(text.reader);
  text.reader.finish();
  CHECK(value == nlohmann::json::parse(sample));
}

TEST_CASE("json: accepts what an independent library accepts, and nothing else") {
  std::mt19937 random(7);
  const std::string_view letters(
      "{}[]\",:\\u0019aeftnrl.-+E \n\t\x01\x7f\xc3\xa9\xed\xa0\x80\xf4\xff", 36);
  int accepted = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::string json(sample);
    const auto changes = 1 + random() % 3;
    for (unsigned change = 0; change < changes; ++change) {
      const std::size_t place = random() % json.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0: json[place] = letter; break;
        case 1: json.insert(json.begin() + static_cast<std::ptrdiff_t>(place), letter); break;
        default: json.erase(place, 1); break;
      }
    }
    const bool expected = nlohmann::json::accept(json);
    const std::string found = json_refusal_of(json);
    CAPTURE(json);
    CAPTURE(found);
    CHECK((found == "accepted") == expected);
    accepted += expected ? 1 : 0;
  }
  CHECK(accepted > 1000);
}

TEST_CASE("json: texts that lie across windows") {
  // Each kind of character is brought to the window's end by the spaces before it.
  const std::string value = "\"ab\\u00e9\\ud83d\\ude00\xc3\xa9\xf0\x9f\x98\x80\\n12\"";
  const std::string expected = nlohmann::json::parse(value);
  constexpr std::size_t window_bytes = std::size_t{256} << 10;
  for (std::size_t back = 0; back < value.size() + 4; ++back) {
    Text text(std::string(window_bytes - back, ' ') + "[" + value + ",-12.5e1,true]");
    std::string found;
    REQUIRE(text.reader.next() == Kind::array);
    text.reader.enter();
    REQUIRE(text.reader.next_element());
    REQUIRE(text.reader.next() == Kind::text);
    CHECK(text.reader.offset() == 3 + window_bytes - back + 1);
    CHECK(text.reader.read_text(found, 100));
    CHECK(found == expected);
    REQUIRE(text.reader.next_element());
    REQUIRE(text.reader.next() == Kind::number);
    CHECK(text.reader.read_number().real == -125.0);
    REQUIRE(text.reader.next_element());
    REQUIRE(text.reader.next() == Kind::boolean);
    CHECK(text.reader.read_boolean());
    CHECK_FALSE(text.reader.next_element());
    text.reader.finish();
  }
}

TEST_CASE("json: a text above its limit is checked and not kept") {
  std::string found;
  Text fits("\"12345\"");
  fits.reader.next();
  CHECK(fits.reader.read_text(found, 5));
  Text longer("\"12345\\n\"");
  longer.reader.next();
  CHECK_FALSE(longer.reader.read_text(found, 5));
  longer.reader.finish();
  Text large('"' + std::string(1u << 20, 'x') + '"');
  large.reader.next();
  CHECK_FALSE(large.reader.read_text(found, 1000));
  CHECK(found.capacity() < 2000);
  Text bad('"' + std::string(1000, 'x') + "\xff\"");
  bad.reader.next();
  CHECK_THROWS_AS(bad.reader.read_text(found, 5), Error);
}

TEST_CASE("json: numbers") {
  const auto number = [](std::string_view json) {
    Text text(json);
    REQUIRE(text.reader.next() == Kind::number);
    const auto found = text.reader.read_number();
    text.reader.finish();
    return found;
  };
  CHECK(number("18446744073709551615").whole == UINT64_MAX);
  CHECK_FALSE(number("18446744073709551616").is_whole);
  CHECK(number("18446744073709551616").real == 18446744073709551616.0);
  CHECK_FALSE(number("1.0").is_whole);
  CHECK_FALSE(number("1e0").is_whole);
  CHECK_FALSE(number("-0").is_whole);
  CHECK(number("-0").is_negative);
  CHECK(number("0").is_whole);
  CHECK_FALSE(number(std::string(300, '9')).is_whole);
  CHECK(number("1e-999").real == 0);
  CHECK(number("0." + std::string(1000, '1')).real == 1.0 / 9);
  for (const std::string& beyond :
       {std::string("1e999"), std::string(100'000, '9'), std::string(600, '0').insert(0, "1"),
        "1e" + std::string(1000, '1')}) {
    CHECK(json_refusal_of(beyond).find("beyond the range of a double") != std::string::npos);
  }
}

TEST_CASE("json: messages have offset and cause on one line") {
  CHECK(json_refusal_of("[1,}").find(
            "at header offset 6: it is malformed: expected a value, found '}'") !=
        std::string::npos);
  CHECK(json_refusal_of("{\"a\" 1}")
            .find("offset 8: it is malformed: expected ':' after the key, found '1'") !=
        std::string::npos);
  CHECK(json_refusal_of("[").find("it ends before ") != std::string::npos);
  CHECK(json_refusal_of("[\"\n\"]").find("control character") != std::string::npos);
  CHECK(json_refusal_of("\"\\udc00\"").find("an unpaired surrogate") != std::string::npos);
  CHECK(json_refusal_of("{\"" + std::string((1u << 20) + 1, 'k') + "\":1}").find("1048576 bytes") !=
        std::string::npos);
}

TEST_CASE("json: nesting") {
  CHECK(json_refusal_of(std::string(128, '[') + std::string(128, ']')) == "accepted");
  CHECK(json_refusal_of(std::string(129, '[') + std::string(129, ']')).find("more than 128 deep") !=
        std::string::npos);
  CHECK(json_refusal_of(std::string(10'000'000, '[')).find("128") != std::string::npos);
  std::string objects;
  for (int depth = 0; depth < 129; ++depth) objects += "{\"a\":";
  CHECK(json_refusal_of(objects).find("128") != std::string::npos);
}
