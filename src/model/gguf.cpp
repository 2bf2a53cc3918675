// SPDX-License-Identifier: MIT
#include "model/gguf.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/checked.hpp"
#include "model/element_types.hpp"
#include "model/gguf_header.hpp"
#include "model/header_survey.hpp"
#include "model/tensor_layout.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

// Name length, number of dimensions, type and offset: what a tensor takes at the least.
constexpr std::uint64_t smallest_tensor_bytes = 8 + 4 + 4 + 8;
constexpr std::uint64_t most_tensors = std::uint64_t{1} << 31;
constexpr std::uint64_t most_name_bytes = 63;  // GGML_MAX_NAME counts the terminator
constexpr std::uint32_t most_dimensions = 4;   // GGML_MAX_DIMS
constexpr std::uint64_t most_elements = std::numeric_limits<std::int64_t>::max();

// Headers with more are surveyed first, so that refusing them costs little memory.
constexpr std::uint64_t most_unsurveyed_tensors = 150'000;
constexpr std::uint64_t most_unsurveyed_pairs = 200'000;
constexpr std::uint64_t most_pairs = std::uint64_t{1} << 21;

constexpr ElementType::Entry unknown_entry{"unknown", 1, 0};

class GgufParser {
 public:
  // With a survey nothing is added to the contents.
  GgufParser(const base::File& file, bool opaque, Diagnostics& diagnostics, Contents& contents,
             HeaderSurvey* survey)
      : file_(file),
        opaque_(opaque),
        diagnostics_(diagnostics),
        contents_(contents),
        survey_(survey),
        first_(contents.tensors.size()),
        cursor_(file, diagnostics) {}

  void read_counts() {
    cursor_.set_place({"header", {}, 0});
    cursor_.reader().skip(gguf_magic.size());
    contents_.version = cursor_.number<std::uint32_t>("version");
    check_version(contents_.version);
    tensors_ = cursor_.number<std::uint64_t>("tensor count");
    pairs_ = cursor_.number<std::uint64_t>("metadata count");
    check_count("tensor count", tensors_, smallest_tensor_bytes);
    check_count("metadata count", pairs_, smallest_pair_bytes);
    if (tensors_ > most_tensors) cursor_.corrupt("tensor count is above 2^31");
    if (pairs_ > most_pairs) cursor_.corrupt("metadata count is above 2^21");
  }

  bool is_large() const {
    return tensors_ > most_unsurveyed_tensors || pairs_ > most_unsurveyed_pairs;
  }
  void parse(Metadata& metadata) {
    read_counts();
    const std::uint64_t alignment = read_gguf_metadata(cursor_, pairs_, metadata, survey_);
    // Beyond that the vectors grow: a false count must not cost memory up front.
    const auto expected = static_cast<std::size_t>(std::min(tensors_, most_unsurveyed_tensors));
    ranges_.reserve(expected);
    if (survey_ == nullptr && first_ == 0) contents_.tensors.reserve(expected);
    for (std::uint64_t index = 0; index < tensors_; ++index) read_tensor(index + 1);
    if (tensors_ > 0) place_data(alignment);
  }

  // Where the last tensor ends, or the header of a file without any.
  std::uint64_t data_end() {
    std::uint64_t end = cursor_.reader().position();
    for (const TensorRange& range : ranges_) end = std::max(end, range.offset + range.size_bytes);
    return end;
  }

 private:
  void check_version(std::uint32_t version) const {
    if (version == 2 || version == 3) return;
    if (version == 1) {
      cursor_.unreadable_kind("GGUF version 1 is not read, only 2 and 3",
                              "convert the model again with a current converter of llama.cpp");
    }
    if (version != 0 && (version & 0xFFFF) == 0) {
      cursor_.unreadable_kind("the file is big-endian GGUF, which is not read",
                              "make it little-endian with gguf_convert_endian.py of llama.cpp");
    }
    if (version == 0) cursor_.corrupt("GGUF version 0 does not exist");
    cursor_.unreadable_kind(
        "GGUF version " + std::to_string(version) + " is not read, only 2 and 3",
        "a newer hiptool may read it");
  }

