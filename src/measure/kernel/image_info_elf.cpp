// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <map>

#include "hiptool/error.hpp"
#include "measure/kernel/image_info.hpp"
#include "measure/kernel/msgpack.hpp"

namespace hiptool::measure {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::corrupt_data, "read kernel image", "the kernel image is damaged: " + why);
}

/// A part of the image; throws where it does not lie inside.
Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    refuse(std::string(what) + " reaches beyond its end");
  }
  return bytes.subspan(offset, size);
}

template <class Number>
Number number_at(Bytes bytes, std::uint64_t offset) {
  Number number{};
  std::memcpy(&number, part(bytes, offset, sizeof(Number), "a header").data(), sizeof(Number));
  return number;
}

std::string_view text_at(Bytes bytes, std::uint64_t offset) {
  const Bytes rest =
      part(bytes, offset, bytes.size() - std::min<std::uint64_t>(offset, bytes.size()), "a name");
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  return text.substr(0, text.find('\0'));
}

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t alignment = 0;
  Bytes bytes;
};

/// ELF64, little-endian (System V gABI, "Sections").
std::vector<Section> read_sections(Bytes image) {
  constexpr std::uint32_t without_bytes = 8;  // SHT_NOBITS
  constexpr std::uint64_t entry_bytes = 64;
  const auto start = number_at<std::uint64_t>(image, 40);
  const auto size = number_at<std::uint16_t>(image, 58);
  const auto count = number_at<std::uint16_t>(image, 60);
  const auto names_index = number_at<std::uint16_t>(image, 62);
  if (count > 0 && size < entry_bytes) refuse("its sections are too small");
  const Bytes table = part(image, start, std::uint64_t{count} * size, "the table of sections");
  const auto bytes_of = [&](std::uint64_t entry) {
    if (number_at<std::uint32_t>(table, entry + 4) == without_bytes) return Bytes();
    return part(image, number_at<std::uint64_t>(table, entry + 24),
                number_at<std::uint64_t>(table, entry + 32), "a section");
  };
  std::vector<Section> sections;
  if (names_index >= count) return sections;
  const Bytes names = bytes_of(std::uint64_t{names_index} * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = i * size;
    Section section;
    section.name = text_at(names, number_at<std::uint32_t>(table, entry));
    section.type = number_at<std::uint32_t>(table, entry + 4);
    section.link = number_at<std::uint32_t>(table, entry + 40);
    section.info = number_at<std::uint32_t>(table, entry + 44);
    section.alignment = number_at<std::uint64_t>(table, entry + 48);
    section.bytes = bytes_of(entry);
    sections.push_back(section);
  }
  return sections;
}

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

/// The notes of one section: sizes of name and description, type, then both, filled up to 4 bytes.
void read_amd_notes(Bytes notes, ImageInfo& info) {
  constexpr std::uint32_t metadata_type = 32;  // NT_AMDGPU_METADATA
  while (notes.size() >= 12) {
    const auto name_bytes = number_at<std::uint32_t>(notes, 0);
    const auto bytes = number_at<std::uint32_t>(notes, 4);
    const auto type = number_at<std::uint32_t>(notes, 8);
    notes = notes.subspan(12);
    const std::string_view name = text_at(part(notes, 0, name_bytes, "a note"), 0);
    notes =
        part(notes, up_to_4(name_bytes),
             notes.size() - std::min<std::uint64_t>(up_to_4(name_bytes), notes.size()), "a note");
    if (name == "AMDGPU" && type == metadata_type) {
      read_amd_metadata(part(notes, 0, bytes, "a note"), info);
    }
    notes = notes.subspan(std::min<std::uint64_t>(up_to_4(bytes), notes.size()));
  }
}

