// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "hiptool/trace.hpp"

namespace hiptool::cli {

/// Keeps what the library remarks, to be shown at the end with --verbose: shown at once it would
/// tear the progress bar. A remark that is made again is counted with the first one.
class NoteCollector final : public TraceSink {
 public:
  static constexpr std::size_t max_notes = 1000;  ///< different ones

  void note(std::string_view source, std::string_view text) noexcept override;

  /// Writes the notes to err, in their order, and forgets them.
  void print(Console& console);

 private:
  struct Note {
    std::string text;
    std::size_t times = 1;
  };

  std::mutex mutex_;
  std::vector<Note> notes_;
  std::size_t dropped_ = 0;
};

}  // namespace hiptool::cli
