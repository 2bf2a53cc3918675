// SPDX-License-Identifier: MIT
#include "input.hpp"

#include <sys/stat.h>

#include <functional>

namespace {

bool is_replay = true;

bool is_file(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

// Called by libFuzzer alone, which replays files that it is given, or with -runs=0 its corpus.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  is_replay = false;
  for (int index = 1; index < *count; ++index) {
    const char* argument = (*arguments)[index];
    is_replay = is_replay || std::string_view(argument) == "-runs=0" || is_file(argument);
  }
  return 0;
}

namespace hiptool::fuzz {

Input::Input(const std::uint8_t* bytes, std::size_t size)
    : text_(reinterpret_cast<const char*>(bytes), size),
      hash_(std::hash<std::string_view>{}(text_)) {}

bool Input::is_turn(std::size_t of_inputs) const { return is_replay || hash_ % of_inputs == 0; }

}  // namespace hiptool::fuzz
