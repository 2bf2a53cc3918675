// SPDX-License-Identifier: MIT
#include "cli/output/notes.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "report/text.hpp"

namespace hiptool::cli {

void NoteCollector::note(std::string_view source, std::string_view text) noexcept {
  keep(notes_, source, text);
}

void NoteCollector::warn(std::string_view source, std::string_view text) noexcept {
  keep(warnings_, source, text);
}

void NoteCollector::keep(std::vector<Note>& list, std::string_view source,
                         std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    std::string whole = std::string(source) + ": " + std::string(text);
    const auto same = std::find_if(list.begin(), list.end(),
                                   [&](const Note& note) { return note.text == whole; });
    if (same != list.end()) {
      ++same->times;
      return;
    }
    if (list.size() < max_notes) {
      list.push_back({std::move(whole)});
      return;
    }
  } catch (const std::bad_alloc&) {
    // Counted below instead: a note must not make the run fail.
  }
  ++dropped_;
}

void NoteCollector::write(Console& console, const std::string& kind,
                          const std::vector<Note>& list) {
  for (const Note& note : list) {
    const std::string times = note.times > 1 ? " (" + std::to_string(note.times) + " times)" : "";
    console.err(kind + report::printable_lines(note.text) + times + "\n");
  }
}

void NoteCollector::print(Console& console, bool with_notes) {
  const std::lock_guard lock(mutex_);
  write(console, "warning: ", warnings_);
  warnings_.clear();
  if (!with_notes) return;
  write(console, "note: ", notes_);
  if (dropped_ > 0) {
    console.err("note: " + std::to_string(dropped_) + " more notes omitted\n");
  }
  notes_.clear();
  dropped_ = 0;
}

}  // namespace hiptool::cli
