// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "user_kernel/elf.hpp"
#include "user_kernel/image_bytes.hpp"
#include "user_kernel/image_info.hpp"
#include "user_kernel/msgpack.hpp"

namespace hiptool::user_kernel {
namespace {

using Bytes = std::span<const std::byte>;

ArgumentInfo read_amd_argument(MsgpackReader& reader, bool& is_hidden) {
  ArgumentInfo argument;
  for (std::uint64_t left = reader.read_map(); left > 0; --left) {
    const std::string_view key = reader.read_text();
    if (key == ".size") {
      argument.size_bytes = reader.read_number();
    } else if (key == ".value_kind") {
      const std::string_view kind = reader.read_text();
      is_hidden = kind.starts_with("hidden_");
      if (kind == "by_value") argument.kind = ArgumentKind::value;
      if (kind == "global_buffer") argument.kind = ArgumentKind::pointer;
    } else if (key == ".name") {
      argument.name = reader.read_text();
    } else {
      reader.skip();
    }
  }
  return argument;
}

KernelInfo read_amd_kernel(MsgpackReader& reader) {
  KernelInfo kernel;
  for (std::uint64_t left = reader.read_map(); left > 0; --left) {
    const std::string_view key = reader.read_text();
    if (key == ".name") {
      kernel.name = reader.read_text();
    } else if (key == ".max_flat_workgroup_size") {
      kernel.max_block_threads = reader.read_number();
    } else if (key == ".args") {
      for (std::uint64_t count = reader.read_array(); count > 0; --count) {
        bool is_hidden = false;
        const ArgumentInfo argument = read_amd_argument(reader, is_hidden);
        if (!is_hidden) kernel.arguments.push_back(argument);
      }
    } else {
      reader.skip();
    }
  }
  return kernel;
}

void read_amd_metadata(Bytes metadata, ImageInfo& info) {
  MsgpackReader reader(metadata);
  for (std::uint64_t left = reader.read_map(); left > 0; --left) {
    const std::string_view key = reader.read_text();
    if (key == "amdhsa.kernels") {
      info.kernels.emplace();
      for (std::uint64_t count = reader.read_array(); count > 0; --count) {
        info.kernels->push_back(read_amd_kernel(reader));
      }
    } else if (key == "amdhsa.target") {
      info.target = processor_of(reader.read_text());
    } else {
      reader.skip();
    }
  }
}

std::uint64_t up_to_4(std::uint64_t size) { return (size + 3) / 4 * 4; }

/// The notes of one section: a header, the name and the content, each filled up to 4 bytes.
void read_amd_notes(Bytes notes, ImageInfo& info) {
  constexpr std::uint32_t metadata_type = 32;  // NT_AMDGPU_METADATA
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    const auto header = record_at<Elf64_Nhdr>(notes, 0);
    notes = notes.subspan(sizeof(header));
    const std::string_view name = text_at(part_of(notes, 0, header.n_namesz, "a note"), 0);
    const std::uint64_t start = up_to_4(header.n_namesz);
    notes = part_of(notes, start, notes.size() - std::min<std::uint64_t>(start, notes.size()),
                    "a note");
    if (name == "AMDGPU" && header.n_type == metadata_type) {
      read_amd_metadata(part_of(notes, 0, header.n_descsz, "a note"), info);
    }
    notes = notes.subspan(std::min<std::uint64_t>(up_to_4(header.n_descsz), notes.size()));
  }
}

/// Parameters in the order of their ordinals. An attribute is a byte of format, a byte of type and,
/// with the format "sized", two bytes of size and the content; else two bytes of content.
std::vector<ArgumentInfo> read_parameters(Bytes attributes) {
  constexpr std::uint8_t sized = 4;       // EIFMT_SVAL
  constexpr std::uint8_t parameter = 23;  // EIATTR_KPARAM_INFO
  std::map<std::uint16_t, ArgumentInfo> by_ordinal;
  for (std::uint64_t place = 0; place + 4 <= attributes.size();) {
    const auto format = record_at<std::uint8_t>(attributes, place);
    const auto type = record_at<std::uint8_t>(attributes, place + 1);
    const auto size = record_at<std::uint16_t>(attributes, place + 2);
    place += 4;
    if (format != sized) continue;
    const Bytes content = part_of(attributes, place, size, "an attribute");
    place += size;
    if (type != parameter) continue;
    ArgumentInfo argument;
    argument.size_bytes = record_at<std::uint32_t>(content, 8) >> 18;
    by_ordinal[record_at<std::uint16_t>(content, 4)] = argument;
  }
  std::vector<ArgumentInfo> arguments;
  for (const auto& [ordinal, argument] : by_ordinal) {
    if (ordinal != arguments.size()) refuse_image("a parameter of a kernel is missing");
    arguments.push_back(argument);
  }
  return arguments;
}

/// Names of the functions that the host can launch.
std::vector<std::string> read_entries(const std::vector<ElfSection>& sections) {
  constexpr unsigned cuda_entry = 0x10;  // STO_CUDA_ENTRY
  std::vector<std::string> names;
  const ElfSymbols symbols = read_elf_symbols(sections);
  for (const Elf64_Sym& entry : symbols.entries) {
    if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || (entry.st_other & cuda_entry) == 0) continue;
    names.emplace_back(text_at(symbols.names, entry.st_name));
  }
  return names;
}

/// The lowest byte of the flags is the compute capability, from ABI version 8 on the second byte.
std::string cubin_target(const Elf64_Ehdr& header) {
  constexpr unsigned second_byte_from = 8;
  const bool is_second = header.e_ident[EI_ABIVERSION] >= second_byte_from;
  const std::uint32_t sm = (is_second ? header.e_flags >> 8 : header.e_flags) & 0xffu;
  return sm == 0 ? std::string() : "sm_" + std::to_string(sm);
}

}  // namespace

ImageInfo read_amd_object(Bytes image) {
  ImageInfo info;
  info.kind = core::ImageKind::amd_object;
  for (const ElfSection& section : read_elf_sections(image)) {
    if (section.header.sh_type == SHT_NOTE) read_amd_notes(section.bytes, info);
  }
  return info;
}

ImageInfo read_cubin(Bytes image) {
  ImageInfo info;
  info.kind = core::ImageKind::nvidia_object;
  info.target = cubin_target(record_at<Elf64_Ehdr>(image, 0));
  const std::vector<ElfSection> sections = read_elf_sections(image);
  info.kernels.emplace();
  for (std::string& name : read_entries(sections)) {
    const std::string wanted = ".nv.info." + name;
    const auto found = std::ranges::find(sections, wanted, &ElfSection::name);
    if (found == sections.end())
      refuse_image("the kernel '" + name + "' has no list of parameters");
    info.kernels->push_back({std::move(name), read_parameters(found->bytes)});
  }
  return info;
}

}  // namespace hiptool::user_kernel
