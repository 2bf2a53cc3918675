// SPDX-License-Identifier: MIT
// A split GGUF: the pieces of the input are its shards.
#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static hiptool::fuzz::FileFolder folder;
  folder.write(bytes, size, {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"});
  hiptool::fuzz::check_model(folder / "m-00001-of-00002.gguf");
  hiptool::fuzz::check_model(folder / "m-00002-of-00002.gguf");
  return 0;
}
