// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "model/gguf_header.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "model/checked.hpp"
#include "model/gguf.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint64_t default_alignment = 32;
constexpr std::string_view alignment_key = "general.alignment";
constexpr std::uint64_t most_key_bytes = 65535;           // gguf.md
constexpr std::uint64_t most_kept_text_bytes = 1u << 20;  // longer ones stay in the file
constexpr std::uint64_t most_array_elements = std::uint64_t{1} << 30;  // llama.cpp
constexpr std::size_t deepest_nesting = 8;

// Bytes that an element of the type takes at the least; nothing for a type that is not there.
std::optional<std::uint64_t> smallest_bytes(std::uint32_t type) {
  constexpr std::array<std::uint8_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  if (type >= sizes.size()) return std::nullopt;
  return sizes[type];
}

// gguf.md: segments of lower_snake_case, joined by dots. The first one is often the architecture,
// for which llama.cpp's own converters write hyphens ("gpt-oss.block_count").
bool is_hierarchical(std::string_view key) {
  bool is_first = true;

  for (std::size_t begin = 0; begin <= key.size(); is_first = false) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string_view segment = key.substr(begin, end - begin);
    const bool is_plain = std::ranges::all_of(segment, [&](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
             letter == '_' || (letter == '-' && is_first);
    });
    if (segment.empty() || !is_plain) return false;
    begin = end + 1;
  }
  return true;
}

class MetadataReader {
 public:
  MetadataReader(GgufCursor& cursor, Metadata& metadata, HeaderSurvey* survey)
      : cursor_(cursor), metadata_(metadata), survey_(survey) {}

  void read_pair(std::uint64_t number) {
    cursor_.set_place({"metadata pair", {}, cursor_.reader().position(), number});
    const std::string key = read_key();
    cursor_.set_place({"metadata key", key, cursor_.place().offset});
    const bool is_new =
        survey_ == nullptr ? !metadata_.has(key) : survey_->add(HeaderSurvey::Space::metadata, key);
    if (!is_new) cursor_.corrupt("the key appears twice");
    const auto type = cursor_.number<std::uint32_t>("value type");
    if (!smallest_bytes(type)) {
      cursor_.corrupt("value type " + std::to_string(type) + " does not exist (0 to 12 do)");
    }
    Value value = read_value(type);
    if (key == alignment_key) check_alignment(type, value);
    if (survey_ != nullptr) return;
    metadata_.add({key, static_cast<GgufValueType>(type), std::move(value)});
  }

  std::uint64_t alignment() const noexcept { return alignment_; }

 private:
  std::string read_key() {
    const std::uint64_t length = cursor_.text_length("key");
    if (length == 0) cursor_.corrupt("the key is empty");
    if (length > most_key_bytes) {
      cursor_.corrupt("the key has " + base::plain_count_of(length, "byte") +
                      "; at most 65535 are allowed");
    }
    std::string key = cursor_.reader().take_text(length);
    if (!is_hierarchical(key)) {
      cursor_.name_place(key);
      cursor_.warn("key", "the key is not of lower_snake_case segments joined by dots");
      cursor_.name_place({});
    }
    return key;
  }

  Value read_value(std::uint32_t type) {
    switch (static_cast<GgufValueType>(type)) {
      case GgufValueType::u8: return std::uint64_t{cursor_.number<std::uint8_t>("value")};
      case GgufValueType::i8: return std::int64_t{cursor_.number<std::int8_t>("value")};
      case GgufValueType::u16: return std::uint64_t{cursor_.number<std::uint16_t>("value")};
      case GgufValueType::i16: return std::int64_t{cursor_.number<std::int16_t>("value")};
      case GgufValueType::u32: return std::uint64_t{cursor_.number<std::uint32_t>("value")};
      case GgufValueType::i32: return std::int64_t{cursor_.number<std::int32_t>("value")};
      case GgufValueType::f32: return double{cursor_.number<float>("value")};
      case GgufValueType::boolean: return read_boolean();
      case GgufValueType::text: return read_text();
      case GgufValueType::array: return read_array();
      case GgufValueType::u64: return std::uint64_t{cursor_.number<std::uint64_t>("value")};
      case GgufValueType::i64: return std::int64_t{cursor_.number<std::int64_t>("value")};
      case GgufValueType::f64: break;
    }
    return cursor_.number<double>("value");
  }

