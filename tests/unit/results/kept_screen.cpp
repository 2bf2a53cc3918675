// SPDX-License-Identifier: MIT
#include "kept_screen.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "report/report.hpp"
#include "report/text.hpp"

namespace hiptool::test {
namespace {

struct Medium {
  const char* name;
  std::optional<std::size_t> columns;
};

const std::array<Medium, 3> media{{{"80 columns", 80}, {"120 columns", 120}, {"a pipe", {}}}};

std::set<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> words;
  for (std::string word; stream >> word;) words.insert(word);
  return words;
}

void check_widths(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(report::display_width(line) <= columns, line);
  }
}

// " ..." ends a cell that was cut.
void check_uncut(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(!line.ends_with(" ..."), line);
    CHECK_MESSAGE(line.find(" ...  ") == std::string::npos, line);
  }
}

}  // namespace

void check_kept_screen(const std::string& name, const Screen& screen) {
  CAPTURE(name);
  const char* const folder = std::getenv("HIPTOOL_SCREENS");
  REQUIRE(folder != nullptr);
  std::string kept_text;
  std::string text;
  std::string names;
  std::string shown;
  for (const Medium& medium : media) {
    const std::string next = screen(medium.columns);
    if (medium.columns) check_widths(next, *medium.columns);
    const std::set<std::string> wider = words_of(next);
    for (const std::string& word : words_of(shown)) {
      const bool is_cut = word == "...";
      CHECK_MESSAGE((is_cut || wider.count(word) == 1), medium.name << " lacks '" << word << "'");
    }
    if (next != shown && !names.empty()) text += "---- " + names + "\n" + shown;
    names = next == shown && !names.empty() ? names + ", " + medium.name : medium.name;
    shown = next;
  }
  check_uncut(shown);
  text += "---- " + names + "\n" + shown;

  const std::filesystem::path path = std::filesystem::path(folder) / (name + ".txt");
  if (std::getenv("HIPTOOL_WRITE_SCREENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  INFO("rewrite with: HIPTOOL_WRITE_SCREENS=1 meson test -C build screens");
  CHECK_MESSAGE(text == kept, name << ":\n" << text);
}

void check_kept_screen(const std::string& name, const report::Report& report) {
  check_kept_screen(name, [&](std::optional<std::size_t> columns) {
    return report::to_table(report, {columns.value_or(1'000'000), false, true,
                                     columns ? std::size_t{24} : std::size_t{0}});
  });
}

}  // namespace hiptool::test
