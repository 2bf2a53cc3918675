// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "report/report.hpp"
#include "report/text.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, display_width(line));
  return width;
}

Report long_report() {
  Report report = passed_report();
  report.verdict = {{Tone::plain, "verified 13.0 GiB on nvidia:0 in 0.61 s, 97 % of the link"}};
  report.tables = {{"Tensors of a file whose title is longer than a narrow line",
                    {{"name", "Tensor", Unit::none},
                     {"bytes", "Size", Unit::size},
                     {"digest", "Digest", Unit::none}},
                    {{std::string(300, 'n'), 4096, std::string(64, 'd')}}}};
  return report;
}

}  // namespace

TEST_CASE("80 columns: verdict, aligned table, notes") {
  CHECK(to_table(sample_report(), {80, false, true}) ==
        "2 devices on nvidia and cpu\n"
        "amd: /dev/kfd is missing although amdgpu is loaded\n"
        "\n"
        "Devices\n"
        "ID        Name                               Memory       Peak  Warp\n"
        "nvidia:0  NVIDIA H200                       140 GiB  4.81 TB/s    32\n"
        "cpu:0     AMD EPYC 9554 64-Core Processor  1.00 GiB          –     1\n"
        "\n"
        "memory_free is not shown: it needs a context\n");
}

TEST_CASE("40 columns: what does not fit becomes lists, nothing is cut") {
  CHECK(to_table(sample_report(), {40, false, false}) ==
        "2 devices on nvidia and cpu\n"
        "amd: /dev/kfd is missing although amdgpu\n"
        "  is loaded\n"
        "\n"
        "Devices\n"
        "ID nvidia:0\n"
        "  Name    NVIDIA H200\n"
        "  Memory  140 GiB\n"
        "  Peak    4.81 TB/s\n"
        "  Warp    32\n"
        "ID cpu:0\n"
        "  Name    AMD EPYC 9554 64-Core\n"
        "          Processor\n"
        "  Memory  1.00 GiB\n"
        "  Peak    -\n"
        "  Warp    1\n"
        "\n"
        "memory_free is not shown: it needs a\n"
        "  context\n");
}

TEST_CASE("a table that fits exactly stays a table") {
  const Report report = sample_report();
  CHECK(to_table(report, {68, false, true}).find("ID nvidia") == std::string::npos);
  CHECK(to_table(report, {67, false, true}).find("ID nvidia") != std::string::npos);
}

TEST_CASE("very long names: no line is too wide, no letter is lost") {
  for (const std::size_t width : {20u, 24u, 40u, 80u, 200u}) {
    CAPTURE(width);
    const std::string text = to_table(long_report(), {width, false, true});
    CHECK(widest(text) <= width);
    CHECK(std::count(text.begin(), text.end(), 'n') > 300);
    CHECK(std::count(text.begin(), text.end(), 'd') >= 64);
    CHECK_FALSE(has_trailing_blank(text));
  }
  CHECK(to_table(long_report(), {400, false, true}).find("Tensor n") == std::string::npos);
}

TEST_CASE("a last column that may be cut keeps the table, the others of the document are whole") {
  Report report = passed_report();
  report.tables = {{"",
                    {{"device", "Device"}, {"result", "Result", Unit::none, true}},
                    {{"nvidia:0", "h2d 55.3 GB/s, d2h 54.9 GB/s"}, {"machine", "right"}}}};
  CHECK(to_table(report, {32, false, true}) ==
        "Device    Result\n"
        "nvidia:0  h2d 55.3 GB/s, ...\n"
        "machine   right\n");
  CHECK(to_table(report, {38, false, true}).find("54.9 GB/s\n") != std::string::npos);
  CHECK(to_table(report, {21, false, true}).find("Result") != 10);  // too narrow to say anything
  CHECK(to_markdown(report).find("54.9 GB/s") != std::string::npos);
  report.tables[0].columns[1].may_be_cut = false;
  CHECK(to_table(report, {32, false, true}).find("54.9 GB/s") != std::string::npos);
}

