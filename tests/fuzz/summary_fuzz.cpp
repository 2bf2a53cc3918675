// SPDX-License-Identifier: MIT
// The config.json alongside a small safetensors file.
#include <cstdint>
#include <string>

#include "check_model.hpp"
#include "file_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static hiptool::fuzz::FileFolder folder;
  static const bool is_written = [] {
    using namespace std::string_literals;
    const std::string model = "\x02\0\0\0\0\0\0\0{}"s;
    folder.write(reinterpret_cast<const std::uint8_t*>(model.data()), model.size(), {"m"});
    return true;
  }();
  static_cast<void>(is_written);
  folder.write(bytes, size, {"config.json"});
  hiptool::fuzz::check_model(folder / "m");
  return 0;
}
