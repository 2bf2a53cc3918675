// SPDX-License-Identifier: MIT
#include "model/shard_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hiptool;

TEST_CASE("shard names") {
  const auto name = model::parse_shard_name("a-b-00002-of-00012.gguf");
  REQUIRE(name.has_value());
  CHECK(name->prefix == "a-b");
  CHECK(name->number == 2);
  CHECK(name->total == 12);
  CHECK(name->suffix == ".gguf");
  CHECK(name->of(1) == "a-b-00001-of-00012.gguf");
  CHECK(name->of(12) == "a-b-00012-of-00012.gguf");
  const auto six = model::parse_shard_name("model-000163-of-000163.safetensors");
  REQUIRE(six.has_value());
  CHECK(six->of(7) == "model-000007-of-000163.safetensors");
  CHECK(model::parse_shard_name("x-00001-of-00001")->suffix.empty());
  CHECK(model::parse_shard_name("-00001-of-00001.gguf")->prefix.empty());
}

TEST_CASE("names of indexes, also of a variant") {
  using Names = std::vector<std::string>;
  CHECK(model::parse_shard_name("model-00001-of-00002.safetensors")->indexes() ==
        Names{"model.safetensors.index.json"});
  CHECK(model::parse_shard_name("model.fp16-00001-of-00002.safetensors")->indexes() ==
        Names{"model.fp16.safetensors.index.json", "model.safetensors.index.fp16.json"});
  for (const char* name : {"model.safetensors.index.json", "m.fp16.safetensors.index.json",
                           "model.safetensors.index.fp16.json", "M.SAFETENSORS.INDEX.JSON"}) {
    CAPTURE(name);
    CHECK(model::is_index_name(name));
  }
  for (const char* name : {"", "index.json", "model.safetensors", "model.safetensors.index.",
                           "model.safetensors.index.fp16", "model.safetensors.indexes.json",
                           "model.safetensors.index..json", "model.safetensors.index.ajson"}) {
    CAPTURE(name);
    CHECK_FALSE(model::is_index_name(name));
  }
}

TEST_CASE("names that are none of a shard") {
  for (const char* name :
       {"", "model.gguf", "-of-", "a-of-b", "a-0001-of-0002.gguf", "a-00001-of-000002.gguf",
        "a-0000001-of-0000002.gguf", "a00001-of-00002.gguf", "00001-of-00002.gguf",
        "a-00000-of-00002.gguf", "a-00003-of-00002.gguf", "a-00001-of-00000.gguf"}) {
    CAPTURE(name);
    CHECK_FALSE(model::parse_shard_name(name).has_value());
  }
}
