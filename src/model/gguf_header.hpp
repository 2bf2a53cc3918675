// SPDX-License-Identifier: MIT
/// The parts of a GGUF header: its fields, its metadata, and where its data are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/diagnostics.hpp"
#include "model/header_survey.hpp"
#include "model/metadata.hpp"
#include "model/reader.hpp"
#include "model/tensor_layout.hpp"

namespace hiptool::model {

/// Reads the fields of a GGUF header in order; its messages name the place that was set last.
class GgufCursor {
 public:
  GgufCursor(const base::File& file, Diagnostics& diagnostics)
      : reader_(file), diagnostics_(diagnostics) {}

  Reader& reader() noexcept { return reader_; }
  /// The place that messages name until the next call. The name must outlive that.
  void set_place(const Place& place) noexcept { place_ = place; }
  void name_place(std::string_view name) noexcept { place_.name = name; }
  const Place& place() const noexcept { return place_; }

  template <typename Number>
  Number number(std::string_view field) {
    if (!reader_.has(sizeof(Number))) too_short(field, sizeof(Number));
    return reader_.take<Number>();
  }
  /// The length before a string; at most 1 GiB (llama.cpp's limit) and what remains of the file.
  std::uint64_t text_length(std::string_view field) {
    constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 30;
    const auto length = number<std::uint64_t>(field);
    if (length > most_text_bytes) {
      corrupt(std::string(field) + " has a length of " + std::to_string(length) +
              " bytes; at most 1 GiB is allowed");
    }
    if (!reader_.has(length)) too_short(field, length);
    return length;
  }

  [[noreturn]] void too_short(std::string_view field, std::uint64_t size_bytes) const {
    diagnostics_.truncated(place_, std::string(field) + " needs " + std::to_string(size_bytes) +
                                       " bytes at offset " + std::to_string(reader_.position()) +
                                       ", " + std::to_string(reader_.remaining()) + " remain");
  }
  [[noreturn]] void corrupt(std::string_view cause) const { diagnostics_.corrupt(place_, cause); }
  [[noreturn]] void unreadable_kind(std::string_view cause, std::string_view hint) const {
    diagnostics_.unreadable_kind(place_, cause, hint);
  }
  void warn(std::string_view rule, std::string_view cause) {
    diagnostics_.warn(rule, place_, cause);
  }

 private:
  Reader reader_;
  Diagnostics& diagnostics_;
  Place place_;
};

/// What a metadata pair takes at the least: key length, type and a value of one byte.
inline constexpr std::uint64_t smallest_pair_bytes = 8 + 4 + 1;

/// Reads the metadata pairs of a GGUF header and returns the alignment of its data. With a survey
/// the pairs are only checked and go nowhere else.
std::uint64_t read_gguf_metadata(GgufCursor& cursor, std::uint64_t count, Metadata& metadata,
                                 HeaderSurvey* survey);

/// The range of the data in a GGUF file.
struct GgufData {
  std::uint64_t start = 0;  ///< absolute
  std::uint64_t alignment = 0;
  std::uint64_t file_bytes = 0;
};

/// Checks the ranges, which come in the header's order with offsets from the start of the data:
/// alignment, inside the file, no overlap. Brings them into the order of their data, makes their
/// offsets absolute and gives tensors of unknown type what is up to the next tensor.
void lay_out_gguf(std::vector<TensorRange>& ranges, const GgufData& data, const NameAt& name_at,
                  Diagnostics& diagnostics);

}  // namespace hiptool::model