  void check_count(std::string_view field, std::uint64_t count, std::uint64_t each_bytes) {
    const std::uint64_t remaining = cursor_.reader().remaining();
    if (count > remaining / each_bytes) {
      diagnostics_.truncated(cursor_.place(),
                             std::string(field) + " " + std::to_string(count) + " needs at least " +
                                 base::plain_count_of(each_bytes, "byte") + " each, " +
                                 std::to_string(remaining) + " remain");
    }
  }

  void read_tensor(std::uint64_t number) {
    cursor_.set_place({"tensor", {}, cursor_.reader().position(), number});
    std::string name = read_name();
    cursor_.name_place(name);
    std::vector<std::uint64_t> shape = read_shape();
    const std::uint64_t elements = count_elements(shape);
    const ElementType type = read_type();
    const std::uint64_t size_bytes = count_bytes(type, shape, elements);
    const auto offset = cursor_.number<std::uint64_t>("offset");
    ranges_.push_back(make_range(offset, size_bytes, cursor_.place().offset, type.block_bits() == 0,
                                 elements > 0));
    if (survey_ == nullptr) {
      contents_.tensors.push_back({std::move(name), type, std::move(shape),
                                   static_cast<std::uint32_t>(contents_.parts.size() - 1), offset,
                                   size_bytes, elements});
    } else if (!survey_->add(HeaderSurvey::Space::tensors, name)) {
      cursor_.corrupt("the name appears twice");
    }
  }

  std::string read_name() {
    const std::uint64_t length = cursor_.text_length("name");
    if (length > most_name_bytes) {
      cursor_.corrupt("the name has " + base::plain_count_of(length, "byte") +
                      "; at most 63 are allowed");
    }
    std::string name = cursor_.reader().take_text(length);
    if (!is_utf8(name)) {
      cursor_.name_place(name);
      cursor_.warn("utf-8", "the name is not valid UTF-8");
    }
    return name;
  }

  std::vector<std::uint64_t> read_shape() {
    const auto dimensions = cursor_.number<std::uint32_t>("number of dimensions");
    if (dimensions > most_dimensions) {
      cursor_.corrupt("it has " + base::plain_count_of(dimensions, "dimension") +
                      "; at most 4 are allowed");
    }
    std::vector<std::uint64_t> shape(dimensions);
    for (std::uint64_t& extent : shape) extent = cursor_.number<std::uint64_t>("dimension");
    return shape;
  }

  ElementType read_type() {
    const auto id = cursor_.number<std::uint32_t>("type");
    if (const GgufType* type = find_gguf_type(id)) return ElementType(type->entry);
    if (opaque_ && survey_ != nullptr) return ElementType(unknown_entry);
    if (opaque_) return contents_.opaque_type(std::to_string(id));
    const TypeRefusal refusal = refusal_of_gguf_type(id);
    cursor_.unreadable_kind("type " + std::to_string(id) + " " + refusal.cause, refusal.hint);
  }

