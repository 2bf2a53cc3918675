// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.hpp"
#include "model/name_index.hpp"

namespace hiptool::model {

/// Numbers of the metadata value types of GGUF (gguf.md).
enum class GgufValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

/// An array value: its elements stay in the file. Vocabularies are most of a GGUF header and the
/// tool never looks at their contents.
struct StoredArray {
  GgufValueType type = GgufValueType::u8;
  std::uint64_t count = 0;
  std::uint64_t file_offset = 0;  ///< of the first element
};

/// A text too long to keep; read on request.
struct StoredText {
  enum class Form { plain, json };  ///< json: in quotation marks and with escapes
  std::uint64_t file_offset = 0;
  std::uint64_t size_bytes = 0;
  Form form = Form::plain;
};

using Value =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, StoredArray, StoredText>;

struct MetadataItem {
  std::string name;
  GgufValueType type = GgufValueType::text;
  Value value;
};

/// Keys with their values, in the order in which they were added.
class Metadata {
 public:
  /// False, and nothing is added, when the key is there already.
  bool add(MetadataItem item) {
    items_.push_back(std::move(item));
    if (index_.insert(items_, items_.size() - 1)) return true;
    items_.pop_back();
    return false;
  }
  const MetadataItem* find(std::string_view key) const noexcept { return index_.find(items_, key); }
  bool has(std::string_view key) const noexcept { return find(key) != nullptr; }
  const std::vector<MetadataItem>& items() const noexcept { return items_; }

  /// The key's value when it is of that kind, or null.
  template <typename Wanted>
  const Wanted* value(std::string_view key) const noexcept {
    const MetadataItem* item = find(key);
    return item == nullptr ? nullptr : std::get_if<Wanted>(&item->value);
  }

 private:
  std::vector<MetadataItem> items_;
  NameIndex<MetadataItem> index_;
};

/// GGUF's name of a value type: "u32", "string".
std::string_view type_name(GgufValueType type) noexcept;

std::string read_text(const base::File& file, const StoredText& text);
/// At most `count` elements of an array of a parsed file from the one at `first`, nothing when they
/// are of another type.
std::optional<std::vector<std::int64_t>> read_integers(const base::File& file,
                                                       const StoredArray& array,
                                                       std::uint64_t first, std::uint64_t count);
std::optional<std::vector<std::uint64_t>> read_unsigned_integers(const base::File& file,
                                                                 const StoredArray& array,
                                                                 std::uint64_t first,
                                                                 std::uint64_t count);
std::optional<std::vector<double>> read_reals(const base::File& file, const StoredArray& array,
                                              std::uint64_t first, std::uint64_t count);
std::optional<std::vector<bool>> read_booleans(const base::File& file, const StoredArray& array,
                                               std::uint64_t first, std::uint64_t count);
std::optional<std::vector<std::string>> read_texts(const base::File& file, const StoredArray& array,
                                                   std::uint64_t first, std::uint64_t count);

}  // namespace hiptool::model
