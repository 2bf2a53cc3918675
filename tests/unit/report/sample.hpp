// SPDX-License-Identifier: MIT
/// Reports that the tests of several writers share.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

inline Report passed_report() {
  Report report;
  report.run.end(0);
  return report;
}

/// What `devices` shows, with an absent value, a plain list and a note.
inline Report sample_report() {
  Report report = passed_report();
  report.verdict = {{Tone::good, "2 devices on nvidia and cpu"},
                    {Tone::warning, "amd: /dev/kfd is missing although amdgpu is loaded"}};
  Table table;
  table.title = "Devices";
  table.columns = {{"id", "ID", Unit::none},
                   {"name", "Name", Unit::none},
                   {"memory_total_bytes", "Memory", Unit::size},
                   {"memory_peak_bytes_per_s", "Peak", Unit::rate},
                   {"warp_size", "Warp", Unit::none}};
  table.rows = {{"nvidia:0", "NVIDIA H200", std::uint64_t{150'110'011'392}, 4.81e12, 32},
                {"cpu:0", "AMD EPYC 9554 64-Core Processor", std::uint64_t{1} << 30, nullptr, 1}};
  report.tables = {table};
  report.notes = {{Tone::plain, "memory_free is not shown: it needs a context"}};
  return report;
}

/// What a hostile file can put into a name: it clears the screen, leaves its cell, forges a line,
/// starts with a formula, is not UTF-8 and turns the direction of writing.
inline const std::string hostile_name =
    "\x1b[2J|a\"b\",\r\nverified\t\x7f\xff\xc2\x9b\xe2\x80\xae`*<b>";

inline Report hostile_report() {
  Report report;
  report.run.end(5);
  report.verdict = {failure_line("wrong: tensor " + hostile_name)};
  report.tables = {{hostile_name, {{"name", "Name", Unit::none}}, {{hostile_name}}}};
  report.notes = {{Tone::plain, hostile_name}};
  return report;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline bool has_trailing_blank(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    if (!line.empty() && (line.back() == ' ' || line.back() == '\t')) return true;
  }
  return false;
}

/// True if nothing but line ends steers the terminal.
inline bool is_safe(const std::string& text) {
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte < 0x20 && letter != '\n') || byte == 0x7f || byte == 0xff) return false;
  }
  return text.find("\xc2\x9b") == std::string::npos &&
         text.find("\xe2\x80\xae") == std::string::npos;
}

}  // namespace hiptool::report
