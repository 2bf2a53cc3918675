// SPDX-License-Identifier: MIT
#include "measure/size_words.hpp"

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {
namespace {

std::optional<std::uint64_t> size_of(std::string_view part) {
  try {
    return parse_size(part);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

bool means_size(std::string_view part, std::string_view size_word) {
  if (size_word.empty()) return false;
  if (part == size_word) return true;
  const auto size_bytes = size_of(part);
  return size_bytes && report::size_word(*size_bytes) == size_word;
}

bool is_size(std::string_view part) {
  return size_of(part) || (part.size() > 1 && part.back() == '%');
}

}  // namespace hiptool::measure
