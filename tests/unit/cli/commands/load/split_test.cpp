// SPDX-License-Identifier: MIT
#include "cli/commands/load/split.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "hiptool/error.hpp"
#include "results/load/report.hpp"

using namespace hiptool;

TEST_CASE("the words of --split") {
  for (const char* word : {"bytes", "layer", "replicate"}) {
    CHECK(results::to_string(cli::parse_split(word).kind) == word);
    CHECK(cli::parse_split(word).proportions.empty());
  }
  CHECK(results::to_string(cli::parse_split("BYTES").kind) == "bytes");
  CHECK(results::to_string(cli::parse_split("Layer").kind) == "layer");
  CHECK(results::to_string(cli::parse_split("Replicate").kind) == "replicate");
  for (const auto& [wrong, right] : {std::pair("layers", "layer"), std::pair("BYTE", "bytes"),
                                     std::pair("replica", "replicate")}) {
    std::string hint;
    try {
      static_cast<void>(cli::parse_split(wrong));
    } catch (const Error& error) {
      hint = error.hint();
    }
    CHECK(hint.starts_with("did you mean '" + std::string(right) + "'?\n"));
  }
  const LoadSplit split = cli::parse_split("3,0.5,1e-2");
  CHECK(results::to_string(split.kind) == "proportions");
  CHECK(split.proportions == std::vector<double>{3, 0.5, 0.01});
  CHECK(cli::parse_split("1").proportions == std::vector<double>{1});
}

TEST_CASE("what is no split is refused with the word and the ways there are") {
  for (const char* word :
       {"byte", "1,", "1,x", "0,1", "-1,1", "nan,1", "inf,1", "1;2", "1 2", "0x10,1", "1e999,1"}) {
    CAPTURE(word);
    try {
      cli::parse_split(word);
      FAIL_CHECK("it was taken");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(std::string(error.what()).find("--split") != std::string::npos);
      if (std::string_view(word).ends_with(',')) continue;  // an element is missing
      for (const char* part : {"bytes", "layer", "replicate", "3,2"}) {
        CHECK(error.hint().find(part) != std::string::npos);
      }
      CHECK(std::string(error.what()).find(word) != std::string::npos);
    }
  }
}
