// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hiptool::user_kernel {

/// Reads MessagePack (its published specification) value by value without allocating, for the
/// metadata of code objects, of which only a few fields are needed. Every function throws
/// Error(corrupt_data) at the end of the bytes and for another kind of value.
class MsgpackReader {
 public:
  explicit MsgpackReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_map() const;
  bool is_array() const;
  bool is_text() const;
  bool is_number() const;  ///< a whole number that is not negative

  std::uint64_t read_map();    ///< pairs of key and value that follow
  std::uint64_t read_array();  ///< values that follow
  std::string_view read_text();
  std::uint64_t read_number();
  /// Skips any value with its contents.
  void skip();

 private:
  std::uint8_t peek() const;
  std::uint8_t take();
  std::uint64_t take_number(std::size_t bytes);
  void take_bytes(std::uint64_t count);
  std::uint64_t skip_head();

  std::span<const std::byte> bytes_;
};

}  // namespace hiptool::user_kernel
