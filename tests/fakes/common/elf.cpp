// SPDX-License-Identifier: MIT
#include "fakes/common/elf.hpp"

#include <elf.h>

#include <cstring>

namespace hiptool::fake {
namespace {

template <class Value>
Value read(const char* from) {
  Value value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

bool Elf::is_for(std::uint16_t machine) const {
  if (std::memcmp(image_, ELFMAG, SELFMAG) != 0) return false;
  const auto header = read<Elf64_Ehdr>(image_);
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == machine && header.e_shentsize == sizeof(Elf64_Shdr) &&
         header.e_shoff != 0 && header.e_shstrndx < header.e_shnum;
}

unsigned Elf::section_count() const { return read<Elf64_Ehdr>(image_).e_shnum; }

Elf::Section Elf::section(unsigned index) const {
  const auto header = read<Elf64_Ehdr>(image_);
  const auto found = read<Elf64_Shdr>(image_ + header.e_shoff + index * sizeof(Elf64_Shdr));
  const bool has_bytes = found.sh_type != SHT_NOBITS;
  return {
      found.sh_name, found.sh_type,
      has_bytes ? std::string_view(image_ + found.sh_offset, found.sh_size) : std::string_view(),
      found.sh_link};
}

std::vector<std::string> Elf::section_names() const {
  const std::string_view texts = section(read<Elf64_Ehdr>(image_).e_shstrndx).bytes;
  std::vector<std::string> names;
  for (unsigned index = 0; index < section_count(); ++index) {
    names.emplace_back(texts.substr(section(index).name).data());
  }
  return names;
}

std::vector<std::string_view> Elf::sections(std::uint32_t type) const {
  std::vector<std::string_view> found;
  for (unsigned index = 0; index < section_count(); ++index) {
    if (const Section one = section(index); one.type == type) found.push_back(one.bytes);
  }
  return found;
}

std::vector<std::string> Elf::dynamic_symbols() const {
  std::vector<std::string> names;
  for (unsigned index = 0; index < section_count(); ++index) {
    const Section table = section(index);
    if (table.type != SHT_DYNSYM) continue;
    const std::string_view texts = section(table.link).bytes;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.bytes.size();
         at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(table.bytes.data() + at);
      names.emplace_back(texts.substr(symbol.st_name).data());
    }
  }
  return names;
}

}  // namespace hiptool::fake
