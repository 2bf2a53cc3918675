// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>

#include "report/report.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

std::string csv_of(std::vector<std::vector<Value>> rows, std::size_t columns) {
  Table table;
  for (std::size_t i = 0; i < columns; ++i) {
    table.columns.push_back({std::string(1, static_cast<char>('a' + i)), "", Unit::size});
  }
  table.rows = std::move(rows);
  Report report = passed_report();
  report.tables = {table};
  return to_csv(report);
}

}  // namespace

TEST_CASE("raw base units under keys, absent is empty") {
  CHECK(to_csv(sample_report()) ==
        "id,name,memory_total_bytes,memory_peak_bytes_per_s,warp_size,exit_code,passed\n"
        "nvidia:0,NVIDIA H200,150110011392,4.81e+12,32,0,true\n"
        "cpu:0,AMD EPYC 9554 64-Core Processor,1073741824,,1,0,true\n");
}

TEST_CASE("fields with commas, quotes or blanks at an edge are quoted") {
  CHECK(csv_of({{"a,b", "say \"hi\"", " x"}}, 3) ==
        "a,b,c,exit_code,passed\n\"a,b\",\"say \"\"hi\"\"\",\" x\",0,true\n");
  CHECK(csv_of({{Array{1, 2}, Object{{"k", "v"}}}}, 2) ==
        "a,b,exit_code,passed\n\"[1,2]\",\"{\"\"k\"\":\"\"v\"\"}\",0,true\n");
}

TEST_CASE("text that a spreadsheet would run as a formula gets an apostrophe, numbers stay") {
  const auto cell_of = [](Value value) {
    const std::string text = csv_of({{std::move(value)}}, 1);
    const std::size_t start = text.find('\n') + 1;
    return text.substr(start, text.rfind(",0,true") - start);
  };
  CHECK(cell_of("=1+1") == "'=1+1");
  CHECK(cell_of("+1+1") == "'+1+1");
  CHECK(cell_of("-1+1") == "'-1+1");
  CHECK(cell_of("@SUM(A1)") == "'@SUM(A1)");
  CHECK(cell_of("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0");
  CHECK(cell_of("=HYPERLINK(\"http://a\",\"b\")") == "\"'=HYPERLINK(\"\"http://a\"\",\"\"b\"\")\"");
  CHECK(cell_of("  =1+1") == "'  =1+1");
  CHECK(cell_of("\uff1d1+1") == "'\uff1d1+1");  // full-width: Excel reads it as "="
  CHECK(cell_of("-") == "'-");
  // Tab and CR do not begin a cell: they are written as \xNN.
  CHECK(cell_of("\t=1") == "\\x09=1");
  CHECK(cell_of("\r=1") == "\\x0D=1");
  CHECK(cell_of(-5) == "-5");
  CHECK(cell_of(-1.5e-7) == "-1.5e-07");
  CHECK(cell_of("-5") == "-5");
  CHECK(cell_of("-1.5e-07") == "-1.5e-07");
  CHECK(cell_of("a=1") == "a=1");
  Report report = passed_report();
  report.tables = {{"", {{"@key", "", Unit::none}}, {}}};
  CHECK(to_csv(report) == "'@key,exit_code,passed\n,0,true\n");
}

TEST_CASE("a column without a key has its place in the header") {
  Table table;
  table.columns = {{"", "", Unit::none}, {"b", "", Unit::none}};
  table.rows = {{1, 2}};
  Report report = passed_report();
  report.tables = {table};
  CHECK(to_csv(report) == ",b,exit_code,passed\n1,2,0,true\n");
}

TEST_CASE("values") {
  CHECK(csv_of({{true, -5, 0.1}, {false, std::nan(""), UINT64_MAX}}, 3) ==
        "a,b,c,exit_code,passed\ntrue,-5,0.1,0,true\nfalse,,18446744073709551615,0,true\n");
  CHECK(csv_of({{1}, {}, {1, 2, 3}}, 2) ==
        "a,b,exit_code,passed\n1,,0,true\n,,0,true\n1,2,0,true\n");
  CHECK(csv_of({{nullptr}, {""}}, 1) == "a,exit_code,passed\n,0,true\n,0,true\n");
}

TEST_CASE("several tables are one, with the columns of all") {
  Report report;
  report.run.end(5);
  report.tables = {{"One", {{"a", "A", Unit::none}, {"b", "B", Unit::none}}, {{1, 2}, {3}}},
                   {"Two", {{"c", "C", Unit::none}, {"a", "A", Unit::none}}, {{4, 5}}},
                   {"Three", {{"d", "D", Unit::none}}, {}}};
  CHECK(to_csv(report) ==
        "table,a,b,c,d,exit_code,passed\n"
        "One,1,2,,,5,false\n"
        "One,3,,,,5,false\n"
        "Two,5,,4,,5,false\n");
}

TEST_CASE("a report without rows has the verdict") {
  Report report;
  CHECK(to_csv(report) == "exit_code,passed\n,false\n");
  report.run.end(3);
  CHECK(to_csv(report) == "exit_code,passed\n3,false\n");
  report.tables = {{"", {{"a", "A", Unit::none}}, {}}};
  CHECK(to_csv(report) == "a,exit_code,passed\n,3,false\n");
}

TEST_CASE("a hostile name stays in its field") {
  const std::string text = to_csv(hostile_report());
  CHECK(text ==
        "name,exit_code,passed\n"
        "\"\\x1B[2J|a\"\"b\"\",\\x0D\\x0Averified\\x09\\x7F\\xFF"
        "\\xC2\\x9B\\xE2\\x80\\xAE`*<b>\",5,false\n");
  CHECK(is_safe(text));
}
