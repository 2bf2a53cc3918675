// SPDX-License-Identifier: MIT
// Text that stands for other files: an index of safetensors, or a manifest of Ollama. The first
// piece is the text, the next ones are the files "a" and "b". The blob whose digest is all zeros
// is "a" too, and so is the first shard of a set whose index is the text.
#include <string>

#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::string shard = "m-00001-of-00002.safetensors";
  static hiptool::fuzz::FileFolder folder;
  static const bool is_linked = [] {
    folder.link("sha256-" + std::string(64, '0'), "a");
    folder.link(shard, "a");
    return true;
  }();
  static_cast<void>(is_linked);
  folder.write(bytes, size, {"m.safetensors.index.json", "a", "b"});
  hiptool::fuzz::check_model(folder / "m.safetensors.index.json");
  hiptool::fuzz::check_model(folder / shard);
  return 0;
}