  std::uint64_t count_elements(const std::vector<std::uint64_t>& shape) const {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : shape) {
      const auto product = checked_multiply(elements, extent);
      if (extent > most_elements || !product || *product > most_elements) {
        cursor_.corrupt("the dimensions multiply to 2^63 elements or more");
      }
      elements = *product;
    }
    return elements;
  }

  // Of an unknown type 0: what it takes is seen when all offsets are known.
  std::uint64_t count_bytes(ElementType type, const std::vector<std::uint64_t>& shape,
                            std::uint64_t elements) const {
    if (type.block_bits() == 0) return 0;
    const std::uint64_t row = shape.empty() ? 1 : shape.front();
    if (row % type.block_elements() != 0) {
      cursor_.corrupt("a row of " + base::plain_count_of(row, "element") +
                      " is not a whole number of " + std::string(type.name()) + " blocks of " +
                      std::to_string(type.block_elements()));
    }
    const auto size_bytes =
        checked_multiply(elements / type.block_elements(), type.block_bits() / 8);
    if (!size_bytes) cursor_.corrupt("the size in bytes does not fit 64 bits");
    return *size_bytes;
  }

  void place_data(std::uint64_t alignment) {
    const auto data_start = checked_align(cursor_.reader().position(), alignment);
    if (survey_ == nullptr) sort_by_offset(contents_, first_);
    lay_out_gguf(
        ranges_, {data_start.value_or(UINT64_MAX), alignment, file_.size_bytes()},
        [this](std::uint64_t header_offset) { return name_at(header_offset); }, diagnostics_);
    if (survey_ != nullptr) return;
    for (std::size_t index = 0; index < ranges_.size(); ++index) {
      TensorInfo& tensor = contents_.tensors[first_ + index];
      tensor.file_offset = ranges_[index].offset;
      tensor.size_bytes = ranges_[index].size_bytes;
    }
    index_names(contents_, first_, ranges_, diagnostics_);
  }

  std::string name_at(std::uint64_t header_offset) {
    Reader reader(file_);
    reader.skip(header_offset);
    return reader.take_text(reader.take<std::uint64_t>());
  }

  const base::File& file_;
  bool opaque_;
  Diagnostics& diagnostics_;
  Contents& contents_;
  HeaderSurvey* survey_;
  std::size_t first_;  // of this file's tensors
  GgufCursor cursor_;
  std::uint64_t tensors_ = 0;
  std::uint64_t pairs_ = 0;
  std::vector<TensorRange> ranges_;  // of the tensors
};

// Refuses a large header for the price of a reading, not of its contents.
void survey_gguf(const base::File& file, bool opaque, const Diagnostics& diagnostics) {
  Diagnostics scratch = diagnostics;
  Contents contents;
  contents.parts.emplace_back();
  Metadata metadata;
  GgufParser head(file, opaque, scratch, contents, nullptr);
  head.read_counts();
  if (!head.is_large()) return;
  HeaderSurvey survey;
  GgufParser(file, opaque, scratch, contents, &survey).parse(metadata);

  if (const auto hash = survey.repeated_hash()) {
    HeaderSurvey search(*hash);
    GgufParser(file, opaque, scratch, contents, &search).parse(metadata);
  }
}

}  // namespace

std::uint64_t parse_gguf(const base::File& file, bool opaque, Diagnostics& diagnostics,
                         Metadata& metadata, Contents& contents) {
  survey_gguf(file, opaque, diagnostics);
  GgufParser parser(file, opaque, diagnostics, contents, nullptr);
  parser.parse(metadata);
  return parser.data_end();
}

std::uint64_t bytes_after_gguf(std::uint64_t file_bytes, std::uint64_t data_end,
                               std::uint64_t alignment) {
  const std::uint64_t end = checked_align(data_end, alignment).value_or(file_bytes);
  return file_bytes > end ? file_bytes - end : 0;
}

void check_gguf_model(Diagnostics& diagnostics, const Contents& contents) {
  constexpr Place place{"metadata", {}, 24};

  for (const std::string_view key : {"general.architecture", "general.name"}) {
    // They are shown, and all keys of a model begin with its architecture.
    if (contents.metadata.value<StoredText>(key) == nullptr) continue;
    diagnostics.corrupt(place, std::string(key) + " is longer than 1 MiB");
  }
  if (!contents.metadata.has("general.architecture")) {
    diagnostics.warn("architecture", place, "general.architecture is missing");
  }
  if (contents.metadata.has("general.quantization_version")) return;
  const bool has_quantized = std::ranges::any_of(
      contents.tensors, [](const TensorInfo& tensor) { return tensor.type.block_elements() > 1; });
  if (has_quantized) {
    diagnostics.warn("quantization", place, "general.quantization_version is missing");
  }
}

}  // namespace hiptool::model
