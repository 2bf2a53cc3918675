// SPDX-License-Identifier: MIT
#include "model/safetensors_header.hpp"

#include <utility>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "model/checked.hpp"
#include "model/json_reader.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::string_view metadata_name = "__metadata__";
constexpr std::uint64_t most_kept_value_bytes = 1u << 20;  // longer ones stay in the file
constexpr std::uint64_t most_type_bytes = 100;
constexpr std::size_t most_numbers = 1024;  // of a shape
constexpr std::size_t most_remembered_fields = 32;
constexpr std::size_t most_metadata_items = std::size_t{1} << 21;

class HeaderReader {
 public:
  using Kind = JsonReader::Kind;

  HeaderReader(const base::File& file, std::uint64_t begin, std::uint64_t end, bool opaque,
               Diagnostics& diagnostics, const SafetensorsSink& sink)
      : json_(file, begin, end, diagnostics),
        opaque_(opaque),
        diagnostics_(diagnostics),
        sink_(sink) {}

  void read() {
    place_.offset = json_.offset();
    json_.want(Kind::object, place_, "the JSON text");
    json_.enter();
    while (json_.next_key(entry_.name)) {
      if (entry_.name == metadata_name) {
        read_metadata();
      } else {
        read_tensor();
      }
    }
    json_.finish();
  }

 private:
  // The fields of a tensor's entry that were there.
  struct Seen {
    bool type = false;
    bool shape = false;
    bool offsets = false;
    std::vector<std::string> others;
  };

  [[noreturn]] void corrupt(std::string_view cause) const { diagnostics_.corrupt(place_, cause); }

  void read_metadata() {
    place_ = {"metadata key", metadata_name, json_.key_offset()};
    if (has_metadata_) corrupt("the key appears twice");
    has_metadata_ = true;
    if (json_.next() == Kind::null) {
      // The reference reader takes null for an absent __metadata__.
      json_.read_null();
      diagnostics_.warn("metadata", place_, "__metadata__ is null instead of an object");
      return;
    }
    json_.want(Kind::object, place_, metadata_name);
    json_.enter();
    std::size_t items = 0;
    while (json_.next_key(key_)) {
      place_ = {"metadata key", key_, json_.key_offset()};
      json_.want(Kind::text, place_, "the value");
      const std::uint64_t offset = json_.offset();
      std::string text;
      MetadataItem item{key_, GgufValueType::text, {}};
      if (json_.read_text(text, most_kept_value_bytes)) {
        item.value = std::move(text);
      } else {
        item.value = StoredText{offset, json_.offset() - offset, StoredText::Form::json};
      }
      if (!sink_.take_metadata(std::move(item))) corrupt("the key appears twice");
      if (++items > most_metadata_items) corrupt("__metadata__ has more than 2^21 keys");
    }
  }

  void read_tensor() {
    entry_.header_offset = json_.key_offset();
    place_ = {"tensor", entry_.name, entry_.header_offset};
    json_.set_place(place_);
    json_.want(Kind::object, place_, "the entry");
    json_.enter();
    Seen seen;
    while (json_.next_key(key_)) read_field(seen);
    json_.set_place({});
    if (!seen.type) corrupt("dtype is missing");
    if (!seen.shape) corrupt("shape is missing");
    if (!seen.offsets) corrupt("data_offsets is missing");
    check_range();
    if (!sink_.take_tensor(entry_)) corrupt("the name appears twice");
  }

  void read_field(Seen& seen) {
    bool is_new = true;
    if (key_ == "dtype") {
      is_new = !std::exchange(seen.type, true);
      if (is_new) read_type();
    } else if (key_ == "shape") {
      is_new = !std::exchange(seen.shape, true);
      if (is_new) read_numbers("shape", entry_.shape);
    } else if (key_ == "data_offsets") {
      is_new = !std::exchange(seen.offsets, true);
      if (is_new) read_numbers("data_offsets", range_);
    } else {
      is_new = !base::contains(seen.others, key_);
      if (is_new && seen.others.size() < most_remembered_fields) seen.others.push_back(key_);
      if (is_new) json_.skip();
    }
    if (!is_new) corrupt("the key " + in_quotes(key_) + " appears twice");
  }

  void read_type() {
    json_.want(Kind::text, place_, "dtype");
    const bool fits = json_.read_text(entry_.type_name, most_type_bytes);
    entry_.type = fits ? find_safetensors_type(entry_.type_name) : nullptr;
    if (entry_.type == nullptr && (!opaque_ || !fits)) {
      diagnostics_.unreadable_kind(
          place_, "dtype " + in_quotes(entry_.type_name) + " is not one of safetensors",
          "a newer hiptool may read it; --opaque takes it as plain bytes");
    }
  }

  void read_numbers(std::string_view field, std::vector<std::uint64_t>& numbers) {
    json_.want(Kind::array, place_, field);
    numbers.clear();
    json_.enter();
    while (json_.next_element()) {
      const Kind kind = json_.next();
      std::string_view found = to_string(kind);
      if (kind == Kind::number) {
        const JsonReader::Number number = json_.read_number();
        if (number.is_whole && numbers.size() < most_numbers) {
          numbers.push_back(number.whole);
          continue;
        }
        found = number.is_negative ? "a negative number" : "not a whole number of 64 bits";
        if (number.is_whole) found = "more than 1024 numbers";
      }
      corrupt(std::string(field) + " holds " + std::string(found));
    }
  }

  void check_range() {
    if (range_.size() != 2) {
      corrupt("data_offsets has " + base::plain_count_of(range_.size(), "number") +
              " instead of 2");
    }
    entry_.begin = range_[0];
    entry_.end = range_[1];
    if (entry_.end < entry_.begin) {
      corrupt("data_offsets end at " + std::to_string(entry_.end) + ", before they begin at " +
              std::to_string(entry_.begin));
    }
    const std::uint64_t size_bytes = entry_.end - entry_.begin;
    entry_.elements = count_elements();
    if (entry_.type == nullptr) return;  // the range alone says what an unknown type takes
    const auto bits = checked_multiply(entry_.elements, entry_.type->entry.block_bits);
    if (!bits) corrupt("the shape gives more than 2^64 bits");
    if (*bits % 8 != 0) {
      corrupt("the shape gives " + base::plain_count_of(*bits, "bit") +
              ", not a whole number of bytes");
    }
    if (*bits / 8 != size_bytes) {
      corrupt("data_offsets span " + base::plain_count_of(size_bytes, "byte") +
              ", shape and dtype give " + std::to_string(*bits / 8));
    }
  }

  std::uint64_t count_elements() const {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : entry_.shape) {
      const auto product = checked_multiply(elements, extent);
      if (!product) corrupt("the shape multiplies to more than 2^64 elements");
      elements = *product;
    }
    return elements;
  }

  JsonReader json_;
  bool opaque_;
  Diagnostics& diagnostics_;
  const SafetensorsSink& sink_;
  Place place_{"header", {}, 0};
  bool has_metadata_ = false;
  std::string key_;
  SafetensorsEntry entry_;
  std::vector<std::uint64_t> range_;
};

}  // namespace

void read_safetensors_header(const base::File& file, std::uint64_t begin, std::uint64_t end,
                             bool opaque, Diagnostics& diagnostics, const SafetensorsSink& sink) {
  HeaderReader(file, begin, end, opaque, diagnostics, sink).read();
}

}  // namespace hiptool::model
