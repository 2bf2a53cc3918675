// SPDX-License-Identifier: MIT
#include "model/safetensors.hpp"

#include <span>
#include <string>
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
void check_first_character(char first, Diagnostics& diagnostics) {
  constexpr Place place{"header", {}, sizeof(std::uint64_t)};
  if (first == '{') return;
  if (std::string_view(" \t\r\n").find(first) == std::string_view::npos) {
    diagnostics.corrupt(place,
                        "the JSON text begins with " + in_quotes({&first, 1}) + " instead of '{'");
  }
  diagnostics.warn("white space", place, "white space stands before the '{'");
}

// No hole, no overlap, nothing missing, nothing left over.
void check_coverage(const ModelFile::Contents& contents,
                    const std::vector<std::uint64_t>& header_offsets, std::uint64_t data_bytes,
                    const Diagnostics& diagnostics) {
  std::uint64_t expected = 0;
  for (std::size_t index = 0; index < contents.tensors.size(); ++index) {
    const TensorInfo& tensor = contents.tensors[index];
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

void parse_safetensors(const base::File& file, Diagnostics& diagnostics,
                       ModelFile::Contents& contents) {
  constexpr std::uint64_t json_offset = sizeof(std::uint64_t);
  contents.version = 1;
  const std::uint64_t length = read_header_length(file, diagnostics);
  std::vector<std::uint64_t> header_offsets;
  {
    std::string json(static_cast<std::size_t>(length), '\0');
    file.read_at(std::as_writable_bytes(std::span(json)), json_offset);
    check_first_character(json.front(), diagnostics);
    read_safetensors_header(json, json_offset, diagnostics, contents, header_offsets);
  }
  sort_by_offset(contents, header_offsets);
  const std::uint64_t data_start = json_offset + length;
  check_coverage(contents, header_offsets, file.size_bytes() - data_start, diagnostics);
  for (TensorInfo& tensor : contents.tensors) tensor.file_offset += data_start;
}

}  // namespace hiptool::model
