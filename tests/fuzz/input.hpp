// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "memory_disk.hpp"

namespace hiptool::fuzz {

/// What libFuzzer gives a target. As long as it exists, all files are those of the disk in memory.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size);
  std::string_view text() const noexcept { return text_; }

  /// True for one of so many inputs, by its bytes; for all that are only replayed. What takes long
  /// and seldom finds what the rest does not is done in turns.
  bool is_turn(std::size_t of_inputs) const;

 private:
  std::string_view text_;
  std::size_t hash_;
  InMemory in_memory_;
};

}  // namespace hiptool::fuzz
