// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hiptool::test {

/// Sonames and paths as the dynamic loader's cache has them, for x86_64 and for i386: the format of
/// glibc's elf/cache.c, independent of the code under test.
inline std::string loader_cache(
    const std::vector<std::pair<std::string, std::string>>& of_64_bits,
    const std::vector<std::pair<std::string, std::string>>& of_32_bits) {
  const auto number = [](std::size_t value, std::size_t bytes) {
    std::string text;
    for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xff);
    return text;
  };
  const std::size_t count = of_64_bits.size() + of_32_bits.size();
  const std::size_t strings_at = 48 + 24 * count;
  std::string entries;
  std::string strings;
  const auto add = [&](const std::pair<std::string, std::string>& file, std::size_t flags) {
    const std::size_t soname_at = strings_at + strings.size();
    strings += file.first + '\0';
    const std::size_t path_at = strings_at + strings.size();
    strings += file.second + '\0';
    entries += number(flags, 4) + number(soname_at, 4) + number(path_at, 4) + number(0, 12);
  };
  for (const auto& file : of_64_bits) add(file, 0x0303);
  for (const auto& file : of_32_bits) add(file, 0x0003);
  return "glibc-ld.so.cache1.1" + number(count, 4) + number(strings.size(), 4) + number(2, 1) +
         std::string(19, '\0') + entries + strings;
}

}  // namespace hiptool::test
