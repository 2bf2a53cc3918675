// SPDX-License-Identifier: MIT
#include "model/safetensors.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/cut_file.hpp"
#include "model/header_survey.hpp"
#include "model/json_reader.hpp"
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
                                            std::to_string(file.size_bytes()) + " remain");
  }
  const auto length = reader.take<std::uint64_t>();
  if (length == 0) diagnostics.corrupt(header_place, "the header length is 0");

  if (length > most_safetensors_header_bytes) {
    diagnostics.corrupt(
        header_place, "the header length " + std::to_string(length) + " is above 100000000 bytes");
  }
  if (!reader.has(length)) {
    diagnostics.truncated(header_place, "a header of " + base::plain_count_of(length, "byte") +
                                            " ends beyond the file (" +
                                            base::plain_count_of(file.size_bytes(), "byte") + ")");
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
  diagnostics.warn("white space", place, "white space precedes the '{'");
}

TensorRange range_of(const SafetensorsEntry& entry) {
  return make_range(entry.begin, entry.end - entry.begin, entry.header_offset, false,
                    entry.elements > 0);
}

class SafetensorsParser {
 public:
  SafetensorsParser(const base::File& file, bool opaque, const Diagnostics& diagnostics)
      : file_(file),
        opaque_(opaque),
        data_start_(json_offset + read_header_length(file, diagnostics)) {}

  // Refuses a large header for the price of a reading, not of its contents.
  void survey(const Diagnostics& diagnostics) const {
    // The shortest entries, of __metadata__, take 16 times their bytes when they are kept.
    constexpr std::uint64_t most_read_at_once = std::uint64_t{3} << 20;
    if (data_start_ <= most_read_at_once) return;
    const auto read_names = [&](HeaderSurvey& survey) {
      Diagnostics scratch = diagnostics;
      std::vector<TensorRange> ranges;
      const auto take_tensor = [&](const SafetensorsEntry& entry) {
        ranges.push_back(range_of(entry));
        return survey.add(HeaderSurvey::Space::tensors, entry.name);
      };
      const auto take_metadata = [&](const MetadataItem& item) {
        return survey.add(HeaderSurvey::Space::metadata, item.name);
      };
      read(scratch, {take_tensor, take_metadata});
      sort_by_offset(ranges);
      check_coverage(ranges, diagnostics);
    };
    HeaderSurvey survey;
    read_names(survey);
    if (const auto hash = survey.repeated_hash()) {
      HeaderSurvey search(*hash);
      read_names(search);
    }
  }

  void parse(Diagnostics& diagnostics, Contents& contents, std::vector<std::size_t>* copies) const {
    constexpr std::uint64_t usual_entry_bytes = 128;
    const std::size_t first = contents.tensors.size();
    if (first == 0) {
      contents.tensors.reserve(static_cast<std::size_t>(data_start_ / usual_entry_bytes));
    }
    const auto file = static_cast<std::uint32_t>(contents.parts.size() - 1);
    std::vector<TensorRange> ranges;
    const auto take_tensor = [&](const SafetensorsEntry& entry) {
      const ElementType type = entry.type == nullptr ? contents.opaque_type(entry.type_name)
                                                     : ElementType(entry.type->entry);
      contents.tensors.push_back({entry.name, type, entry.shape, file, entry.begin,
                                  entry.end - entry.begin, entry.elements});
      ranges.push_back(range_of(entry));
      return true;  // names are compared when all are there
    };
    Metadata keys;  // of a later part
    const auto take_metadata = [&](MetadataItem item) {
      if (file == 0) return contents.metadata.add(std::move(item));
      if (!keys.add({item.name, item.type, {}})) return false;
      // Long texts are stored in the first part only.
      if (!std::holds_alternative<StoredText>(item.value)) contents.metadata.add(std::move(item));
      return true;
    };
    check_first_character(file_, diagnostics);
    read(diagnostics, {take_tensor, take_metadata});
    sort_by_offset(contents, first);
    sort_by_offset(ranges);
    index_names(contents, first, ranges, diagnostics, copies);
    check_coverage(ranges, diagnostics);
    for (TensorInfo& tensor : std::span(contents.tensors).subspan(first)) {
      tensor.file_offset += data_start_;
    }
  }

 private:
  static constexpr std::uint64_t json_offset = sizeof(std::uint64_t);

  void read(Diagnostics& diagnostics, const SafetensorsSink& sink) const {
    read_safetensors_header(file_, json_offset, data_start_, opaque_, diagnostics, sink);
  }
  // No hole, no overlap, nothing missing, nothing left over.
  void check_coverage(const std::vector<TensorRange>& ranges,
                      const Diagnostics& diagnostics) const {
    const std::uint64_t data_bytes = file_.size_bytes() - data_start_;
    std::uint64_t expected = 0;
    for (const TensorRange& range : ranges) {
      const std::uint64_t end = range.offset + range.size_bytes;  // one that the header gave
      if (range.offset == expected && end <= data_bytes) {
        expected = end;
        continue;
      }
      const std::string name = name_at(range.header_offset, diagnostics);
      const Place place{"tensor", name, range.header_offset};
      if (range.offset != expected) {
        const char* const fault = range.offset > expected ? "leave a hole" : "overlap";
        diagnostics.corrupt(place, "data_offsets begin at " + std::to_string(range.offset) +
                                       " where " + std::to_string(expected) +
                                       " is expected; tensors " + fault);
      }
      diagnostics.truncated(place, "data_offsets end at " + std::to_string(end) +
                                       ", the file has " +
                                       base::plain_count_of(data_bytes, "byte") + " of data");
    }
    if (expected < data_bytes) {
      if (has_header_at(data_start_ + expected)) {
        refuse_joined(file_.path(), data_start_ + expected, diagnostics);
      }
      diagnostics.corrupt(header_place, base::plain_count_of(data_bytes - expected, "byte") +
                                            (data_bytes - expected == 1 ? " follows" : " follow") +
                                            " the last tensor");
    }
  }

  // As a file that `cat` has put behind this one begins: a length that fits, and a brace.
  bool has_header_at(std::uint64_t offset) const {
    std::array<std::byte, json_offset + 1> head{};
    if (file_.size_bytes() - offset < head.size()) return false;
    file_.read_at(head, offset);
    std::uint64_t length = 0;
    std::memcpy(&length, head.data(), sizeof length);
    return head.back() == std::byte{'{'} && length <= file_.size_bytes() - offset - sizeof length;
  }

  std::string name_at(std::uint64_t header_offset, const Diagnostics& diagnostics) const {
    JsonReader json(file_, header_offset, data_start_, diagnostics);
    std::string name;
    json.next();
    json.read_text(name, data_start_);
    return name;
  }

  const base::File& file_;
  bool opaque_;
  std::uint64_t data_start_;
};

}  // namespace

void parse_safetensors(const base::File& file, bool opaque, Diagnostics& diagnostics,
                       Contents& contents, std::vector<std::size_t>* copies) {
  contents.version = 1;
  const SafetensorsParser parser(file, opaque, diagnostics);
  parser.survey(diagnostics);
  parser.parse(diagnostics, contents, copies);
}

}  // namespace hiptool::model
