// SPDX-License-Identifier: MIT
#include "model/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <span>

#include "base/text.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint64_t window_bytes = std::uint64_t{256} << 10;

// Bytes of a string that need no decoding.
constexpr std::array<bool, 256> plain_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }

// The first byte of a sequence has as many leading ones as there are bytes.
std::size_t encode(std::uint32_t point, char* bytes) {
  if (point < 0x80) {
    bytes[0] = static_cast<char>(point);
    return 1;
  }
  const std::size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (std::size_t last = size - 1; last > 0; --last, point >>= 6) {
    bytes[last] = static_cast<char>(0x80 | (point & 0x3F));
  }
  bytes[0] = static_cast<char>(((0xF00 >> size) & 0xFF) | point);
  return size;
}

}  // namespace

JsonReader::JsonReader(const base::File& file, std::uint64_t begin, std::uint64_t end,
                       const Diagnostics& diagnostics)
    : file_(file), diagnostics_(diagnostics), text_end_(end), window_offset_(begin) {
  at_ = end_ = window_.data();
}

void JsonReader::malformed(std::string_view cause) const {
  diagnostics_.corrupt({"JSON text", {}, offset()}, "it is malformed: " + std::string(cause));
}

void JsonReader::unexpected(std::string_view wanted) {
  const int byte = peek();
  if (byte == end_of_text) {
    diagnostics_.truncated({"JSON text", {}, offset()}, "it ends before " + std::string(wanted));
  }
  const char found = static_cast<char>(byte);
  malformed("expected " + std::string(wanted) + ", found " + in_quotes({&found, 1}));
}

int JsonReader::peek_further() {
  window_offset_ = offset();
  if (window_offset_ >= text_end_) {
    window_.clear();
    at_ = end_ = window_.data();
    return end_of_text;
  }
  window_.resize(static_cast<std::size_t>(std::min(window_bytes, text_end_ - window_offset_)));
  file_.read_at(std::as_writable_bytes(std::span(window_)), window_offset_);
  at_ = window_.data();
  end_ = at_ + window_.size();
  // Editors of Windows put a mark in front of a file; a text inside one has none.
  const std::string_view text(window_.data(), window_.size());
  if (window_offset_ == 0 && text.starts_with(base::byte_order_mark)) {
    at_ += base::byte_order_mark.size();
    if (at_ == end_) return peek_further();
  }
  return static_cast<unsigned char>(*at_);
}

int JsonReader::peek_after_space() {
  int byte = peek();
  while (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r') {
    ++at_;
    byte = peek();
  }
  return byte;
}

void JsonReader::expect(char wanted, const char* where) {
  if (peek_after_space() != wanted) unexpected(where);
  ++at_;
}

void JsonReader::expect_word(std::string_view word) {
  for (const char letter : word) {
    if (peek() != letter) unexpected(in_quotes(word));
    ++at_;
  }
}

JsonReader::Kind JsonReader::next() {
  const int byte = peek_after_space();
  switch (byte) {
    case '{': return Kind::object;
    case '[': return Kind::array;
    case '"': return Kind::text;
    case 't':
    case 'f': return Kind::boolean;
    case 'n': return Kind::null;
    default: break;
  }
  const bool is_constant = accepts_constants_ && (byte == 'I' || byte == 'N');
  if (byte != '-' && !is_digit(byte) && !is_constant) unexpected("a value");
  return Kind::number;
}

void JsonReader::want(Kind wanted, const Place& place, std::string_view what) {
  const Kind found = next();
  if (found == wanted) return;
  std::string cause(what);
  cause.append(" is ").append(to_string(found)).append(" instead of ").append(to_string(wanted));
  diagnostics_.corrupt(place, cause);
}

void JsonReader::enter() {
  if (depth_ == deepest_nesting) {
    const Place place = place_.kind.empty() ? Place{"JSON text", {}, offset()} : place_;
    diagnostics_.corrupt(place, "the JSON text is nested more than 128 deep");
  }
  is_object_[depth_] = take() == '{';
  ++depth_;
  is_first_ = true;
}

void JsonReader::leave() noexcept {
  ++at_;
  --depth_;
  is_first_ = false;
}

