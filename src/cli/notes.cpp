// SPDX-License-Identifier: MIT
#include "cli/notes.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace hiptool::cli {

void NoteCollector::note(std::string_view source, std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    std::string whole = std::string(source) + ": " + std::string(text);
    const auto same = std::find_if(notes_.begin(), notes_.end(),
                                   [&](const Note& note) { return note.text == whole; });
    if (same != notes_.end()) {
      ++same->times;
      return;
    }
    if (notes_.size() < max_notes) {
      notes_.push_back({std::move(whole)});
      return;
    }
  } catch (const std::bad_alloc&) {
    // A remark is not worth failing for; the count below tells that it is missing.
  }
  ++dropped_;
}

void NoteCollector::print(Console& console) {
  const std::lock_guard lock(mutex_);
  for (const Note& note : notes_) {
    const std::string times = note.times > 1 ? " (" + std::to_string(note.times) + " times)" : "";
    console.err("note: " + printable(note.text) + times + "\n");
  }
  if (dropped_ > 0) {
    console.err("note: " + std::to_string(dropped_) + " more notes were left out\n");
  }
  notes_.clear();
  dropped_ = 0;
}

}  // namespace hiptool::cli
