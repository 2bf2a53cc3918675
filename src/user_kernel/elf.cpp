// SPDX-License-Identifier: MIT
#include "user_kernel/elf.hpp"

#include <algorithm>

#include "user_kernel/image_bytes.hpp"

namespace hiptool::user_kernel {

std::vector<ElfSection> read_elf_sections(std::span<const std::byte> image) {
  const auto file = record_at<Elf64_Ehdr>(image, 0);
  const std::uint64_t entry_bytes = file.e_shentsize;
  if (file.e_shnum > 0 && entry_bytes < sizeof(Elf64_Shdr)) {
    refuse_image("its sections are too small");
  }
  const auto table =
      part_of(image, file.e_shoff, file.e_shnum * entry_bytes, "the table of sections");
  const auto bytes_of = [&](const Elf64_Shdr& header) {
    if (header.sh_type == SHT_NOBITS) return std::span<const std::byte>();
    return part_of(image, header.sh_offset, header.sh_size, "a section");
  };
  std::vector<ElfSection> sections;
  if (file.e_shstrndx >= file.e_shnum) return sections;
  const auto names = bytes_of(record_at<Elf64_Shdr>(table, file.e_shstrndx * entry_bytes));
  for (std::uint64_t i = 0; i < file.e_shnum; ++i) {
    const auto header = record_at<Elf64_Shdr>(table, i * entry_bytes);
    sections.push_back({header, text_at(names, header.sh_name), bytes_of(header)});
  }
  return sections;
}

ElfSymbols read_elf_symbols(const std::vector<ElfSection>& sections) {
  ElfSymbols symbols;
  const auto table = std::ranges::find_if(
      sections, [](const ElfSection& section) { return section.header.sh_type == SHT_SYMTAB; });
  if (table == sections.end() || table->header.sh_link >= sections.size()) return symbols;
  symbols.names = sections[table->header.sh_link].bytes;
  const std::uint64_t count = table->bytes.size() / sizeof(Elf64_Sym);
  for (std::uint64_t i = 0; i < count; ++i) {
    symbols.entries.push_back(record_at<Elf64_Sym>(table->bytes, i * sizeof(Elf64_Sym)));
  }
  return symbols;
}

}  // namespace hiptool::user_kernel
