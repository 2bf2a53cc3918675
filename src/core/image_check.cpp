// SPDX-License-Identifier: MIT
#include "core/image_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"

namespace hiptool::core {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view elf_magic =
    "\x7f"
    "ELF";
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";
constexpr std::string_view fatbin_magic = "\x50\xED\x55\xBA";
constexpr std::uint16_t amdgpu_machine = 224;
constexpr std::uint16_t cuda_machine = 190;
constexpr std::size_t elf_header_bytes = 64;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A little-endian number of the image; the caller has checked the bounds.
template <class Number>
Number number_at(Bytes bytes, std::uint64_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof(Number));
  return number;
}

bool has_range(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

bool has_table(Bytes bytes, std::uint64_t offset, std::uint64_t count, std::uint64_t entry_bytes) {
  return count == 0 || has_range(bytes, offset, count * entry_bytes);  // both have 16 bits
}

/// Comments may precede the version that all PTX code begins with.
bool is_ptx(std::string_view text) {
  for (;;) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return false;
    text.remove_prefix(start);
    const bool is_line = text.starts_with("//");
    if (!is_line && !text.starts_with("/*")) return text.starts_with(".version");
    const std::size_t end = text.find(is_line ? "\n" : "*/", 2);
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + (is_line ? 1 : 2));
  }
}

bool is_whole_elf(Bytes bytes) {
  constexpr std::uint8_t class_64_bit = 2;
  constexpr std::uint64_t program_entry_bytes = 56;
  constexpr std::uint64_t section_entry_bytes = 64;
  constexpr std::uint32_t section_without_bytes = 8;
  if (bytes.size() < elf_header_bytes || number_at<std::uint8_t>(bytes, 4) != class_64_bit) {
    return false;
  }
  const auto programs = number_at<std::uint64_t>(bytes, 32);
  const auto sections = number_at<std::uint64_t>(bytes, 40);
  const auto program_bytes = number_at<std::uint16_t>(bytes, 54);
  const auto program_count = number_at<std::uint16_t>(bytes, 56);
  const auto section_bytes = number_at<std::uint16_t>(bytes, 58);
  const auto section_count = number_at<std::uint16_t>(bytes, 60);
  if (!has_table(bytes, programs, program_count, program_bytes) ||
      !has_table(bytes, sections, section_count, section_bytes) ||
      (program_count > 0 && program_bytes < program_entry_bytes) ||
      (section_count > 0 && section_bytes < section_entry_bytes)) {
    return false;
  }
  for (std::uint64_t i = 0; i < program_count; ++i) {
    const std::uint64_t entry = programs + i * program_bytes;
    if (!has_range(bytes, number_at<std::uint64_t>(bytes, entry + 8),
                   number_at<std::uint64_t>(bytes, entry + 32))) {
      return false;
    }
  }
  for (std::uint64_t i = 0; i < section_count; ++i) {
    const std::uint64_t entry = sections + i * section_bytes;
    if (number_at<std::uint32_t>(bytes, entry + 4) == section_without_bytes) continue;
    if (!has_range(bytes, number_at<std::uint64_t>(bytes, entry + 24),
                   number_at<std::uint64_t>(bytes, entry + 32))) {
      return false;
    }
  }
  return true;
}

/// Magic, number of entries, then offset, size and name of each.
bool is_whole_bundle(Bytes bytes) {
  std::uint64_t place = bundle_magic.size();
  if (!has_range(bytes, place, 8)) return false;
  const auto count = number_at<std::uint64_t>(bytes, place);
  place += 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!has_range(bytes, place, 24)) return false;
    const auto name_bytes = number_at<std::uint64_t>(bytes, place + 16);
    if (!has_range(bytes, number_at<std::uint64_t>(bytes, place),
                   number_at<std::uint64_t>(bytes, place + 8)) ||
        !has_range(bytes, place + 24, name_bytes)) {
      return false;
    }
    place += 24 + name_bytes;
  }
  return true;
}

/// Magic, version, bytes of this header, bytes of the data after it.
bool is_whole_fatbin(Bytes bytes) {
  if (!has_range(bytes, 0, 16)) return false;
  return has_range(bytes, number_at<std::uint16_t>(bytes, 6), number_at<std::uint64_t>(bytes, 8));
}

struct Format {
  std::string_view description;
  std::optional<Platform> platform = {};  // that takes such images
  bool (*is_whole)(Bytes) = nullptr;      // null: not checked
};

/// In the order of ImageKind; the first format of a platform is the one that messages recommend.
constexpr std::array formats{
    Format{"empty"},
    Format{"of an unrecognised kind"},
    Format{"an AMD code object", Platform::amd, is_whole_elf},
    Format{"a bundle of AMD code objects", Platform::amd, is_whole_bundle},
    Format{"a compressed bundle of AMD code objects", Platform::amd},
    Format{"PTX source", Platform::nvidia},
    Format{"a CUDA object (cubin)", Platform::nvidia, is_whole_elf},
    Format{"a CUDA fat binary", Platform::nvidia, is_whole_fatbin},
    Format{"an ELF object for another machine"},
    Format{"the image of the cpu platform", Platform::cpu},
};

}  // namespace

ImageKind identify_image(Bytes image) noexcept {
  const std::string_view text = text_of(image);
  if (text.empty()) return ImageKind::empty;
  if (text.starts_with(elf_magic)) {
    if (image.size() < elf_header_bytes) return ImageKind::unknown;
    switch (number_at<std::uint16_t>(image, 18)) {
      case amdgpu_machine: return ImageKind::amd_object;
      case cuda_machine: return ImageKind::nvidia_object;
      default: return ImageKind::other_object;
    }
  }
  if (text.starts_with(bundle_magic)) return ImageKind::amd_bundle;
  if (text.starts_with(compressed_magic)) return ImageKind::compressed_bundle;
  if (text.starts_with(fatbin_magic)) return ImageKind::fatbin;
  if (text.substr(0, text.find('\0')) == hip::cpu::cpu_image) return ImageKind::cpu;
  return is_ptx(text) ? ImageKind::ptx : ImageKind::unknown;
}

std::string_view describe(ImageKind kind) noexcept {
  return formats[static_cast<std::size_t>(kind)].description;
}

void check_image(Bytes image, Platform platform, std::string_view device_text,
                 std::string_view name) {
  const Format& format = formats[static_cast<std::size_t>(identify_image(image))];
  std::string subject = "the kernel image";
  if (!name.empty()) subject += " '" + std::string(name) + "'";
  subject += " is " + std::string(format.description);
  if (format.platform != platform) {
    const auto accepted = std::ranges::find(formats, platform, &Format::platform);
    throw Error(
        ErrorCode::input_failed, "load module",
        subject + "; " + std::string(device_text) + " takes " + std::string(accepted->description));
  }
  if (format.is_whole != nullptr && !format.is_whole(image)) {
    throw Error(ErrorCode::corrupt_data, "load module",
                subject + " that ends too early: " + std::to_string(image.size()) +
                    " bytes are not all that its headers name");
  }
}

}  // namespace hiptool::core
