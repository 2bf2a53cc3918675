// SPDX-License-Identifier: MIT
#include "model/safetensors.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/reader.hpp"
#include "model/safetensors_header.hpp"
#include "model/tensor_layout.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr Place header_place{"header", {}, 0};

std::uint64_t read_header_length(const base::File& file, const Diagnostics& diagnostics) {
  Reader reader(file);
  if (!reader.has(sizeof(std::uint64_t))) {
    diagnostics.truncated(header_place, "the header length needs 8 bytes, " +
                                            std::to_string(file.size_bytes()) + " are there");
  }
  const auto length = reader.take<std::uint64_t>();
  if (length == 0) diagnostics.corrupt(header_place, "the header length is 0");
  if (length > most_safetensors_header_bytes) {
    diagnostics.corrupt(
        header_place, "the header length " + std::to_string(length) + " is above 100000000 bytes");
  }
  if (!reader.has(length)) {
    diagnostics.truncated(header_place, "a header of " + std::to_string(length) +
                                            " bytes ends beyond the file (" +
                                            std::to_string(file.size_bytes()) + " bytes)");
  }
  return length;
}

// The README wants "{" first; the reference reader also takes the white space that JSON allows.
void check_first_character(const base::File& file, Diagnostics& diagnostics) {
  constexpr Place place{"header", {}, sizeof(std::uint64_t)};
  Reader reader(file);
  reader.skip(sizeof(std::uint64_t));
  const char first = reader.take<char>();
  if (first == '{') return;
  if (std::string_view(" \t\r\n").find(first) == std::string_view::npos) {
    diagnostics.corrupt(place,
                        "the JSON text begins with " + in_quotes({&first, 1}) + " instead of '{'");
  }
  diagnostics.warn("white space", place, "white space stands before the '{'");
}

// Keeps what a header holds.
class StoringSink final : public SafetensorsSink {
 public:
  StoringSink(ModelFile::Contents& contents, bool is_first)
      : contents_(contents), is_first_(is_first) {}

  bool take_tensor(SafetensorsEntry& entry) override {
    const ElementType type = entry.type == nullptr ? contents_.opaque_type(entry.type_name)
                                                   : ElementType(entry.type->entry);
    contents_.tensors.push_back({std::move(entry.name), type, std::move(entry.shape),
                                 static_cast<std::uint32_t>(contents_.parts.size() - 1),
                                 entry.begin, entry.end - entry.begin, entry.elements});
    header_offsets.push_back(entry.header_offset);
    return true;  // names are compared when all are there
  }

  bool take_metadata(MetadataItem item) override {
    if (is_first_) return contents_.metadata.add(std::move(item));
    if (!keys_.add({item.name, item.type, {}})) return false;
    // Long texts are stored in the first part only.
    if (!std::holds_alternative<StoredText>(item.value)) contents_.metadata.add(std::move(item));
    return true;
  }

  std::vector<std::uint64_t> header_offsets;

 private:
  ModelFile::Contents& contents_;
  bool is_first_;
  Metadata keys_;  // of a later part
};

// No hole, no overlap, nothing missing, nothing left over.
void check_coverage(std::span<const TensorInfo> tensors,
                    const std::vector<std::uint64_t>& header_offsets, std::uint64_t data_bytes,
                    const Diagnostics& diagnostics) {
  std::uint64_t expected = 0;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const TensorInfo& tensor = tensors[index];
    const Place place{"tensor", tensor.name, header_offsets[index]};
    if (tensor.file_offset != expected) {
      const char* const fault = tensor.file_offset > expected ? "leave a hole" : "overlap";
      diagnostics.corrupt(place, "data_offsets begin at " + std::to_string(tensor.file_offset) +
                                     " where " + std::to_string(expected) +
                                     " is expected; tensors " + fault);
    }
    expected += tensor.size_bytes;  // an end that the header gave: cannot wrap
    if (expected > data_bytes) {
      diagnostics.truncated(place, "data_offsets end at " + std::to_string(expected) +
                                       ", the file has " + std::to_string(data_bytes) +
                                       " bytes of data");
    }
  }
  if (expected < data_bytes) {
    diagnostics.corrupt(header_place,
                        std::to_string(data_bytes - expected) + " bytes follow the last tensor");
  }
}

}  // namespace

void parse_safetensors(const base::File& file, bool opaque, Diagnostics& diagnostics,
                       ModelFile::Contents& contents) {
  constexpr std::uint64_t json_offset = sizeof(std::uint64_t);
  contents.version = 1;
  const std::uint64_t length = read_header_length(file, diagnostics);
  const std::uint64_t data_start = json_offset + length;
  check_first_character(file, diagnostics);
  const std::size_t first = contents.tensors.size();
  StoringSink sink(contents, contents.parts.size() == 1);
  read_safetensors_header(file, json_offset, data_start, opaque, diagnostics, sink);
  sort_by_offset(contents, first, sink.header_offsets);
  index_names(contents, first, sink.header_offsets, diagnostics);
  const std::span<TensorInfo> tensors = std::span(contents.tensors).subspan(first);
  check_coverage(tensors, sink.header_offsets, file.size_bytes() - data_start, diagnostics);
  for (TensorInfo& tensor : tensors) tensor.file_offset += data_start;
}

}  // namespace hiptool::model