/// Parameters by their ordinal. An attribute is a byte of format, a byte of type and, with the
/// format "sized", two bytes of size and as many of content; else two bytes of content.
std::vector<ArgumentInfo> read_parameters(Bytes attributes) {
  constexpr std::uint8_t sized = 4;       // EIFMT_SVAL
  constexpr std::uint8_t parameter = 23;  // EIATTR_KPARAM_INFO
  std::map<std::uint16_t, ArgumentInfo> by_ordinal;
  for (std::uint64_t place = 0; place + 4 <= attributes.size();) {
    const auto format = number_at<std::uint8_t>(attributes, place);
    const auto type = number_at<std::uint8_t>(attributes, place + 1);
    const auto size = number_at<std::uint16_t>(attributes, place + 2);
    place += 4;
    if (format != sized) continue;
    const Bytes content = part(attributes, place, size, "an attribute");
    place += size;
    if (type != parameter) continue;
    ArgumentInfo argument;
    argument.size_bytes = number_at<std::uint32_t>(content, 8) >> 18;
    by_ordinal[number_at<std::uint16_t>(content, 4)] = argument;
  }
  std::vector<ArgumentInfo> arguments;
  for (const auto& [ordinal, argument] : by_ordinal) {
    if (ordinal != arguments.size()) refuse("a parameter of a kernel is missing");
    arguments.push_back(argument);
  }
  return arguments;
}

/// Names of functions that the host can launch: the symbols that are marked so.
std::vector<std::string> read_entries(const std::vector<Section>& sections) {
  constexpr std::uint32_t symbol_table = 2;
  constexpr std::uint64_t entry_bytes = 24;
  constexpr unsigned function = 2;       // STT_FUNC
  constexpr unsigned cuda_entry = 0x10;  // STO_CUDA_ENTRY
  std::vector<std::string> names;
  for (const Section& section : sections) {
    if (section.type != symbol_table || section.link >= sections.size()) continue;
    const Bytes texts = sections[section.link].bytes;
    for (std::uint64_t at = 0; at + entry_bytes <= section.bytes.size(); at += entry_bytes) {
      const unsigned info = number_at<std::uint8_t>(section.bytes, at + 4);
      const unsigned other = number_at<std::uint8_t>(section.bytes, at + 5);
      if ((info & 15u) != function || (other & cuda_entry) == 0) continue;
      names.emplace_back(text_at(texts, number_at<std::uint32_t>(section.bytes, at)));
    }
  }
  return names;
}

/// The compute capability stands in the lowest byte of the flags, from ABI version 8 on in the
/// second one.
std::string cubin_target(Bytes image) {
  constexpr std::uint8_t second_byte_from = 8;
  const auto version = number_at<std::uint8_t>(image, 8);
  const auto flags = number_at<std::uint32_t>(image, 48);
  const std::uint32_t sm = (version >= second_byte_from ? flags >> 8 : flags) & 0xffu;
  return sm == 0 ? std::string() : "sm_" + std::to_string(sm);
}

}  // namespace

ImageInfo read_amd_object(Bytes image) {
  constexpr std::uint32_t notes = 7;  // SHT_NOTE
  ImageInfo info;
  info.kind = core::ImageKind::amd_object;
  for (const Section& section : read_sections(image)) {
    if (section.type == notes) read_amd_notes(section.bytes, info);
  }
  return info;
}

ImageInfo read_cubin(Bytes image) {
  ImageInfo info;
  info.kind = core::ImageKind::nvidia_object;
  info.target = cubin_target(image);
  const std::vector<Section> sections = read_sections(image);
  info.kernels.emplace();
  for (std::string& name : read_entries(sections)) {
    const std::string wanted = ".nv.info." + name;
    const auto found = std::find_if(sections.begin(), sections.end(),
                                    [&](const Section& one) { return one.name == wanted; });
    if (found == sections.end()) refuse("the kernel '" + name + "' tells no parameters");
    info.kernels->push_back({std::move(name), read_parameters(found->bytes)});
  }
  return info;
}

}  // namespace hiptool::measure
