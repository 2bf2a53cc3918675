// SPDX-License-Identifier: MIT
#include "cli/output/notes.hpp"

#include <doctest/doctest.h>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

TEST_CASE("notes come in their order, once") {
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  NoteCollector notes;
  notes.note("hipFree", "failed");
  notes.note("load", "slow");
  notes.print(console, true);
  notes.print(console, true);
  CHECK(err.text == "note: hipFree: failed\nnote: load: slow\n");
}

TEST_CASE("a note that repeats is printed once, where it came first, with its number") {
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  NoteCollector notes;
  for (int i = 0; i < 65; ++i) {
    notes.note("hipFree", "failed");
    if (i == 3) notes.note("load", "slow");
    if (i > 62) notes.note("hipFree", "failed otherwise");
  }
  notes.print(console, true);
  CHECK(err.text ==
        "note: hipFree: failed (65 times)\nnote: load: slow\n"
        "note: hipFree: failed otherwise (2 times)\n");
}

TEST_CASE("a flood of notes is counted, not kept") {
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  NoteCollector notes;
  for (std::size_t i = 0; i < NoteCollector::max_notes + 5; ++i) {
    notes.note("a", std::to_string(i));
  }
  notes.print(console, true);
  CHECK(contains(err.text, "note: 5 more notes omitted\n"));
}

TEST_CASE("warnings come without --verbose too, before the notes") {
  CaptureStream out;
  CaptureStream err;
  Console console(out, err, reader_of({}));
  NoteCollector notes;
  notes.note("load", "slow");
  notes.warn("kernel cache", "not used");
  notes.print(console, false);
  CHECK(err.text == "warning: kernel cache: not used\n");
  notes.print(console, true);
  CHECK(err.text == "warning: kernel cache: not used\nnote: load: slow\n");
}
