// SPDX-License-Identifier: MIT
#include "model/safetensors_header.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "model/checked.hpp"
#include "model/element_types.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::string_view metadata_name = "__metadata__";
constexpr std::size_t deepest_nesting = 128;  // serde_json's limit
constexpr std::size_t most_tensors = std::size_t{1} << 31;

/// A character iterator that tells its owner how far the parser has come.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *progress_ = ++at_;
    return *this;
  }
  TrackedIterator operator++(int) {
    const TrackedIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const TrackedIterator& left, const TrackedIterator& right) {
    return left.at_ == right.at_;
  }

 private:
  const char* at_;
  const char** progress_;
};

/// Receives the events of the JSON parser. The names of most functions are nlohmann's.
class HeaderReader {
 public:
  using Json = nlohmann::json;

  HeaderReader(std::string_view json, std::uint64_t json_offset, Diagnostics& diagnostics,
               ModelFile::Contents& contents, std::vector<std::uint64_t>& header_offsets)
      : json_(json),
        progress_(json.data()),
        json_offset_(json_offset),
        diagnostics_(diagnostics),
        contents_(contents),
        header_offsets_(header_offsets) {}

  void read();

  bool null();
  bool boolean(bool) { return wrong_scalar("a boolean"); }
  bool number_integer(Json::number_integer_t) { return wrong_scalar("a negative number"); }
  bool number_unsigned(Json::number_unsigned_t number);
  bool number_float(Json::number_float_t, const std::string&) {
    return wrong_scalar("not a whole number of 64 bits");
  }
  bool string(std::string& text);
  bool binary(Json::binary_t&) { return wrong_scalar("binary"); }
  bool start_object(std::size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  [[noreturn]] bool parse_error(std::size_t position, const std::string& token,
                                const Json::exception& error);

 private:
  // What the next value is. `ignored` is inside a field that the format does not know.
  enum class Expected { header, tensor, metadata, metadata_text, field, ignored };
  enum class Field { none, type, shape, offsets, other };

  struct Draft {
    std::string name;
    std::uint64_t header_offset = 0;
    std::optional<ElementType> type;
    std::optional<std::vector<std::uint64_t>> shape;
    std::optional<std::vector<std::uint64_t>> offsets;
    std::unordered_set<std::string> others;
  };

  std::uint64_t offset() const {
    return json_offset_ + static_cast<std::uint64_t>(progress_ - json_.data());
  }
  Place place() const;
  std::string field_name() const;
  [[noreturn]] void corrupt(std::string_view cause) const { diagnostics_.corrupt(place(), cause); }
  bool wrong_scalar(std::string_view found);
  [[noreturn]] void wrong_value(std::string_view found) const;
  void check_depth();
  void start_tensor(std::string& name);
  void start_field(const std::string& name);
  void set_type(const std::string& name);
  void finish_tensor();
  std::uint64_t check_size(std::uint64_t size_bytes) const;

  std::string_view json_;
  const char* progress_;
  std::uint64_t json_offset_;
  Diagnostics& diagnostics_;
  ModelFile::Contents& contents_;
  std::vector<std::uint64_t>& header_offsets_;

  Expected expected_ = Expected::header;
  Field field_ = Field::none;
  bool is_in_array_ = false;  // of a known field
  std::size_t depth_ = 0;
  bool has_metadata_ = false;
  std::string metadata_key_;
  Draft draft_;
};

void HeaderReader::read() {
  const char* end = json_.data() + json_.size();
  // The parser also stops at a NUL, which is no JSON.
  Json::sax_parse(TrackedIterator(json_.data(), &progress_), TrackedIterator(end, &progress_), this,
                  Json::input_format_t::json, true);
  if (progress_ != end || json_.back() == '\0') {
    diagnostics_.corrupt({"header", {}, offset()}, "a NUL byte stands in the JSON text");
  }
}

Place HeaderReader::place() const {
  if (expected_ == Expected::metadata || expected_ == Expected::metadata_text) {
    return {"metadata key", metadata_key_, offset()};
  }
  if (depth_ < 1) return {"header", {}, offset()};
  return {"tensor", draft_.name, draft_.header_offset};
}

std::string HeaderReader::field_name() const {
  switch (field_) {
    case Field::type: return "dtype";
    case Field::shape: return "shape";
    case Field::offsets: return "data_offsets";
    case Field::none:
    case Field::other: break;
  }
  return "value";
}

void HeaderReader::wrong_value(std::string_view found) const {
  const std::string text(found);
  switch (expected_) {
    case Expected::header: corrupt("the JSON text is " + text + " instead of an object");
    case Expected::tensor: corrupt("the entry is " + text + " instead of an object");
    case Expected::metadata: corrupt("__metadata__ is " + text + " instead of an object");
    case Expected::metadata_text: corrupt("the value is " + text + " instead of a string");
    case Expected::field:
    case Expected::ignored: break;
  }
  corrupt(field_name() + (is_in_array_ ? " holds " : " is ") + text);
}

bool HeaderReader::wrong_scalar(std::string_view found) {
  if (expected_ != Expected::ignored) wrong_value(found);
  return true;
}

bool HeaderReader::null() {
  // The reference reader takes null for an absent __metadata__.
  if (expected_ == Expected::metadata && depth_ == 1) {
    diagnostics_.warn("metadata", place(), "__metadata__ is null instead of an object");
    expected_ = Expected::tensor;
    return true;
  }
  return wrong_scalar("null");
}

bool HeaderReader::number_unsigned(Json::number_unsigned_t number) {
  if (expected_ == Expected::field && is_in_array_) {
    (field_ == Field::shape ? draft_.shape : draft_.offsets)->push_back(number);
    return true;
  }
  return wrong_scalar("a number");
}

bool HeaderReader::string(std::string& text) {
  if (expected_ == Expected::metadata_text) {
    contents_.metadata.add({metadata_key_, GgufValueType::text, std::move(text)});
    return true;
  }
  if (expected_ == Expected::field && field_ == Field::type) {
    set_type(text);
    return true;
  }
  return wrong_scalar("a string");
}

void HeaderReader::check_depth() {
  if (++depth_ > deepest_nesting) corrupt("the JSON text is nested more than 128 deep");
}

bool HeaderReader::start_object(std::size_t) {
  switch (expected_) {
    case Expected::header: expected_ = Expected::tensor; break;
    case Expected::tensor: break;
    case Expected::metadata: expected_ = Expected::metadata_text; break;
    case Expected::ignored: break;
    case Expected::metadata_text:
    case Expected::field: wrong_value("an object");
  }
  check_depth();
  return true;
}

bool HeaderReader::key(std::string& name) {
  if (expected_ == Expected::metadata_text) {
    metadata_key_ = std::move(name);
    if (contents_.metadata.has(metadata_key_)) corrupt("the key is there twice");
  } else if (depth_ == 1 && name == metadata_name) {
    expected_ = Expected::metadata;
    metadata_key_ = name;
    if (has_metadata_) corrupt("the key is there twice");
    has_metadata_ = true;
  } else if (depth_ == 1) {
    start_tensor(name);
  } else if (depth_ == 2) {
    start_field(name);
  }
  return true;
}

void HeaderReader::start_tensor(std::string& name) {
  draft_ = {};
  // The parser stands behind the closing quote of the name; exact unless the name has escapes.
  const std::uint64_t text_bytes = name.size() + 2;
  draft_.header_offset = offset() - std::min(text_bytes, offset() - json_offset_);
  draft_.name = std::move(name);
  expected_ = Expected::tensor;
  if (contents_.index.find(contents_.tensors, draft_.name) != nullptr) {
    corrupt("the name is there twice");
  }
}

void HeaderReader::start_field(const std::string& name) {
  expected_ = Expected::field;
  bool is_new = true;
  if (name == "dtype") {
    field_ = Field::type;
    is_new = !draft_.type.has_value();
  } else if (name == "shape") {
    field_ = Field::shape;
    is_new = !draft_.shape.has_value();
  } else if (name == "data_offsets") {
    field_ = Field::offsets;
    is_new = !draft_.offsets.has_value();
  } else {
    field_ = Field::other;
    expected_ = Expected::ignored;
    is_new = draft_.others.insert(name).second;
  }
  if (!is_new) corrupt("the key " + in_quotes(name) + " is there twice");
}

void HeaderReader::set_type(const std::string& name) {
  const SafetensorsType* type = find_safetensors_type(name);
  if (type == nullptr) {
    diagnostics_.unreadable_kind(place(), "dtype " + in_quotes(name) + " is not one of safetensors",
                                 "a newer hiptool may read it");
  }
  draft_.type.emplace(type->entry);
}

bool HeaderReader::end_object() {
  --depth_;
  if (depth_ != 1) return true;
  if (expected_ == Expected::metadata_text) {
    expected_ = Expected::tensor;
  } else {
    finish_tensor();
  }
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  if (expected_ != Expected::ignored) {
    const bool takes_array = expected_ == Expected::field && !is_in_array_ &&
                             (field_ == Field::shape || field_ == Field::offsets);
    if (!takes_array) wrong_value("an array");
    (field_ == Field::shape ? draft_.shape : draft_.offsets).emplace();
    is_in_array_ = true;
  }
  check_depth();
  return true;
}

bool HeaderReader::end_array() {
  --depth_;
  if (expected_ != Expected::ignored) is_in_array_ = false;
  return true;
}

void HeaderReader::finish_tensor() {
  expected_ = Expected::tensor;
  if (!draft_.type) corrupt("dtype is missing");
  if (!draft_.shape) corrupt("shape is missing");
  if (!draft_.offsets) corrupt("data_offsets is missing");
  const std::vector<std::uint64_t>& range = *draft_.offsets;
  if (range.size() != 2) {
    corrupt("data_offsets has " + std::to_string(range.size()) + " numbers instead of 2");
  }
  if (range[1] < range[0]) {
    corrupt("data_offsets end at " + std::to_string(range[1]) + ", before they begin at " +
            std::to_string(range[0]));
  }
  const std::uint64_t size_bytes = range[1] - range[0];
  const std::uint64_t elements = check_size(size_bytes);
  if (contents_.tensors.size() >= most_tensors) corrupt("there are more than 2^31 tensors");
  contents_.tensors.push_back({std::move(draft_.name), *draft_.type, std::move(*draft_.shape), 0,
                               range[0], size_bytes, elements});
  header_offsets_.push_back(draft_.header_offset);
  contents_.index.insert(contents_.tensors, contents_.tensors.size() - 1);
}

// The number of elements, once shape and type are known to give the size.
std::uint64_t HeaderReader::check_size(std::uint64_t size_bytes) const {
  std::optional<std::uint64_t> elements = 1;
  for (const std::uint64_t extent : *draft_.shape) {
    elements = checked_multiply(*elements, extent);
    if (!elements) corrupt("the shape multiplies to more than 2^64 elements");
  }
  const auto bits = checked_multiply(*elements, draft_.type->block_bits());
  if (!bits) corrupt("the shape gives more than 2^64 bits");
  if (*bits % 8 != 0) {
    corrupt("the shape gives " + std::to_string(*bits) + " bits, not a whole number of bytes");
  }
  if (*bits / 8 != size_bytes) {
    corrupt("data_offsets span " + std::to_string(size_bytes) + " bytes, shape and dtype give " +
            std::to_string(*bits / 8));
  }
  return *elements;
}

bool HeaderReader::parse_error(std::size_t, const std::string&, const Json::exception& error) {
  // nlohmann's text begins with "[json.exception...] parse error at line 1, column 2: " and may
  // quote the whole input.
  const std::string_view whole = error.what();
  const std::size_t start = whole.find(": ");
  const std::string_view cause = start < whole.size() ? whole.substr(start + 2) : whole;
  diagnostics_.corrupt({"header", {}, offset()},
                       "the JSON text is malformed: " + in_quotes(cause, 200));
}

}  // namespace

void read_safetensors_header(std::string_view json, std::uint64_t json_offset,
                             Diagnostics& diagnostics, ModelFile::Contents& contents,
                             std::vector<std::uint64_t>& header_offsets) {
  HeaderReader(json, json_offset, diagnostics, contents, header_offsets).read();
}

}  // namespace hiptool::model
