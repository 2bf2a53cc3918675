// SPDX-License-Identifier: MIT
/// Sections and symbols of 64-bit little-endian ELF files (System V gABI).
#pragma once
#include <elf.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace hiptool::user_kernel {

struct ElfSection {
  Elf64_Shdr header{};
  std::string_view name;
  std::span<const std::byte> bytes;  ///< empty for SHT_NOBITS
};

struct ElfSymbols {
  std::vector<Elf64_Sym> entries;
  std::span<const std::byte> names;  ///< for text_at(names, entry.st_name)
};

/// Throws Error(corrupt_data) for sections and names outside the image, whose bytes are not copied.
std::vector<ElfSection> read_elf_sections(std::span<const std::byte> image);

/// The first SHT_SYMTAB; valid files have at most one.
ElfSymbols read_elf_symbols(const std::vector<ElfSection>& sections);

}  // namespace hiptool::user_kernel
