// SPDX-License-Identifier: MIT
#include "user_kernel/msgpack.hpp"

#include "user_kernel/image_bytes.hpp"

namespace hiptool::user_kernel {
namespace {

// First bytes of values (MessagePack specification, "Formats").
constexpr std::uint8_t small_map = 0x80;
constexpr std::uint8_t small_array = 0x90;
constexpr std::uint8_t small_text = 0xa0;
constexpr std::uint8_t nil = 0xc0;
constexpr std::uint8_t bin8 = 0xc4;
constexpr std::uint8_t ext8 = 0xc7;
constexpr std::uint8_t float32 = 0xca;
constexpr std::uint8_t float64 = 0xcb;
constexpr std::uint8_t unsigned8 = 0xcc;
constexpr std::uint8_t signed8 = 0xd0;
constexpr std::uint8_t fixed_ext1 = 0xd4;
constexpr std::uint8_t text8 = 0xd9;
constexpr std::uint8_t array16 = 0xdc;
constexpr std::uint8_t map16 = 0xde;
constexpr std::uint8_t least_negative = 0xe0;

bool is_between(std::uint8_t value, int first, int last) { return value >= first && value <= last; }

}  // namespace

std::uint8_t MsgpackReader::peek() const {
  if (bytes_.empty()) refuse_image("its metadata ends too early");
  return std::to_integer<std::uint8_t>(bytes_.front());
}

std::uint8_t MsgpackReader::take() {
  const std::uint8_t first = peek();
  bytes_ = bytes_.subspan(1);
  return first;
}

std::uint64_t MsgpackReader::take_number(std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | take();
  return number;
}

void MsgpackReader::take_bytes(std::uint64_t count) {
  if (count > bytes_.size()) refuse_image("its metadata ends too early");
  bytes_ = bytes_.subspan(count);
}

bool MsgpackReader::is_map() const {
  return is_between(peek(), small_map, small_map + 15) || is_between(peek(), map16, map16 + 1);
}

bool MsgpackReader::is_array() const {
  return is_between(peek(), small_array, small_array + 15) ||
         is_between(peek(), array16, array16 + 1);
}

bool MsgpackReader::is_text() const {
  return is_between(peek(), small_text, small_text + 31) || is_between(peek(), text8, text8 + 2);
}

bool MsgpackReader::is_number() const {
  return peek() < small_map || is_between(peek(), unsigned8, unsigned8 + 3);
}

std::uint64_t MsgpackReader::read_map() {
  if (!is_map()) refuse_image("its metadata has no map where one is required");
  const std::uint8_t first = take();
  return first < map16 ? first & 15u : take_number(first == map16 ? 2 : 4);
}

std::uint64_t MsgpackReader::read_array() {
  if (!is_array()) refuse_image("its metadata has no list where one is required");
  const std::uint8_t first = take();
  return first < array16 ? first & 15u : take_number(first == array16 ? 2 : 4);
}

std::string_view MsgpackReader::read_text() {
  if (!is_text()) refuse_image("its metadata has no text where one is required");
  const std::uint8_t first = take();
  const std::uint64_t length =
      first < text8 ? first & 31u : take_number(std::size_t{1} << (first - text8));
  const auto* const start = reinterpret_cast<const char*>(bytes_.data());
  take_bytes(length);
  return {start, length};
}

std::uint64_t MsgpackReader::read_number() {
  if (!is_number()) refuse_image("its metadata has no whole number where one is required");
  const std::uint8_t first = take();
  return first < small_map ? first : take_number(std::size_t{1} << (first - unsigned8));
}

/// Reads a value, or only the head of a map or list; returns the number of values that follow.
std::uint64_t MsgpackReader::skip_head() {
  if (is_map()) return 2 * read_map();
  if (is_array()) return read_array();
  if (is_text()) {
    read_text();
    return 0;
  }
  const std::uint8_t first = take();
  const auto power = [first](std::uint8_t base) { return std::uint64_t{1} << (first - base); };
  if (first < small_map || first >= least_negative || is_between(first, nil, nil + 3)) return 0;
  if (is_between(first, bin8, bin8 + 2)) {
    take_bytes(take_number(power(bin8)));
  } else if (is_between(first, ext8, ext8 + 2)) {
    const std::uint64_t length = take_number(power(ext8));
    take_bytes(1);
    take_bytes(length);
  } else if (first == float32 || first == float64) {
    take_bytes(first == float32 ? 4 : 8);
  } else if (is_between(first, unsigned8, unsigned8 + 3)) {
    take_bytes(power(unsigned8));
  } else if (is_between(first, signed8, signed8 + 3)) {
    take_bytes(power(signed8));
  } else {
    take_bytes(1 + power(fixed_ext1));
  }
  return 0;
}

/// A counter instead of recursion, so that deep nesting does not exhaust the stack.
void MsgpackReader::skip() {
  for (std::uint64_t left = 1; left > 0; --left) left += skip_head();
}

}  // namespace hiptool::user_kernel