  Value read_text() {
    const std::uint64_t length = cursor_.text_length("string");
    if (length > most_kept_text_bytes) {
      const StoredText text{cursor_.reader().position(), length};
      cursor_.reader().skip(length);
      return text;
    }
    std::string text = cursor_.reader().take_text(length);
    if (!is_utf8(text)) cursor_.warn("utf-8", "the string is not valid UTF-8");
    return text;
  }

  bool read_boolean() {
    const auto value = cursor_.number<std::uint8_t>("value");
    check_boolean(value);
    return value != 0;
  }

  // Arrays in arrays are walked with a stack of fixed depth instead of recursion, so that no input
  // can exhaust the thread's stack.
  StoredArray read_array() {
    const StoredArray outermost = read_array_head();
    std::array<StoredArray, deepest_nesting> open{outermost};
    std::size_t depth = 1;
    while (depth > 0) {
      StoredArray& current = open[depth - 1];
      if (current.type != GgufValueType::array) {
        skip_elements(current.type, current.count);
        --depth;
      } else if (current.count == 0) {
        --depth;
      } else {
        --current.count;
        if (depth == deepest_nesting) cursor_.corrupt("arrays are nested more than 8 deep");
        open[depth] = read_array_head();
        ++depth;
      }
    }
    return outermost;
  }

  StoredArray read_array_head() {
    StoredArray array;
    const auto type = cursor_.number<std::uint32_t>("array element type");
    const auto element_bytes = smallest_bytes(type);
    if (!element_bytes) {
      cursor_.corrupt("array element type " + std::to_string(type) +
                      " does not exist (0 to 12 do)");
    }
    array.type = static_cast<GgufValueType>(type);
    array.count = cursor_.number<std::uint64_t>("array count");
    if (array.count > most_array_elements) {
      cursor_.corrupt("array count " + std::to_string(array.count) + " is above 2^30");
    }
    const std::uint64_t size_bytes = array.count * *element_bytes;  // at most 2^30 * 12
    if (!cursor_.reader().has(size_bytes)) {
      cursor_.too_short("an array of " + base::plain_count_of(array.count, "element"), size_bytes);
    }
    array.file_offset = cursor_.reader().position();
    return array;
  }

  void skip_elements(GgufValueType type, std::uint64_t count) {
    if (type == GgufValueType::text) {
      skip_texts(count);
    } else if (type == GgufValueType::boolean) {
      skip_booleans(count);
    } else {
      cursor_.reader().skip(count * *smallest_bytes(static_cast<std::uint32_t>(type)));
    }
  }

  void skip_texts(std::uint64_t count) {
    for (std::uint64_t index = 0; index < count; ++index) {
      cursor_.reader().skip(cursor_.text_length("string in the array"));
    }
  }

  void skip_booleans(std::uint64_t count) {
    while (count > 0) {
      const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, 1u << 16));
      const std::byte* values = cursor_.reader().peek(piece);
      const std::byte* wrong = std::find_if(values, values + piece,
                                            [](std::byte value) { return value > std::byte{1}; });
      if (wrong != values + piece) check_boolean(std::to_integer<std::uint8_t>(*wrong));
      cursor_.reader().skip(piece);
      count -= piece;
    }
  }

  void check_boolean(std::uint8_t value) {
    if (value > 1) {
      cursor_.warn("boolean", "a boolean is " + std::to_string(value) + " instead of 0 or 1");
    }
  }

  void check_alignment(std::uint32_t type, const Value& value) {
    if (type != static_cast<std::uint32_t>(GgufValueType::u32)) {
      cursor_.corrupt("the value must be of type u32 (4), not " + std::to_string(type));
    }
    alignment_ = std::get<std::uint64_t>(value);
    if (!std::has_single_bit(alignment_)) {
      cursor_.corrupt("alignment " + std::to_string(alignment_) + " is not a power of two");
    }
    if (alignment_ % 8 != 0) {
      cursor_.warn("alignment",
                   "alignment " + std::to_string(alignment_) + " is not a multiple of 8");
    }
  }

  GgufCursor& cursor_;
  Metadata& metadata_;
  HeaderSurvey* survey_;
  std::uint64_t alignment_ = default_alignment;
};

}  // namespace

std::uint64_t read_gguf_metadata(GgufCursor& cursor, std::uint64_t count, Metadata& metadata,
                                 HeaderSurvey* survey) {
  MetadataReader reader(cursor, metadata, survey);
  for (std::uint64_t index = 0; index < count; ++index) reader.read_pair(index + 1);
  return reader.alignment();
}

}  // namespace hiptool::model
