// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/diagnostics.hpp"
#include "model/json_reader.hpp"
#include "model/metadata.hpp"
#include "model/reader.hpp"

namespace hiptool::model {
namespace {

/// Elements of an array that are to be read.
struct Wanted {
  std::uint64_t begin;
  std::uint64_t end;

  Wanted(const StoredArray& array, std::uint64_t first, std::uint64_t count)
      : begin(std::min(first, array.count)), end(begin + std::min(count, array.count - begin)) {}
};

// Nothing when one of the numbers does not fit.
template <typename Stored, typename Result>
std::optional<std::vector<Result>> read_numbers(const base::File& file, const StoredArray& array,
                                                const Wanted& wanted) {
  Reader reader(file);
  // The parser has found that the file holds all of them, and it has not changed.
  reader.skip(array.file_offset + wanted.begin * sizeof(Stored));
  std::vector<Result> numbers;
  numbers.reserve(static_cast<std::size_t>(wanted.end - wanted.begin));
  for (std::uint64_t index = wanted.begin; index < wanted.end; ++index) {
    const Stored number = reader.take<Stored>();
    if constexpr (std::is_integral_v<Result> && !std::is_same_v<Result, bool>) {
      if (!std::in_range<Result>(number)) return std::nullopt;
    }
    numbers.push_back(static_cast<Result>(number));
  }
  return numbers;
}

template <typename Result>
std::optional<std::vector<Result>> read_whole_numbers(const base::File& file,
                                                      const StoredArray& array,
                                                      const Wanted& wanted) {
  switch (array.type) {
    case GgufValueType::u8: return read_numbers<std::uint8_t, Result>(file, array, wanted);
    case GgufValueType::i8: return read_numbers<std::int8_t, Result>(file, array, wanted);
    case GgufValueType::u16: return read_numbers<std::uint16_t, Result>(file, array, wanted);
    case GgufValueType::i16: return read_numbers<std::int16_t, Result>(file, array, wanted);
    case GgufValueType::u32: return read_numbers<std::uint32_t, Result>(file, array, wanted);
    case GgufValueType::i32: return read_numbers<std::int32_t, Result>(file, array, wanted);
    case GgufValueType::u64: return read_numbers<std::uint64_t, Result>(file, array, wanted);
    case GgufValueType::i64: return read_numbers<std::int64_t, Result>(file, array, wanted);
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view type_name(GgufValueType type) noexcept {
  constexpr std::array<std::string_view, 13> names{"u8",  "i8",  "u16",  "i16",    "u32",
                                                   "i32", "f32", "bool", "string", "array",
                                                   "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::string read_text(const base::File& file, const StoredText& text) {
  if (text.form == StoredText::Form::plain) {
    Reader reader(file);
    reader.skip(text.file_offset);
    return reader.take_text(text.size_bytes);
  }
  const Diagnostics diagnostics(file.path(), false);
  JsonReader json(file, text.file_offset, text.file_offset + text.size_bytes, diagnostics);
  std::string decoded;
  json.next();
  json.read_text(decoded, text.size_bytes);
  return decoded;
}

std::optional<std::vector<std::int64_t>> read_integers(const base::File& file,
                                                       const StoredArray& array,
                                                       std::uint64_t first, std::uint64_t count) {
  return read_whole_numbers<std::int64_t>(file, array, {array, first, count});
}

std::optional<std::vector<std::uint64_t>> read_unsigned_integers(const base::File& file,
                                                                 const StoredArray& array,
                                                                 std::uint64_t first,
                                                                 std::uint64_t count) {
  return read_whole_numbers<std::uint64_t>(file, array, {array, first, count});
}

std::optional<std::vector<double>> read_reals(const base::File& file, const StoredArray& array,
                                              std::uint64_t first, std::uint64_t count) {
  const Wanted wanted(array, first, count);
  if (array.type == GgufValueType::f32) return read_numbers<float, double>(file, array, wanted);
  if (array.type == GgufValueType::f64) return read_numbers<double, double>(file, array, wanted);
  return std::nullopt;
}

std::optional<std::vector<bool>> read_booleans(const base::File& file, const StoredArray& array,
                                               std::uint64_t first, std::uint64_t count) {
  if (array.type != GgufValueType::boolean) return std::nullopt;
  return read_numbers<std::uint8_t, bool>(file, array, {array, first, count});
}

std::optional<std::vector<std::string>> read_texts(const base::File& file, const StoredArray& array,
                                                   std::uint64_t first, std::uint64_t count) {
  if (array.type != GgufValueType::text) return std::nullopt;
  const Wanted wanted(array, first, count);
  Reader reader(file);
  reader.skip(array.file_offset);
  std::vector<std::string> texts;
  for (std::uint64_t index = 0; index < wanted.end; ++index) {
    const auto length = reader.take<std::uint64_t>();
    if (index < wanted.begin) {
      reader.skip(length);
    } else {
      texts.push_back(reader.take_text(length));
    }
  }
  return texts;
}

}  // namespace hiptool::model
