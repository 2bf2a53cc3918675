// SPDX-License-Identifier: MIT
/// Environment variables that choose how a fake behaves.
#pragma once
#include <cstdlib>
#include <string>

namespace hiptool::fake {

inline std::string text_from(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

inline int number_from(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

/// The item of a device in a list such as "8,24"; -1 where there is none.
inline int item_from(const char* name, int ordinal) {
  std::string rest = text_from(name, "");
  for (; ordinal > 0 && !rest.empty(); --ordinal) {
    const std::size_t comma = rest.find(',');
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return rest.empty() ? -1 : std::atoi(rest.c_str());
}

}  // namespace hiptool::fake
