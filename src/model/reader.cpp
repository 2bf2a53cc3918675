// SPDX-License-Identifier: MIT
#include "model/reader.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool::model {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t largest_step_bytes = std::size_t{4} << 20;

[[noreturn]] void beyond_end(const base::File& file, std::uint64_t offset, std::uint64_t size) {
  throw Error(ErrorCode::corrupt_data, "parse",
              file.path().string() + ": " + base::plain_count_of(size, "byte") + " at offset " +
                  std::to_string(offset) + " end beyond the file (" +
                  base::plain_count_of(file.size_bytes(), "byte") + ")");
}

}  // namespace

void Reader::load(std::size_t size_bytes) {
  if (!has(size_bytes)) beyond_end(file_, position_, size_bytes);
  const std::uint64_t wanted = std::max<std::uint64_t>(size_bytes, step_bytes_);
  window_.resize(static_cast<std::size_t>(std::min(wanted, remaining())));
  window_offset_ = position_;
  file_.read_at(window_, position_);
  step_bytes_ = std::min(step_bytes_ * 2, largest_step_bytes);
}

std::string Reader::take_text(std::uint64_t size_bytes) {
  if (!has(size_bytes)) beyond_end(file_, position_, size_bytes);
  const auto size = static_cast<std::size_t>(size_bytes);
  std::string text;
  if (size_bytes <= largest_step_bytes) {
    if (size > 0) text.assign(reinterpret_cast<const char*>(peek(size)), size);
  } else {
    text.resize(size);
    file_.read_at(std::as_writable_bytes(std::span(text)), position_);
  }
  position_ += size_bytes;
  return text;
}

void Reader::skip(std::uint64_t size_bytes) {
  if (!has(size_bytes)) beyond_end(file_, position_, size_bytes);
  position_ += size_bytes;
}

}  // namespace hiptool::model
