// SPDX-License-Identifier: MIT
/// Documents made from the bytes of an input: a change of a few bytes changes a field, and a number
/// is any that a double can be, also those that JSON cannot carry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "report/report.hpp"

namespace hiptool::fuzz {

/// The bytes of an input, one after the other; zeros after its end.
class ByteSource {
 public:
  ByteSource(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

  bool is_empty() const noexcept { return at_ == end_; }
  std::uint8_t byte() noexcept { return at_ == end_ ? std::uint8_t{0} : *at_++; }
  /// From 0 to `end` - 1.
  std::size_t below(std::size_t end) noexcept { return byte() % end; }
  std::uint64_t whole();
  double real();
  std::string text();
  report::Value value(int depth);

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// One of any kind.
report::Object made_document(ByteSource& source);
/// One with copies (bench-copy) or kernels (run-kernel), which can be compared and merged.
report::Object made_measurements(ByteSource& source, bool are_copies);

}  // namespace hiptool::fuzz
