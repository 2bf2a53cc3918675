// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "model/gguf_header.hpp"

#include <optional>
#include <string>

#include "model/checked.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

// Makes offsets absolute, once they are known to fit.
void place(std::vector<TensorRange>& ranges, const GgufData& data, const NameAt& name_at,
           Diagnostics& diagnostics) {
  std::uint64_t expected = 0;
  bool is_known = true;  // what is expected
  for (TensorRange& range : ranges) {
    const std::uint64_t offset = range.offset;
    const auto start = checked_add(data.start, offset);
    const auto end = start ? checked_add(*start, range.size_bytes) : std::nullopt;
    const bool is_aligned = offset % data.alignment == 0;
    const bool fits = end && *end <= data.file_bytes;
    const bool is_expected = !is_known || offset == expected;
    if (!is_aligned || !fits || !is_expected) {
      const std::string name = name_at(range.header_offset);
      const Place place{"tensor", name, range.header_offset};
      if (!is_aligned) {
        diagnostics.corrupt(place, "offset " + std::to_string(offset) +
                                       " is not a multiple of the alignment " +
                                       std::to_string(data.alignment));
      }
      if (!fits) {
        diagnostics.truncated(place, "offset " + std::to_string(start.value_or(offset)) + " + " +
                                         std::to_string(range.size_bytes) +
                                         " bytes end beyond the file (" +
                                         base::plain_count_of(data.file_bytes, "byte") + ")");
      }
      diagnostics.warn("consecutive", place,
                       "offset " + std::to_string(offset) + " where llama.cpp expects " +
                           std::to_string(expected));
    }
    // Below the file's size, so this cannot wrap for any alignment (a u32).
    expected = checked_align(offset + range.size_bytes, data.alignment).value_or(0);
    is_known = range.is_opaque == 0;
    range.offset = *start;
  }
}

// Sorted tensors share no bytes; a tensor of unknown type extends to the next one.
void check_order(std::vector<TensorRange>& ranges, const GgufData& data, const NameAt& name_at,
                 const Diagnostics& diagnostics) {
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    TensorRange& range = ranges[index];
    const bool is_last = index + 1 == ranges.size();
    const std::uint64_t limit = is_last ? data.file_bytes : ranges[index + 1].offset;
    if (range.is_opaque != 0) range.size_bytes = limit - range.offset;
    const std::uint64_t end = range.offset + range.size_bytes;
    const bool is_cut = range.is_opaque != 0 && range.size_bytes == 0 && range.has_elements != 0;
    if (end <= limit && !is_cut) continue;
    const std::string name = name_at(range.header_offset);
    if (is_last) {
      diagnostics.truncated({"tensor", name, range.header_offset},
                            "the file ends where its data begin");
    }
    const TensorRange& next = ranges[index + 1];
    const std::string next_name = name_at(next.header_offset);
    diagnostics.corrupt({"tensor", next_name, next.header_offset},
                        "offset " + std::to_string(limit) + " overlaps tensor " + in_quotes(name) +
                            ", which ends at " + std::to_string(end));
  }
}

}  // namespace

void lay_out_gguf(std::vector<TensorRange>& ranges, const GgufData& data, const NameAt& name_at,
                  Diagnostics& diagnostics) {
  place(ranges, data, name_at, diagnostics);
  sort_by_offset(ranges);
  check_order(ranges, data, name_at, diagnostics);
}

}  // namespace hiptool::model
