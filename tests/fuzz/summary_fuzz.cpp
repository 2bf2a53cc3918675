// SPDX-License-Identifier: MIT
// The config.json alongside a small safetensors file.
#include <string>

#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool;
  using namespace std::string_literals;
  static const fuzz::FileFolder folder;
  const fuzz::Input input(bytes, size);
  // Without tensors the configuration is read when the model is summarized, and not before.
  static const ModelFile model = [] {
    folder.write("m", "\x02\0\0\0\0\0\0\0{}"s);
    return ModelFile::open(folder / "m");
  }();
  folder.write("config.json", input.text());
  fuzz::check_summary(model);
  return 0;
}
