// SPDX-License-Identifier: MIT
#include "report/tree.hpp"

#include <doctest/doctest.h>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::report;

namespace {

// What the parser says, or "accepted".
std::string answer(std::string_view text) {
  try {
    parse_json(text, "a.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::corrupt_data);
    return error.what();
  }
  return "accepted";
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

}  // namespace

TEST_CASE("what is parsed is what stood there, in its order") {
  const char* text =
      R"({"b":[1,-2,18446744073709551615,0.5,true,false,null],"a":{"x":"\u00e4\"","":{}},"c":[]})";
  CHECK(json_text(parse_json(text, "")) ==
        R"({"b":[1,-2,18446744073709551615,0.5,true,false,null],"a":{"x":"ä\"","":{}},"c":[]})");
  CHECK(text_of(parse_json(" \"x\" ", "")) == "x");
}

TEST_CASE("what is no JSON is refused and named") {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":}", "{'a':1}", "nul", "1 2", "[1] x",
                           "\"\xff\"", "01", "1e999", "[NaN]", "// c\n1", "{\"a\":1,\"a\":2}"}) {
    CAPTURE(text);
    CHECK(answer(text).substr(0, 8) == "a.json: ");
  }
  CHECK(answer("[1,\n2,]") ==
        "a.json: parse error at line 2, column 3: syntax error while parsing "
        "value - unexpected ']'; expected '[', '{', or a literal");
  CHECK(answer("[{\"k\":1,\"l\":2,\"k\":3}]") == "a.json: the name 'k' appears twice");
}

TEST_CASE("a file that was never a document is not parsed to the reader") {
  const auto hint = [](std::string_view text) {
    try {
      parse_json(text, "a.json");
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string();
  };
  CHECK(answer("") == "a.json: the file is empty");
  CHECK(answer(" \n") == "a.json: the file is empty");
  CHECK(answer("hello") == "a.json: not a JSON document");
  CHECK(answer(" [1,]").starts_with("a.json: parse error at line 1, column 5"));
  CHECK(hint("hello").starts_with("give a JSON document that hiptool wrote"));
  CHECK(hint("GGUF\x03") == "show a model with `hiptool inspect FILE`");
}

TEST_CASE("depth is bounded") {
  CHECK(answer(nested(64)) == "accepted");
  CHECK(answer(nested(65)) == "a.json: it is more than 64 levels deep");
  CHECK(answer(std::string(1'000'000, '[')) == "a.json: it is more than 64 levels deep");
}

TEST_CASE("what is not there or of another type is absent") {
  const Value tree = parse_json(R"({"n":3,"r":1.5,"m":-1,"t":"x","l":[1,2],"o":{"i":true}})", "");
  CHECK(number_of(member(tree, "n")) == 3.0);
  CHECK(number_of(member(tree, "m")) == -1.0);
  CHECK(number_of(member(tree, "r")) == 1.5);
  CHECK_FALSE(number_of(member(tree, "t")));
  CHECK_FALSE(number_of(member(member(tree, "o"), "i")));
  CHECK(count_of(member(tree, "n")) == 3u);
  CHECK_FALSE(count_of(member(tree, "m")));
  CHECK_FALSE(count_of(member(tree, "r")));
  CHECK(count_of(Value(std::int64_t{5})) == 5u);
  CHECK(text_of(member(tree, "t")) == "x");
  CHECK(text_of(member(tree, "n")).empty());
  CHECK(elements(member(tree, "l")).size() == 2);
  CHECK(elements(member(tree, "o")).empty());
  CHECK(member(tree, "none").is_absent());
  CHECK(member(member(tree, "l"), "n").is_absent());
}
