// SPDX-License-Identifier: MIT
// Text that stands for other files: an index of safetensors, or a manifest of Ollama. The first
// piece is the text, the next ones are the files "a" and "b". The blob whose digest is all zeros
// is "a" too, and so is the first shard of a set whose index is the text.
#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool::fuzz;
  static const std::string shard = "m-00001-of-00002.safetensors";
  static const std::vector<std::string> names{"m.safetensors.index.json", "a", "b"};
  static const FileFolder folder;
  static const std::filesystem::path index = folder / names[0];
  static const std::filesystem::path first = folder / shard;
  static const bool is_linked = [] {
    folder.link("sha256-" + std::string(64, '0'), "a");
    folder.link(shard, "a");
    return true;
  }();
  static_cast<void>(is_linked);
  const Input input(bytes, size);
  folder.write(input, names);
  check_model(input, index);
  constexpr std::size_t each = 5;
  if (input.is_turn(each)) check_model(input, first);
  return 0;
}