bool JsonReader::next_key(std::string& key) {
  int byte = peek_after_space();
  if (byte == '}') {
    leave();
    return false;
  }
  if (!is_first_) {
    expect(',', "',' or '}'");
    byte = peek_after_space();
  }
  is_first_ = false;
  if (byte != '"') unexpected("a key in quotation marks");
  key_offset_ = offset();
  constexpr std::uint64_t most_key_bytes = 1u << 20;
  if (!read_text(key, most_key_bytes)) {
    diagnostics_.corrupt({"JSON text", {}, key_offset_}, "a key has more than 1048576 bytes");
  }
  expect(':', "':' after the key");
  return true;
}

bool JsonReader::next_element() {
  if (peek_after_space() == ']') {
    leave();
    return false;
  }
  if (!is_first_) expect(',', "',' or ']'");
  is_first_ = false;
  return true;
}

bool JsonReader::read_text(std::string& text, std::uint64_t limit_bytes) {
  text.clear();
  ++at_;  // the quotation mark
  bool fits = true;
  const auto append = [&](const char* bytes, std::size_t size) {
    fits = fits && size <= limit_bytes - text.size();
    if (fits) text.append(bytes, size);
  };
  while (true) {
    const char* const run = at_;
    while (at_ != end_ && plain_bytes[static_cast<unsigned char>(*at_)]) ++at_;
    if (at_ != run) append(run, static_cast<std::size_t>(at_ - run));
    const int byte = take();
    if (byte == '"') return fits;
    if (byte == end_of_text) unexpected("the end of a string");
    char bytes[4];
    std::size_t size = 0;
    if (byte == '\\') {
      size = encode(take_escaped(), bytes);
    } else if (byte >= 0x80) {
      take_sequence(byte, bytes, size);
    } else if (byte < 0x20) {
      --at_;
      malformed("a string contains an unescaped control character");
    } else {
      bytes[size++] = static_cast<char>(byte);  // the first byte of a new window
    }
    append(bytes, size);
  }
}

// The rest of a sequence of UTF-8 that begins with this byte.
void JsonReader::take_sequence(int first, char* bytes, std::size_t& size) {
  bytes[size++] = static_cast<char>(first);
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  while (size < length && (peek() & 0xC0) == 0x80) {
    bytes[size++] = static_cast<char>(take());
  }
  if (!is_utf8({bytes, size})) malformed("a string is not valid UTF-8");
}

std::uint32_t JsonReader::take_code_unit() {
  std::array<char, 4> digits;
  for (char& digit : digits) {
    if (std::isxdigit(peek()) == 0) unexpected("a hexadecimal digit");
    digit = static_cast<char>(take());
  }
  std::uint32_t unit = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  return unit;
}

