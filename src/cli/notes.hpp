// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// Keeps what the library remarks, to be shown at the end: warnings always, notes with --verbose.
/// Shown at once they would tear the progress bar. A remark that is made again is counted with the
/// first one.
class NoteCollector final : public TraceSink {
 public:
  static constexpr std::size_t max_notes = 1000;  ///< different ones

  void note(std::string_view source, std::string_view text) noexcept override;

  void warn(std::string_view source, std::string_view text) noexcept override;

  /// Writes the warnings, and the notes if they are wanted, to err in their order, and forgets
  /// them.
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
