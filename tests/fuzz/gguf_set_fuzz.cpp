// SPDX-License-Identifier: MIT
// A split GGUF: the pieces of the input are its shards.
#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool::fuzz;
  static const std::vector<std::string> names{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"};
  static const FileFolder folder;
  static const std::filesystem::path first = folder / names[0];
  static const std::filesystem::path second = folder / names[1];
  const Input input(bytes, size);
  folder.write(input, names);
  check_model(input, first);
  constexpr std::size_t each = 5;
  if (input.is_turn(each)) check_model(input, second);
  return 0;
}
