// SPDX-License-Identifier: MIT
#pragma once
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Reads a JSON text (RFC 8259) value by value from a range of a file, in windows: its memory does
/// not grow with the text. Every syntax error, also of what is skipped, is Error(corrupt_data) with
/// its offset, and so is a number beyond the range of a double; a byte order mark at the start of
/// the file is skipped. (General parsers keep the text, an
/// index of it or the largest string in memory.)
///
/// A value is entered, read or skipped where next() says what it is:
///   reader.enter(); while (reader.next_key(key)) reader.skip();
class JsonReader {
 public:
  enum class Kind { null, boolean, number, text, object, array };

  struct Number {
    bool is_whole = false;  ///< not negative, below 2^64, without fraction and exponent
    bool is_negative = false;
    std::uint64_t whole = 0;
    double real = 0;  ///< the value whatever its form
  };

  JsonReader(const base::File& file, std::uint64_t begin, std::uint64_t end,
             const Diagnostics& diagnostics);

  /// Infinity, -Infinity and NaN are numbers too, as Python writes them (into a config.json).
  void accept_constants() noexcept { accepts_constants_ = true; }

  /// Of the next byte in the file.
  std::uint64_t offset() const noexcept {
    return window_offset_ + static_cast<std::uint64_t>(at_ - window_.data());
  }
  /// What the next value is.
  Kind next();
  /// Error(corrupt_data) at that place, "WHAT is a number instead of a string", unless the next
  /// value is of that kind.
  void want(Kind wanted, const Place& place, std::string_view what);

  /// Goes into the object or array that next() has seen.
  void enter();
  /// The next key, and past its colon; false at the end of the object, which is then left.
  bool next_key(std::string& key);
  /// File offset of the last key's quotation mark.
  std::uint64_t key_offset() const noexcept { return key_offset_; }
  /// True before each element; false at the end of the array, which is then left.
  bool next_element();

  /// The string that next() has seen. When it has more than limit_bytes bytes, the rest is only
  /// checked and the answer is false.
  bool read_text(std::string& text, std::uint64_t limit_bytes);
  void read_null();
  bool read_boolean();
  Number read_number();
  /// Past the next value, whatever it is.
  void skip();
  /// Only white space may follow.
  void finish();

  /// Messages on nesting that is too deep name this place instead of the offset; an empty kind ends
  /// it. The name must outlive that.
  void set_place(const Place& place) noexcept { place_ = place; }

  [[noreturn]] void malformed(std::string_view cause) const;

 private:
  static constexpr int end_of_text = -1;

  int peek() {
    if (at_ == end_) return peek_further();
    return static_cast<unsigned char>(*at_);
  }
  int take() {
    const int byte = peek();
    if (byte != end_of_text) ++at_;
    return byte;
  }
  int peek_further();
  int peek_after_space();
  void expect(char wanted, const char* where);
  void expect_word(std::string_view word);
  void leave() noexcept;
  std::uint32_t take_code_unit();
  std::uint32_t take_escaped();
  void take_sequence(int first, char* bytes, std::size_t& size);
  bool take_digits(std::string& text);
  bool read_short_number(Number& number);
  bool read_constant(Number& number);
  [[noreturn]] void unexpected(std::string_view wanted);

  const base::File& file_;
  const Diagnostics& diagnostics_;
  std::uint64_t text_end_;
  std::uint64_t window_offset_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;

  static constexpr std::size_t deepest_nesting = 128;  // serde_json's limit
  std::bitset<deepest_nesting> is_object_;
  std::size_t depth_ = 0;
  bool is_first_ = false;  // nothing was read yet of the innermost object or array
  bool accepts_constants_ = false;
  std::uint64_t key_offset_ = 0;
  Place place_;
};

/// True when the file is a JSON object with a member of that name.
bool has_member(const base::File& file, std::string_view member, const Diagnostics& diagnostics);

/// "a number", "an object"; for messages.
std::string_view to_string(JsonReader::Kind kind) noexcept;

}  // namespace hiptool::model
