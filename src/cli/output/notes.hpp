// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "cli/output/console.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// Collects the library's warnings and notes and prints them at the end of the run, because they
/// would break up the progress bar: warnings always, notes with --verbose. Repeated ones are
/// printed once, with their number.
class NoteCollector final : public TraceSink {
 public:
  static constexpr std::size_t max_notes = 1000;  ///< distinct ones

  void note(std::string_view source, std::string_view text) noexcept override;

  void warn(std::string_view source, std::string_view text) noexcept override;

  /// Writes the warnings, and the notes if requested, to err in their order, and discards them.
  void print(Console& console, bool with_notes);

 private:
  struct Note {
    std::string text;
    std::size_t times = 1;
  };

  void keep(std::vector<Note>& list, std::string_view source, std::string_view text) noexcept;
  static void write(Console& console, const std::string& kind, const std::vector<Note>& list);

  std::mutex mutex_;
  std::vector<Note> notes_;
  std::vector<Note> warnings_;
  std::size_t dropped_ = 0;
};

}  // namespace hiptool::cli