std::uint32_t JsonReader::take_escaped() {
  switch (peek()) {
    case '"':
    case '\\':
    case '/': return static_cast<std::uint32_t>(take());
    case 'b': ++at_; return '\b';
    case 'f': ++at_; return '\f';
    case 'n': ++at_; return '\n';
    case 'r': ++at_; return '\r';
    case 't': ++at_; return '\t';
    case 'u': ++at_; break;
    default: unexpected("an escape such as \\n");
  }
  const std::uint32_t high = take_code_unit();
  if (high < 0xD800 || high > 0xDFFF) return high;
  if (high > 0xDBFF || take() != '\\' || take() != 'u') malformed("an unpaired surrogate");
  const std::uint32_t low = take_code_unit();
  if (low < 0xDC00 || low > 0xDFFF) malformed("an unpaired surrogate");
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

void JsonReader::read_null() { expect_word("null"); }

bool JsonReader::read_boolean() {
  const bool value = peek() == 't';
  expect_word(value ? "true" : "false");
  return value;
}

// At least one digit; the text keeps as many as a number may need.
bool JsonReader::take_digits(std::string& text) {
  constexpr std::size_t most_kept = 512;
  if (!is_digit(peek())) unexpected("a digit");
  bool fits = true;
  while (is_digit(peek())) {
    fits = text.size() < most_kept;
    if (fits) text += static_cast<char>(*at_);
    ++at_;
  }
  return fits;
}

// A fast path for plain whole numbers inside the window: nearly all numbers of headers.
bool JsonReader::read_short_number(Number& number) {
  constexpr std::ptrdiff_t most_digits = 18;
  if (end_ - at_ <= most_digits || *at_ == '0' || *at_ == '-') return false;
  const char* digit = at_;
  std::uint64_t whole = 0;
  for (; digit - at_ < most_digits && is_digit(*digit); ++digit) {
    whole = whole * 10 + static_cast<std::uint64_t>(*digit - '0');
  }
  if (is_digit(*digit) || *digit == '.' || *digit == 'e' || *digit == 'E') return false;
  at_ = digit;
  number = {true, false, whole, static_cast<double>(whole)};
  return true;
}

// After a sign, if there is one.
bool JsonReader::read_constant(Number& number) {
  const int byte = peek();
  if (!accepts_constants_ || (byte != 'I' && byte != 'N')) return false;
  expect_word(byte == 'I' ? "Infinity" : "NaN");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  number.real = number.is_negative ? -infinity : infinity;
  if (byte == 'N') number.real = std::numeric_limits<double>::quiet_NaN();
  return true;
}

JsonReader::Number JsonReader::read_number() {
  Number number;
  if (read_constant(number) || read_short_number(number)) return number;
  std::string text;
  if (peek() == '-') {
    number.is_negative = true;
    text += static_cast<char>(take());
    if (read_constant(number)) return number;
  }
  bool fits = true;
  const bool is_zero = peek() == '0';
  if (is_zero) {
    text += static_cast<char>(take());
  } else {
    fits = take_digits(text);
  }
  bool is_integer = true;
  if (peek() == '.') {
    is_integer = false;
    text += static_cast<char>(take());
    take_digits(text);  // what does not fit is too small to matter
  }
  bool is_small = text.compare(0, 2, "0.") == 0 || text.compare(0, 3, "-0.") == 0;
  if (peek() == 'e' || peek() == 'E') {
    is_integer = false;
    text += static_cast<char>(take());
    is_small = peek() == '-';
    if (peek() == '+' || peek() == '-') text += static_cast<char>(take());
    fits = take_digits(text) && fits;
  }
  const char* const end = text.data() + text.size();
  if (is_integer && !number.is_negative) {
    const auto [rest, error] = std::from_chars(text.data(), end, number.whole);
    number.is_whole = fits && error == std::errc() && rest == end;
  }
  const bool is_double = std::from_chars(text.data(), end, number.real).ec == std::errc();
  if ((!fits || !is_double) && !is_small) malformed("a number is beyond the range of a double");
  if (!is_double) number.real = 0;
  return number;
}

void JsonReader::skip() {
  const std::size_t outside = depth_;
  std::string scratch;
  do {
    switch (next()) {
      case Kind::null: read_null(); break;
      case Kind::boolean: read_boolean(); break;
      case Kind::number: read_number(); break;
      case Kind::text: read_text(scratch, 0); break;
      case Kind::object:
      case Kind::array: enter(); break;
    }
    while (depth_ > outside) {
      if (is_object_[depth_ - 1] ? next_key(scratch) : next_element()) break;
    }
  } while (depth_ > outside);
}

void JsonReader::finish() {
  if (peek_after_space() != end_of_text) unexpected("the end");
}

bool has_member(const base::File& file, std::string_view member, const Diagnostics& diagnostics) {
  JsonReader json(file, 0, file.size_bytes(), diagnostics);
  if (json.next() != JsonReader::Kind::object) return false;
  json.enter();
  std::string key;
  while (json.next_key(key)) {
    if (key == member) return true;
    json.skip();
  }
  return false;
}

std::string_view to_string(JsonReader::Kind kind) noexcept {
  switch (kind) {
    case JsonReader::Kind::null: return "null";
    case JsonReader::Kind::boolean: return "a boolean";
    case JsonReader::Kind::number: return "a number";
    case JsonReader::Kind::text: return "a string";
    case JsonReader::Kind::object: return "an object";
    case JsonReader::Kind::array: break;
  }
  return "an array";
}

}  // namespace hiptool::model
