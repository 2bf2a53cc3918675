// SPDX-License-Identifier: MIT
/// As much of an ELF file as a fake needs. An image that a runtime is handed has no length, so
/// its headers are trusted, as the runtimes do.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::fake {

class Elf {
 public:
  /// `image` points to at least 64 bytes.
  explicit Elf(const void* image) : image_(static_cast<const char*>(image)) {}

  /// A 64-bit little-endian file for that machine, with a section table.
  bool is_for(std::uint16_t machine) const;

  std::vector<std::string> section_names() const;
  /// All sections of that type.
  std::vector<std::string_view> sections(std::uint32_t type) const;
  /// Names in the tables of symbols for the linker (dynamic symbols).
  std::vector<std::string> dynamic_symbols() const;

 private:
  struct Section {
    std::uint32_t name;
    std::uint32_t type;
    std::string_view bytes;
    std::uint32_t link;
  };
  Section section(unsigned index) const;
  unsigned section_count() const;

  const char* image_;
};

}  // namespace hiptool::fake
