// SPDX-License-Identifier: MIT
/// Screens kept in tests/screens: what a command prints of a fixed result.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "report/report.hpp"

namespace hiptool::test {

/// The report on terminals of 80 and 120 columns and in a pipe.
inline std::string screens_of(const report::Report& report) {
  std::string text;
  for (const std::size_t width : {std::size_t{80}, std::size_t{120}}) {
    text += "---- a terminal of " + std::to_string(width) + " columns, 24 lines\n";
    text += report::to_table(report, {width, false, true, 24});
  }
  return text + "---- a pipe\n" + report::to_table(report, {1'000'000, false, true, 0});
}

/// Compares with the kept screen of that name. With HIPTOOL_WRITE_SCREENS in the environment it
/// writes the screen instead.
inline void check_kept_screen(const std::string& name, const std::string& text) {
  const char* const folder = std::getenv("HIPTOOL_SCREENS");
  REQUIRE(folder != nullptr);
  const std::filesystem::path path = std::filesystem::path(folder) / (name + ".txt");
  if (std::getenv("HIPTOOL_WRITE_SCREENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  INFO("rewrite with: HIPTOOL_WRITE_SCREENS=1 meson test -C build screens");
  CHECK_MESSAGE(text == kept, name << ":\n" << text);
}

}  // namespace hiptool::test
