// SPDX-License-Identifier: MIT
/// Sections and symbols of 64-bit little-endian ELF files (System V gABI).
#pragma once
#include <elf.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace hiptool::measure {

struct ElfSection {
  Elf64_Shdr header{};
  std::string_view name;
  std::span<const std::byte> bytes;  ///< empty for SHT_NOBITS
};

struct ElfSymbol {
  Elf64_Sym entry{};
  std::string_view name;
};

/// Throws Error(corrupt_data) for sections and names outside the image, whose bytes are not copied.
std::vector<ElfSection> read_elf_sections(std::span<const std::byte> image);

/// The entries of the first SHT_SYMTAB; valid files have at most one. Throws Error(corrupt_data)
/// for a name outside the image.
std::vector<ElfSymbol> read_elf_symbols(const std::vector<ElfSection>& sections);

}  // namespace hiptool::measure
