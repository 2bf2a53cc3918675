// SPDX-License-Identifier: MIT
#include "report/matrix.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "documents.hpp"

using namespace hiptool::report;

namespace {

std::string pair(const std::string& source, const std::string& destination, double rate,
                 const std::string& status = "ok") {
  return copy_cell("p.1MiB@" + source + ">" + destination, source, destination, 1 << 20, rate,
                   status);
}

std::vector<Matrix> matrices_in(const std::string& document) {
  return matrices_of(report_with(document).measurements);
}

}  // namespace

TEST_CASE("a row for each source, a column for each destination, in the order of devices") {
  const auto list = matrices_in(bench_copy(
      pair("nvidia:10", "nvidia:9", 1e9) + "," + pair("nvidia:9", "nvidia:10", 2.345e9) + "," +
      pair("nvidia:9", "nvidia:1", 3e9, "failed") + "," + pair("nvidia:1", "nvidia:9", 4e9)));
  REQUIRE(list.size() == 1);
  const Matrix& matrix = list.front();
  CHECK(matrix.label == "p.1MiB");
  CHECK(matrix.sources == std::vector<std::string>{"nvidia:1", "nvidia:9", "nvidia:10"});
  CHECK(matrix.destinations == matrix.sources);
  CHECK(matrix.bytes_per_s[0][1] == 4e9);
  CHECK(matrix.bytes_per_s[1][2] == 2.345e9);
  CHECK(matrix.bytes_per_s[2][1] == 1e9);
  CHECK_FALSE(matrix.bytes_per_s[1][0]);  // failed
  CHECK_FALSE(matrix.bytes_per_s[0][0]);
  CHECK(matrix.largest_bytes_per_s == 4e9);
  CHECK(strength(matrix, 4e9) == 1);
  CHECK(strength(matrix, 1e9) == 0.25);

  const Table table = table_of(matrix);
  CHECK(table.title == "p.1MiB: from row to column, GB/s");
  CHECK(table.columns[0].title == "nvidia");
  CHECK(table.columns[3].title == "10");
  CHECK(format_value(table.rows[1][0], Unit::none) == "9");
  CHECK(format_value(table.rows[1][3], table.columns[3].unit) == "2.35");
  CHECK(format_value(table.rows[0][2], table.columns[2].unit) == "4.00");
  CHECK(table.rows[0][1].is_absent());
}

TEST_CASE("latencies between devices are in microseconds") {
  std::vector<Measurement> measurements;
  for (const auto& [source, destination] :
       {std::pair{"nvidia:0", "nvidia:1"}, {"nvidia:1", "nvidia:0"}}) {
    Measurement one;
    one.label = "p2p-write.copy.4KiB.latency";
    one.source = source;
    one.destination = destination;
    one.median_s = 12.345e-6;
    measurements.push_back(one);
  }
  const auto list = matrices_of(measurements);
  REQUIRE(list.size() == 1);
  const Table table = table_of(list.front());
  CHECK(table.title == "p2p-write.copy.4KiB.latency: from row to column, us");
  CHECK(format_value(table.rows[0][2], Unit::none) == "12.35");
  CHECK(table.rows[1][2].is_absent());
}

TEST_CASE("devices of several platforms keep their whole names") {
  const auto list = matrices_in(
      bench_copy(pair("amd:0", "nvidia:0", 1e9) + "," + pair("nvidia:0", "amd:0", 1e9)));
  REQUIRE(list.size() == 1);
  const Table table = table_of(list.front());
  CHECK(table.columns[0].title.empty());
  CHECK(table.columns[1].title == "amd:0");
}

TEST_CASE("one pair, lists of devices and the host make no matrix") {
  CHECK(matrices_in(bench_copy(pair("amd:0", "amd:1", 1e9))).empty());
  CHECK(matrices_in(
            bench_copy(pair("amd:0", "amd:1,amd:2", 1e9) + "," + pair("amd:1", "amd:0,amd:2", 1e9)))
            .empty());
  CHECK(matrices_in(bench_copy(pair("host", "amd:1", 1e9) + "," + pair("host", "amd:0", 1e9)))
            .empty());
}

TEST_CASE("a pair that failed is named in its cell") {
  std::vector<Measurement> measurements;
  for (const char* source : {"amd:0", "amd:1"}) {
    for (const char* destination : {"amd:0", "amd:1"}) {
      if (std::string(source) == destination) continue;
      Measurement one;
      one.label = "p2p-write";
      one.source = source;
      one.destination = destination;
      one.bytes_per_s = 5e9;
      if (measurements.empty()) one.status = Status::mismatch;
      measurements.push_back(one);
    }
  }
  const auto list = matrices_of(measurements);
  REQUIRE(list.size() == 1);
  const Table table = table_of(list.front());
  CHECK(format_value(table.at(0, 2), Unit::hundredths) == "FAILED");
  CHECK(table.tone_at(0, 2) == Tone::bad);
  CHECK(table.tone_at(1, 1) == Tone::plain);
  Report report;
  report.run.end(5);
  report.measurements = measurements;
  CHECK(to_html(report).find("<td class=\"number bad-cell\"") != std::string::npos);
  CHECK(to_svg(report).find("class=\"middle bad\">FAILED<") != std::string::npos);
}
