// SPDX-License-Identifier: MIT
#include "kernels/shared_memory.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "kernels/child_process.hpp"

namespace hiptool::kernels {
namespace {

template <class Record>
std::optional<Record> record_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || sizeof(Record) > file.size() - offset) return std::nullopt;
  Record record{};
  std::memcpy(&record, file.data() + offset, sizeof(record));
  return record;
}

/// Not hiptool_cpu::threadIdx and its kind, nor what guards the initialisation of a variable.
bool is_shared_variable(std::string_view name) {
  return !name.starts_with("_ZN11hiptool_cpu") && !name.starts_with("_ZGV") &&
         name != "__tls_guard";
}

std::uint64_t count_shared(std::string_view file, const Elf64_Shdr& symbols,
                           const Elf64_Shdr& names) {
  std::uint64_t bytes = 0;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = record_at<Elf64_Sym>(file, symbols.sh_offset + at);
    if (!symbol) break;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS || symbol->st_shndx == SHN_UNDEF) continue;
    const std::uint64_t place = names.sh_offset + symbol->st_name;
    if (place >= file.size()) break;
    if (is_shared_variable(file.substr(place, file.find('\0', place) - place))) {
      bytes += symbol->st_size;
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t static_shared_bytes(const std::string& library) {
  const std::string file = read_text(library);
  const auto header = record_at<Elf64_Ehdr>(file, 0);
  if (!header) return 0;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section =
        record_at<Elf64_Shdr>(file, header->e_shoff + i * std::uint64_t{header->e_shentsize});
    if (!section || section->sh_type != SHT_SYMTAB) continue;
    const auto names = record_at<Elf64_Shdr>(
        file, header->e_shoff + section->sh_link * std::uint64_t{header->e_shentsize});
    return names ? count_shared(file, *section, *names) : 0;
  }
  return 0;
}

}  // namespace hiptool::kernels