TEST_CASE("other columns that may be cut lose only what the terminal lacks, and keep 21 columns") {
  Report report = passed_report();
  const std::string name = "AMD Ryzen Threadripper PRO 7995WX 96-Cores";
  report.tables = {
      {"",
       {{"id", "ID"}, {.key = "name", .title = "Name", .may_be_cut = true}, {"arch", "Arch"}},
       {{"cpu:0", name, "x86_64"}}}};
  const auto second = [&](std::size_t width) {
    return lines_of(to_table(report, {width, false, true}))[1];
  };
  CHECK(second(1000) == "cpu:0  " + name + "  x86_64");
  CHECK(second(57) == "cpu:0  " + name + "  x86_64");
  CHECK(second(56) == "cpu:0  AMD Ryzen Threadripper PRO 7995WX ...      x86_64");
  CHECK(second(36) == "cpu:0  AMD Ryzen Thread ...   x86_64");
  CHECK(lines_of(to_table(report, {35, false, true})).front() == "ID cpu:0");
}

TEST_CASE("columns that may be left out go from the last on until the table fits") {
  Report report = passed_report();
  report.tables = {{"",
                    {{"copy", "Copy"},
                     {.key = "range", .title = "Range", .may_be_left_out = true},
                     {"size", "Size"},
                     {.key = "bars", .title = "Bars", .may_be_left_out = true}},
                    {{"h2d", "54 to 56", "1 MiB", "12345678"}, {"d2h", {}, "1 GiB", {}}},
                    {{0.1, 0.2, 0.3, 0.4}},
                    {{Tone::plain, Tone::bad, Tone::good, Tone::plain}}}};
  const auto first = [&](std::size_t width) {
    return lines_of(to_table(report, {width, false, true})).front();
  };
  CHECK(first(1000) == "Copy  Range     Size   Bars");
  CHECK(first(31) == "Copy  Range     Size   Bars");
  CHECK(first(30) == "Copy  Range     Size");
  CHECK(first(21) == "Copy  Range     Size");
  CHECK(first(20) == "Copy  Size");
  CHECK(to_table(report, {20, true, true}).find("\x1b[32m1 MiB") != std::string::npos);
  CHECK(to_markdown(report).find("Bars") != std::string::npos);
}

TEST_CASE("a single row of many columns is a list where nothing is cut, too") {
  Report report = passed_report();
  Table table;
  table.rows.emplace_back();
  for (int i = 0; i < 20; ++i) {
    table.columns.push_back({"key", "Title " + std::to_string(i)});
    table.rows.front().emplace_back("value " + std::to_string(i));
  }
  report.tables = {table};
  const std::string text = to_table(report, {1'000'000, false, true, 0});
  CHECK(text.starts_with("Title 0 value 0\n  Title 1   value 1\n"));
  CHECK(text.find("  Title 19  value 19\n") != std::string::npos);
  report.tables.front().rows.push_back(table.rows.front());
  CHECK(lines_of(to_table(report, {1'000'000, false, true, 0})).size() == 3);
  report.tables.front() = table;
  while (report.tables.front().columns.size() > 8) report.tables.front().remove_column(8);
  CHECK(lines_of(to_table(report, {1'000'000, false, true, 0})).size() == 2);
}

TEST_CASE("keys too long to stand beside their values stand above them") {
  Report report = passed_report();
  report.tables = {{"",
                    {{"a", "", Unit::none}, {"b", "A key of length", Unit::none}},
                    {{"row", "some value of length"}}}};
  CHECK(to_table(report, {24, false, true}) ==
        "row\n  A key of length\n    some value of length\n");
}

TEST_CASE("two columns without titles are keys and values, which wrap below each other") {
  Report report = passed_report();
  report.verdict = {{Tone::plain, "m.gguf"}};
  report.tables = {{"",
                    {{"key", ""}, {"value", ""}},
                    {{"name", "a model"}, {"special", "bos 1 <s>, eos 2 </s>, padding 0 <pad>"}}}};
  const std::string text = to_table(report, {30, false, false});
  CHECK(text.find("\n\nname     a model\n"
                  "special  bos 1 <s>, eos\n"
                  "         2 </s>, padding\n"
                  "         0 <pad>\n") != std::string::npos);
  CHECK(to_table(report, {12, false, false}).find("name\n  a model\nspecial\n  bos 1 <s>,\n") !=
        std::string::npos);
}

TEST_CASE("any width ends, even none") {
  for (std::size_t width = 0; width < 8; ++width) {
    CHECK_FALSE(to_table(long_report(), {width, false, true}).empty());
  }
}

