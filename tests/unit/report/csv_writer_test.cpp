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
  Report report;
  report.tables = {table};
  return to_csv(report);
}

}  // namespace

TEST_CASE("raw base units under keys, absent is empty") {
  CHECK(to_csv(sample_report()) ==
        "id,name,memory_total_bytes,memory_peak_bytes_per_s,warp_size\n"
        "nvidia:0,NVIDIA H200,150110011392,4.81e+12,32\n"
        "cpu:0,AMD EPYC 9554 64-Core Processor,1073741824,,1\n");
}

TEST_CASE("fields with commas, quotes or blanks at an edge are quoted") {
  CHECK(csv_of({{"a,b", "say \"hi\"", " x"}}, 3) == "a,b,c\n\"a,b\",\"say \"\"hi\"\"\",\" x\"\n");
  CHECK(csv_of({{Array{1, 2}, Object{{"k", "v"}}}}, 2) ==
        "a,b\n\"[1,2]\",\"{\"\"k\"\":\"\"v\"\"}\"\n");
}

TEST_CASE("values") {
  CHECK(csv_of({{true, -5, 0.1}, {false, std::nan(""), UINT64_MAX}}, 3) ==
        "a,b,c\ntrue,-5,0.1\nfalse,,18446744073709551615\n");
  CHECK(csv_of({{1}, {}, {1, 2, 3}}, 2) == "a,b\n1,\n,\n1,2\n");
  CHECK(csv_of({{nullptr}, {""}}, 1) == "a\n\"\"\n\"\"\n");
}

TEST_CASE("tables are separated by an empty line") {
  Report report;
  report.tables = {{"One", {{"a", "A", Unit::none}}, {{1}}}, {"Two", {{"b", "B", Unit::none}}, {}}};
  CHECK(to_csv(report) == "a\n1\n\nb\n");
  CHECK(to_csv(Report{}).empty());
}

TEST_CASE("a hostile name stays in its field") {
  const std::string text = to_csv(hostile_report());
  CHECK(text ==
        "name\n"
        "\"\\x1B[2J|a\"\"b\"\",\\x0D\\x0Averified\\x09\\x7F\\xFF"
        "\\xC2\\x9B\\xE2\\x80\\xAE`*<b>\"\n");
  CHECK(is_safe(text));
}
