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

bool is_whole(ImageKind kind, Bytes image) {
  switch (kind) {
    case ImageKind::amd_object:
    case ImageKind::nvidia_object: return is_whole_elf(image);
    case ImageKind::amd_bundle: return is_whole_bundle(image);
    case ImageKind::fatbin: return is_whole_fatbin(image);
    default: return true;
  }
}

std::span<const ImageKind> kinds_of(Platform platform) {
  using enum ImageKind;
  static constexpr std::array amd{amd_object, amd_bundle, compressed_bundle};
  static constexpr std::array nvidia{ptx, nvidia_object, fatbin};
  static constexpr std::array of_cpu{cpu};
  switch (platform) {
    case Platform::amd: return amd;
    case Platform::nvidia: return nvidia;
    case Platform::cpu: return of_cpu;
  }
  return {};
}

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
  switch (kind) {
    case ImageKind::empty: return "empty";
    case ImageKind::unknown: return "of an unrecognised kind";
    case ImageKind::amd_object: return "an AMD code object";
    case ImageKind::amd_bundle: return "a bundle of AMD code objects";
    case ImageKind::compressed_bundle: return "a compressed bundle of AMD code objects";
    case ImageKind::nvidia_object: return "a CUDA object (cubin)";
    case ImageKind::ptx: return "a PTX text";
    case ImageKind::fatbin: return "a CUDA fat binary";
    case ImageKind::other_object: return "an ELF object for another machine";
    case ImageKind::cpu: return "the image of the cpu platform";
  }
  return "no image";
}

void check_image(Bytes image, Platform platform, std::string_view device_text,
                 std::string_view name) {
  const ImageKind kind = identify_image(image);
  const auto accepted = kinds_of(platform);
  std::string subject = "the kernel image";
  if (!name.empty()) subject += " '" + std::string(name) + "'";
  if (std::find(accepted.begin(), accepted.end(), kind) == accepted.end()) {
    std::string message = subject + " is " + std::string(describe(kind)) + "; " +
                          std::string(device_text) + " takes " +
                          std::string(describe(accepted.front()));
    throw Error(ErrorCode::input_failed, "load module", std::move(message));
  }
  if (!is_whole(kind, image)) {
    throw Error(ErrorCode::corrupt_data, "load module",
                subject + " is " + std::string(describe(kind)) + " that ends too early: " +
                    std::to_string(image.size()) + " bytes are not all that its headers name");
  }
}

}  // namespace hiptool::core