TEST_CASE("columns align by what is seen, not by bytes") {
  Report report = passed_report();
  report.tables = {{"",
                    {{"a", "Name", Unit::none}, {"b", "N", Unit::count}},
                    {{"漢字", 1}, {"größe", 1000}, {"e\xcc\x81", nullptr}}}};
  CHECK(to_table(report, {80, false, true}) ==
        "Name       N\n"
        "漢字       1\n"
        "größe  1 000\n"
        "e\xcc\x81          –\n");
}

TEST_CASE("empty reports, empty tables, short rows") {
  CHECK(to_table(passed_report(), {}).empty());
  CHECK(to_table(Report{}, {}) == "FAILED: no exit code\n");
  Report report = passed_report();
  report.tables = {{"Mismatches", {{"a", "A", Unit::none}}, {}},
                   {"", {}, {}},
                   {"", {{"a", "A", Unit::none}, {"b", "B", Unit::none}}, {{1}}}};
  CHECK(to_table(report, {80, false, false}) == "Mismatches\n(none)\n\nA  B\n1  -\n");
  CHECK_FALSE(has_trailing_blank(to_table(report, {80, false, true})));
}

TEST_CASE("a hostile name stays in its line") {
  for (const std::size_t width : {20u, 40u, 80u, 200u}) {
    const std::string text = to_table(hostile_report(), {width, false, true});
    CHECK(is_safe(text));
    CHECK(widest(text) <= width);
  }
  const std::string name =
      "\\x1B[2J|a\"b\",\\x0D\\x0Averified\\x09\\x7F\\xFF\\xC2\\x9B\\xE2\\x80\\xAE`*<b>";
  CHECK(to_table(hostile_report(), {100, false, true}) ==
        "wrong: tensor " + name + "\n\n" + name + "\nName\n" + name + "\n\n" + name + "\n");
}

TEST_CASE("colour adds to the text, it never carries it") {
  Report report = sample_report();
  report.notes.push_back({Tone::bad, "  bad"});
  const std::string plain = to_table(report, {40, false, true});
  const std::string colored = to_table(report, {40, true, true});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(colored.rfind("\x1b[32m2 devices on nvidia and cpu\x1b[0m\n", 0) == 0);
  CHECK(colored.find("\x1b[33mamd: /dev") != std::string::npos);
  CHECK(colored.find("  \x1b[33mis loaded\x1b[0m\n") != std::string::npos);
  CHECK(colored.find("\x1b[1mDevices\x1b[0m\n") != std::string::npos);
  CHECK(colored.find("  \x1b[31mbad\x1b[0m\n") != std::string::npos);
  CHECK(std::regex_replace(colored, std::regex("\x1b\\[[0-9]*m"), "") == plain);
}

TEST_CASE("nothing of a run that did not pass is green, and its first line is red") {
  Report report;
  report.run.end(3);
  report.verdict = {{Tone::good, "6 copies"}, {Tone::good, "met"}};
  CHECK(to_table(report, {80, true, true}) == "\x1b[31mFAILED: 6 copies\x1b[0m\nmet\n");
}

TEST_CASE("a terminal leaves details out and ends a long report with the verdict") {
  Report report = passed_report();
  report.verdict = {{Tone::good, "accepted"}, {Tone::plain, "more"}};
  Table grid{"", {{"a", "A"}}, {{"x"}, {"y"}}};
  Table detail{"", {{"b", "B"}}, {{"whole"}}};
  detail.is_detail = true;
  report.tables = {grid, detail};
  CHECK(to_table(report, {80, false, true, 0}) == "accepted\nmore\n\nA\nx\ny\n\nB\nwhole\n");
  CHECK(to_table(report, {80, false, true, 7}) == "accepted\nmore\n\nA\nx\ny\n");
  CHECK(to_table(report, {80, false, true, 6}) == "accepted\nmore\n\nA\nx\ny\n\naccepted\n");
}

TEST_CASE("cells have colours of their own, which take no columns") {
  Report report = passed_report();
  report.tables = {{"", {{"a", "A"}, {"b", "B"}}, {{"passed", 1}, {"FAILED", 2}}}};
  report.tables[0].tones = {{Tone::good, Tone::plain}, {Tone::bad}};
  const std::string text = to_table(report, {80, true, true, 0});
  CHECK(text.find("\x1b[32mpassed\x1b[0m  1\n") != std::string::npos);
  CHECK(text.find("\x1b[31mFAILED\x1b[0m  2\n") != std::string::npos);
  CHECK(to_table(report, {80, false, true, 0}).find("\x1b") == std::string::npos);
}
