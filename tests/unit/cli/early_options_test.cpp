// SPDX-License-Identifier: MIT
#include "cli/early_options.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

EarlyOptions look(const std::vector<const char*>& words, Variables variables = {}) {
  std::vector<const char*> argv{"hiptool"};
  for (const char* word : words) argv.push_back(word);
  return read_early_options(static_cast<int>(argv.size()), argv.data(),
                            reader_of(std::move(variables)));
}

}  // namespace

TEST_CASE("the command is the first word that is not the value of an option") {
  CHECK(look({}).command == "hiptool");
  CHECK(look({"devices"}).command == "devices");
  CHECK(look({"--device", "load", "devices"}).command == "devices");
  CHECK(look({"-q", "--format=json", "make-model", "devices"}).command == "make-model");
  CHECK(look({"--", "devices"}).command == "hiptool");
  CHECK(look({"nothing"}).command == "hiptool");
}

TEST_CASE("JSON is recognised in both spellings and from the environment") {
  CHECK(look({"--format", "json"}).wants_json);
  CHECK(look({"devices", "--format=json"}).wants_json);
  CHECK(look({"devices", "--format", "JSON"}).wants_json);
  CHECK(look({"devices"}, {{"HIPTOOL_FORMAT", "Json"}}).wants_json);
  CHECK(look({"--color", "ALWAYS"}).color == ColorMode::always);
  CHECK_FALSE(look({"devices", "--format"}).wants_json);
  CHECK_FALSE(look({"devices", "--format", "csv"}).wants_json);
  CHECK(look({"devices"}, {{"HIPTOOL_FORMAT", "json"}}).wants_json);
  CHECK_FALSE(look({"devices", "--format", "table"}, {{"HIPTOOL_FORMAT", "json"}}).wants_json);
}

TEST_CASE("a command's own --format is not the output's") {
  CHECK(look({"make-model", "m", "--format", "gguf"}, {{"HIPTOOL_FORMAT", "json"}}).wants_json);
  CHECK_FALSE(look({"make-model", "m", "--format", "json"}).wants_json);
}

TEST_CASE("colour is known before anything can fail") {
  CHECK(look({"--color=always"}).color == ColorMode::always);
  CHECK(look({"devices", "--color", "never"}).color == ColorMode::never);
  CHECK(look({"--color", "always", "--color", "auto"}).color == ColorMode::automatic);
  CHECK(look({"--color", "pink"}).color == ColorMode::automatic);
}
