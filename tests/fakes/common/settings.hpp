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

}  // namespace hiptool::fake
