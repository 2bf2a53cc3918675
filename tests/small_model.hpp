// SPDX-License-Identifier: MIT
/// A safetensors file written here byte by byte, so that tests of loading rest on no writer of the
/// project's own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "support.hpp"

namespace hiptool::test {

struct SmallTensor {
  std::string name;
  std::vector<std::byte> bytes;
  std::string dtype = "U8";
  std::size_t element_bytes = 1;
};

inline SmallTensor float_tensor(const std::string& name, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {name, {bytes.begin(), bytes.end()}, "F32", sizeof(float)};
}

inline std::filesystem::path write_small_model(const std::filesystem::path& path,
                                               const std::vector<SmallTensor>& tensors) {
  std::string header = "{";
  std::uint64_t offset = 0;
  for (const SmallTensor& tensor : tensors) {
    if (header.size() > 1) header += ",";
    header += "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" +
              std::to_string(tensor.bytes.size() / tensor.element_bytes) + "],\"data_offsets\":[" +
              std::to_string(offset) + "," + std::to_string(offset + tensor.bytes.size()) + "]}";
    offset += tensor.bytes.size();
  }
  header += "}";
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  for (const SmallTensor& tensor : tensors) {
    file.write(reinterpret_cast<const char*>(tensor.bytes.data()),
               static_cast<std::streamsize>(tensor.bytes.size()));
  }
  return path;
}

/// Tensors of many sizes, empty and odd ones among them, with random contents.
inline std::vector<SmallTensor> various_tensors() {
  std::vector<SmallTensor> tensors;
  std::uint64_t seed = 1;
  for (const std::size_t size :
       {1u, 0u, 255u, 256u, 257u, 16'384u, 16'385u, 100'000u, 0u, 3u, 1'000'003u, 40'000u, 7u}) {
    tensors.push_back({"blk." + std::to_string(seed) + ".weight", random_bytes(size, seed)});
    ++seed;
  }
  return tensors;
}

/// What the arena must hold: tensors at multiples of 256, zeros between.
inline std::vector<std::byte> expected_arena(const std::vector<SmallTensor>& tensors) {
  std::vector<std::byte> arena;
  for (const SmallTensor& tensor : tensors) {
    arena.resize((arena.size() + 255) / 256 * 256, std::byte{0});
    arena.insert(arena.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return arena;
}

/// All of a layout on one device.
inline LoadPlan plan_of_one(const Device& device, const ArenaLayout& layout) {
  return {{{device, layout}}, SplitKind::bytes, {}};
}

/// A parsed small model, its layout and the device that the suite runs on.
struct ModelFixture {
  TemporaryFolder folder;
  std::vector<SmallTensor> tensors = various_tensors();
  std::filesystem::path path = write_small_model(folder.path() / "m.safetensors", tensors);
  ModelFile model = ModelFile::open(path);
  ArenaLayout layout = lay_out(model);
  Platforms platforms;
  Device device = test::device(platforms);
};

}  // namespace hiptool::test
