// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "builders.hpp"
#include "hiptool/model_file.hpp"
#include "support.hpp"

namespace hiptool::test {

struct Stored {
  std::string name;
  std::string_view type;
  std::vector<std::uint64_t> shape;
};

inline std::uint64_t bytes_of(const Stored& tensor) {
  std::uint64_t size = 4;
  if (tensor.type == "U8" || tensor.type == "I8" || tensor.type.starts_with("F8")) size = 1;
  if (tensor.type == "F16" || tensor.type == "BF16" || tensor.type == "I16") size = 2;
  if (tensor.type == "I64") size = 8;
  for (const std::uint64_t extent : tensor.shape) size *= extent;
  return size;
}

/// A model of one safetensors file, whose data is a hole, and its config.json.
inline ModelFile open_model(const std::vector<Stored>& tensors, std::string_view config,
                            const char* config_name = "config.json",
                            const std::string& metadata = {}) {
  std::string header = "{";
  std::uint64_t at = 0;
  for (const Stored& tensor : tensors) {
    std::string shape;
    for (const std::uint64_t extent : tensor.shape) {
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    }
    header += (at == 0 ? "\"" : ",\"") + tensor.name + R"(":{"dtype":")" +
              std::string(tensor.type) + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
              std::to_string(at) + "," + std::to_string(at + bytes_of(tensor)) + "]}";
    at += bytes_of(tensor);
  }
  if (!metadata.empty()) header += R"(,"__metadata__":)" + metadata;
  header += "}";
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.safetensors";
  {
    std::ofstream file(path, std::ios::binary);
    const std::uint64_t length = header.size();
    char bytes[sizeof length];
    std::memcpy(bytes, &length, sizeof length);
    file.write(bytes, sizeof bytes) << header;
  }
  std::filesystem::resize_file(path, 8 + header.size() + at);
  if (!config.empty()) std::ofstream(folder.path() / config_name) << config;
  return ModelFile::open(path);
}

// A layer of that many outputs and inputs, as each tool stores it.
constexpr std::uint64_t outputs = 384;
constexpr std::uint64_t inputs = 1024;
constexpr std::uint64_t weights = outputs * inputs;

inline void check_count(std::string_view what, std::string_view config,
                        const std::vector<Stored>& stored, std::uint64_t expected = weights,
                        const std::string& metadata = {}) {
  CAPTURE(what);
  std::vector<Stored> tensors = stored;
  tensors.push_back({"model.norm.weight", "BF16", {inputs}});
  const ModelFile model = open_model(tensors, config, "config.json", metadata);
  CHECK(model.parameters() == expected + inputs);
  CHECK(model.warnings().empty());
}

inline void check_undecided(std::string_view what, std::string_view config,
                            const std::vector<Stored>& stored) {
  CAPTURE(what);
  const ModelFile model = open_model(stored, config);
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("'" + stored[0].name + "' holds") != std::string::npos);
}

}  // namespace hiptool::test
