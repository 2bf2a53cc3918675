// SPDX-License-Identifier: MIT
/// Names of a program that the helper libraries inside libhiptool.a have too, and inline functions
/// of the standard library that both use: neither may collide when they are linked together.
#include <memory>
#include <regex>
#include <string>

extern "C" int lzma_crc32(int value);
extern "C" int XXH64(int value);
bool has_own_names(const std::string& text);

extern "C" int lzma_crc32(int value) { return value + 1; }
extern "C" int XXH64(int value) { return value + 2; }

bool has_own_names(const std::string& text) {
  const auto pattern = std::make_shared<std::regex>("a+");
  return std::regex_match(text, *pattern) && lzma_crc32(1) + XXH64(1) == 5;
}
