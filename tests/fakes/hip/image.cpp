// SPDX-License-Identifier: MIT
#include "fakes/hip/image.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "fakes/common/elf.hpp"
#include "fakes/hip/devices.hpp"

namespace hiptool::fake {
namespace {

constexpr std::uint16_t amdgpu_machine = 224;
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view target_prefix = "amdgcn-amd-amdhsa--";

Contents refused(hip::hipError_t error) { return {error, {}, {}, {}}; }

/// The target stands in the notes (code object version 4 and later), with its features behind.
bool is_for_this_device(const Elf& object) {
  for (const std::string_view note : object.sections(SHT_NOTE)) {
    const std::size_t at = note.find(target_prefix);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = note.substr(at + target_prefix.size());
    const std::string wanted = arch_name();
    if (!rest.starts_with(wanted)) return false;
    // What follows is a feature, or the next value of the notes, whose first byte is no letter.
    const unsigned char next = rest.size() > wanted.size()
                                   ? static_cast<unsigned char>(rest[wanted.size()])
                                   : static_cast<unsigned char>('\0');
    return next == ':' || next < '0' || next > 'z';
  }
  return false;
}

/// Each kernel has a descriptor, whose name is its own with ".kd" behind.
Contents read_object(const char* image) {
  constexpr std::string_view mark = ".kd";
  const Elf object(image);
  if (!object.is_for(amdgpu_machine)) return refused(hip::hipErrorInvalidImage);
  if (!is_for_this_device(object)) return refused(hip::hipErrorNoBinaryForGpu);
  Contents contents;
  for (const std::string& name : object.dynamic_symbols()) {
    if (name.ends_with(mark)) contents.kernels.push_back(name.substr(0, name.size() - mark.size()));
  }
  return contents;
}

std::uint64_t number_at(const char* place) {
  std::uint64_t number = 0;
  std::memcpy(&number, place, sizeof(number));
  return number;
}

/// Magic, number of entries, then offset, size and name of each.
Contents read_bundle(const char* image) {
  const char* place = image + bundle_magic.size();
  const std::uint64_t count = number_at(place);
  place += 8;
  for (std::uint64_t index = 0; index < count; ++index) {
    const std::string_view name(place + 24, number_at(place + 16));
    const std::size_t at = name.find(target_prefix);
    const std::string_view target =
        at == std::string_view::npos ? std::string_view() : name.substr(at + target_prefix.size());
    if (target.substr(0, target.find(':')) == arch_name()) {
      return read_object(image + number_at(place));
    }
    place += 24 + name.size();
  }
  return refused(hip::hipErrorNoBinaryForGpu);
}

}  // namespace

Contents read_amd_image(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  const bool is_bundle = std::strncmp(bytes, bundle_magic.data(), bundle_magic.size()) == 0;
  return is_bundle ? read_bundle(bytes) : read_object(bytes);
}

}  // namespace hiptool::fake
