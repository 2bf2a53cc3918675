// SPDX-License-Identifier: MIT
#include "model/gguf.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "model/checked.hpp"
#include "model/element_types.hpp"
#include "model/gguf_cursor.hpp"
#include "model/gguf_metadata.hpp"
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

class GgufParser {
 public:
  GgufParser(const base::File& file, Diagnostics& diagnostics, ModelFile::Contents& contents)
      : file_(file), diagnostics_(diagnostics), contents_(contents), cursor_(file, diagnostics) {}

  void parse();

 private:
  void check_version(std::uint32_t version) const;
  void check_count(std::string_view field, std::uint64_t count, std::uint64_t each_bytes);
  void check_quantization();
  void check_metadata();
  void read_tensor(std::uint64_t number);
  std::string read_name();
  std::vector<std::uint64_t> read_shape();
  const GgufType& read_type();
  std::uint64_t count_elements(const std::vector<std::uint64_t>& shape) const;
  void place_data(std::uint64_t alignment);

  const base::File& file_;
  Diagnostics& diagnostics_;
  ModelFile::Contents& contents_;
  GgufCursor cursor_;
  std::vector<std::uint64_t> header_offsets_;  // of the tensors, for messages
};

void GgufParser::parse() {
  cursor_.set_place({"header", {}, 0});
  cursor_.reader().skip(gguf_magic.size());
  contents_.version = cursor_.number<std::uint32_t>("version");
  check_version(contents_.version);
  const auto tensors = cursor_.number<std::uint64_t>("tensor count");
  const auto pairs = cursor_.number<std::uint64_t>("metadata count");
  check_count("tensor count", tensors, smallest_tensor_bytes);
  check_count("metadata count", pairs, smallest_pair_bytes);
  if (tensors > most_tensors) cursor_.corrupt("tensor count is above 2^31");

  const std::uint64_t alignment = read_gguf_metadata(cursor_, pairs, contents_);
  check_metadata();
  // Growth is left to the vector: a count that lies must not cost memory up front.
  contents_.tensors.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(tensors, 1u << 16)));
  for (std::uint64_t index = 0; index < tensors; ++index) read_tensor(index + 1);
  if (tensors > 0) place_data(alignment);
  check_quantization();
}

void GgufParser::check_version(std::uint32_t version) const {
  const std::string number = std::to_string(version);
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
  cursor_.unreadable_kind("GGUF version " + number + " is not read, only 2 and 3",
                          "a newer hiptool may read it");
}

void GgufParser::check_count(std::string_view field, std::uint64_t count,
                             std::uint64_t each_bytes) {
  const std::uint64_t remaining = cursor_.reader().remaining();
  if (count > remaining / each_bytes) {
    diagnostics_.truncated(cursor_.place(), std::string(field) + " " + std::to_string(count) +
                                                " needs at least " + std::to_string(each_bytes) +
                                                " bytes each, " + std::to_string(remaining) +
                                                " remain");
  }
}

void GgufParser::check_metadata() {
  cursor_.set_place({"metadata", {}, 24});
  const auto* shards = contents_.metadata.value<std::uint64_t>("split.count");
  if (shards != nullptr && *shards > 1) {
    cursor_.unreadable_kind(
        "the file is one of " + std::to_string(*shards) +
            " of a split model (split.count), which is not read yet",
        "join the files with `llama-gguf-split --merge FIRST_FILE MERGED_FILE`");
  }
  if (!contents_.metadata.has("general.architecture")) {
    cursor_.warn("architecture", "general.architecture is missing");
  }
}

void GgufParser::check_quantization() {
  if (contents_.metadata.has("general.quantization_version")) return;
  for (const TensorInfo& tensor : contents_.tensors) {
    if (tensor.type.block_elements() == 1) continue;
    cursor_.set_place({"metadata", {}, 24});
    cursor_.warn("quantization", "general.quantization_version is missing");
    return;
  }
}

