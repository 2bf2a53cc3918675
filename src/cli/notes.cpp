// SPDX-License-Identifier: MIT
#include "cli/notes.hpp"

#include <new>

namespace hiptool::cli {

void NoteCollector::note(std::string_view source, std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (notes_.size() < max_notes) {
      notes_.push_back(std::string(source) + ": " + std::string(text));
      return;
    }
  } catch (const std::bad_alloc&) {
    // A remark is not worth failing for; the count below tells that it is missing.
  }
  ++dropped_;
}

void NoteCollector::print(Console& console) {
  const std::lock_guard lock(mutex_);
  for (const std::string& note : notes_) console.err("note: " + printable(note) + "\n");
  if (dropped_ > 0) {
    console.err("note: " + std::to_string(dropped_) + " more notes were left out\n");
  }
  notes_.clear();
  dropped_ = 0;
}

}  // namespace hiptool::cli
