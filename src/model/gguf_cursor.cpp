// SPDX-License-Identifier: MIT
#include "model/gguf_cursor.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 30;

}  // namespace

std::uint64_t GgufCursor::text_length(std::string_view field) {
  const auto length = number<std::uint64_t>(field);
  if (length > most_text_bytes) {
    corrupt(std::string(field) + " has a length of " + std::to_string(length) +
            " bytes; at most 1 GiB is allowed");
  }
  if (!reader_.has(length)) too_short(field, length);
  return length;
}

void GgufCursor::too_short(std::string_view field, std::uint64_t size_bytes) const {
  diagnostics_.truncated(place_, std::string(field) + " needs " + std::to_string(size_bytes) +
                                     " bytes at offset " + std::to_string(reader_.position()) +
                                     ", " + std::to_string(reader_.remaining()) + " remain");
}

}  // namespace hiptool::model