void GgufParser::read_tensor(std::uint64_t number) {
  cursor_.set_place({"tensor", {}, cursor_.reader().position(), number});
  std::string name = read_name();
  cursor_.name_place(name);
  std::vector<std::uint64_t> shape = read_shape();
  const std::uint64_t elements = count_elements(shape);
  const ElementType::Entry& type = read_type().entry;
  const std::uint64_t row = shape.empty() ? 1 : shape.front();
  if (row % type.block_elements != 0) {
    cursor_.corrupt("a row of " + std::to_string(row) + " elements is not a whole number of " +
                    std::string(type.name) + " blocks of " + std::to_string(type.block_elements));
  }
  const auto size_bytes = checked_multiply(elements / type.block_elements, type.block_bits / 8);
  if (!size_bytes) cursor_.corrupt("the size in bytes does not fit 64 bits");
  const auto offset = cursor_.number<std::uint64_t>("offset");

  contents_.tensors.push_back(
      {std::move(name), ElementType(type), std::move(shape), 0, offset, *size_bytes, elements});
  cursor_.name_place(contents_.tensors.back().name);
  header_offsets_.push_back(cursor_.place().offset);
  if (!contents_.index.insert(contents_.tensors, contents_.tensors.size() - 1)) {
    cursor_.corrupt("the name is there twice");
  }
}

std::string GgufParser::read_name() {
  const std::uint64_t length = cursor_.text_length("name");
  if (length > most_name_bytes) {
    cursor_.corrupt("the name has " + std::to_string(length) + " bytes; at most 63 are allowed");
  }
  std::string name = cursor_.reader().take_text(length);
  if (!is_utf8(name)) {
    cursor_.name_place(name);
    cursor_.warn("utf-8", "the name is not valid UTF-8");
  }
  return name;
}

std::vector<std::uint64_t> GgufParser::read_shape() {
  const auto dimensions = cursor_.number<std::uint32_t>("number of dimensions");
  if (dimensions > most_dimensions) {
    cursor_.corrupt("it has " + std::to_string(dimensions) + " dimensions; at most 4 are allowed");
  }
  std::vector<std::uint64_t> shape(dimensions);
  for (std::uint64_t& extent : shape) extent = cursor_.number<std::uint64_t>("dimension");
  return shape;
}

const GgufType& GgufParser::read_type() {
  const auto id = cursor_.number<std::uint32_t>("type");
  if (const GgufType* type = find_gguf_type(id)) return *type;
  const bool is_removed = id < gguf_types().size();
  cursor_.unreadable_kind(
      "type " + std::to_string(id) +
          (is_removed ? " was removed from ggml" : " is not a tensor type of ggml"),
      "quantize the model again with a current llama.cpp");
}

std::uint64_t GgufParser::count_elements(const std::vector<std::uint64_t>& shape) const {
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

void GgufParser::place_data(std::uint64_t alignment) {
  const std::uint64_t header_end = cursor_.reader().position();
  const auto data_start = checked_align(header_end, alignment);
  std::uint64_t expected = 0;
  for (std::size_t index = 0; index < contents_.tensors.size(); ++index) {
    TensorInfo& tensor = contents_.tensors[index];
    const std::uint64_t offset = tensor.file_offset;
    const Place place{"tensor", tensor.name, header_offsets_[index]};
    if (offset % alignment != 0) {
      diagnostics_.corrupt(place, "offset " + std::to_string(offset) +
                                      " is not a multiple of the alignment " +
                                      std::to_string(alignment));
    }
    const auto start = data_start ? checked_add(*data_start, offset) : std::nullopt;
    const auto end = start ? checked_add(*start, tensor.size_bytes) : std::nullopt;
    if (!end || *end > file_.size_bytes()) {
      diagnostics_.truncated(place, "offset " + std::to_string(start.value_or(offset)) + " + " +
                                        std::to_string(tensor.size_bytes) +
                                        " bytes end beyond the file (" +
                                        std::to_string(file_.size_bytes()) + " bytes)");
    }
    if (offset != expected) {
      diagnostics_.warn("consecutive", place,
                        "offset " + std::to_string(offset) + " where llama.cpp expects " +
                            std::to_string(expected));
    }
    // Below the file's size, so this cannot wrap for any alignment (a u32).
    expected = checked_align(offset + tensor.size_bytes, alignment).value_or(0);
    tensor.file_offset = *start;
  }
  sort_by_offset(contents_, header_offsets_);
  check_no_overlap(contents_.tensors, header_offsets_, diagnostics_);
}

}  // namespace

void parse_gguf(const base::File& file, Diagnostics& diagnostics, ModelFile::Contents& contents) {
  GgufParser(file, diagnostics, contents).parse();
}

}  // namespace hiptool::model
