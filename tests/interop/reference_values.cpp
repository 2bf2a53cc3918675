// SPDX-License-Identifier: MIT
/// Writes the values of blocks as the reference decoder reads them: reference_values TYPE
/// BLOCKS_FILE VALUES_FILE. With --list it names the GGUF types: NAME VALUES BYTES.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "model/element_types.hpp"
#include "reference/prove/values.hpp"

using namespace hiptool;

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const model::GgufType& type : model::gguf_types()) {
      if (!reference::has_values(ElementType(type.entry))) continue;
      std::printf("%s %u %u\n", std::string(type.entry.name).c_str(), type.entry.block_elements,
                  type.entry.block_bits / 8);
    }
    return 0;
  }
  if (argc != 4) return 2;
  const model::GgufType* gguf = model::find_gguf_type(argv[1]);
  const model::SafetensorsType* other = model::find_safetensors_type(argv[1]);
  if (gguf == nullptr && other == nullptr) return 2;
  const ElementType type(gguf != nullptr ? gguf->entry : other->entry);
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
  std::vector<double> values(data.size() * 8 / type.block_bits() * type.block_elements());
  reference::to_doubles(type, std::as_bytes(std::span(data)), values);
  std::ofstream(argv[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(double)));
  return 0;
}
