// SPDX-License-Identifier: MIT
/// Parts of kernel images, which may be damaged: everything throws Error(corrupt_data) for what is
/// not inside the bytes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/error.hpp"

namespace hiptool::user_kernel {

[[noreturn]] inline void refuse_image(const std::string& why) {
  throw Error(ErrorCode::corrupt_data, "read kernel image", "the kernel image is damaged: " + why);
}

inline std::span<const std::byte> part_of(std::span<const std::byte> bytes, std::uint64_t offset,
                                          std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    refuse_image(std::string(what) + " reaches beyond its end");
  }
  return bytes.subspan(offset, size);
}

/// A little-endian number, or a struct of them.
template <class Record>
Record record_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  Record record{};
  std::memcpy(&record, part_of(bytes, offset, sizeof(Record), "a header").data(), sizeof(Record));
  return record;
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The text up to a NUL or the end of the bytes.
inline std::string_view text_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  const std::uint64_t start = std::min<std::uint64_t>(offset, bytes.size());
  const auto rest = text_of(part_of(bytes, offset, bytes.size() - start, "a name"));
  return rest.substr(0, rest.find('\0'));
}

}  // namespace hiptool::user_kernel
