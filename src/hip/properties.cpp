// SPDX-License-Identifier: MIT
#include "hip/properties.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hiptool::hip {
namespace {

using PropertyBuffer = std::array<char, property_buffer_bytes>;

std::string read_text(const PropertyBuffer& buffer, std::size_t offset) {
  const char* begin = buffer.data() + offset;
  return {begin, std::find(begin, begin + property_name_bytes, '\0')};
}

bool is_printable(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<DeviceNames> decode(const PropertyBuffer& buffer, const PropertyLayout& layout) {
  DeviceNames names;
  names.name = read_text(buffer, layout.name_offset);
  names.arch = read_text(buffer, layout.gcn_arch_name_offset);
  names.arch.resize(std::min(names.arch.size(), names.arch.find(':')));
  int warp_size = 0;
  std::memcpy(&warp_size, buffer.data() + layout.warp_size_offset, sizeof(warp_size));
  const bool is_sane = !names.name.empty() && is_printable(names.name) &&
                       is_printable(names.arch) && (warp_size == 32 || warp_size == 64);
  return is_sane ? std::optional(names) : std::nullopt;
}

}  // namespace

std::optional<DeviceNames> read_device_names(const Api& api, int ordinal, hipError_t* error) {
  alignas(8) PropertyBuffer buffer{};
  const PropertyLayout* layout = &property_layout_r0600;
  hipError_t result = api.hipGetDevicePropertiesR0600(buffer.data(), ordinal);
  if (result == hipErrorNotSupported) {
    layout = &property_layout_r0000;
    result = api.hipGetDevicePropertiesR0000(buffer.data(), ordinal);
  }
  if (error != nullptr) *error = result;
  return result == hipSuccess ? decode(buffer, *layout) : std::nullopt;
}

}  // namespace hiptool::hip
