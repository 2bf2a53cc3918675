// SPDX-License-Identifier: MIT
#include <string>

#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool::fuzz;
  static const FileFolder folder;
  static const std::filesystem::path path = folder / "m.gguf";
  const Input input(bytes, size);
  // The magic is given, so that no effort goes into finding it; the version is left to the fuzzer.
  constexpr std::string_view magic = "GGUF";
  static std::string file;
  file = input.text();
  if (size >= magic.size()) file.replace(0, magic.size(), magic);
  folder.write("m.gguf", file);
  check_model(input, path);
  return 0;
}
