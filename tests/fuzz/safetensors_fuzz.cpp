// SPDX-License-Identifier: MIT
#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool::fuzz;
  static const FileFolder folder;
  static const std::filesystem::path path = folder / "m";
  const Input input(bytes, size);
  folder.write("m", input.text());
  check_model(input, path);
  return 0;
}
