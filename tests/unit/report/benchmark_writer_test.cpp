// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "documents.hpp"
#include "report/report.hpp"

using namespace hiptool::report;

TEST_CASE("google benchmark: samples, median, errors") {
  const Value tree = parse_json(
      to_gbench(report_with(bench_copy(copy_cell("a", "host", "amd:0", 100, 200) + "," +
                                       copy_cell("b", "host", "amd:0", 1, 1, "failed")))),
      "");
  const Array& list = elements(member(tree, "benchmarks"));
  REQUIRE(list.size() == 5);
  CHECK(number_of(member(list[1], "real_time")) == 0.25e6);
  CHECK(text_of(member(list[1], "time_unit")) == "us");
  CHECK(number_of(member(list[1], "repetition_index")) == 1);
  CHECK(number_of(member(list[1], "bytes_per_second")) == 400);  // twice as fast as the median
  CHECK(text_of(member(list[3], "name")) == "a_median");
  CHECK(text_of(member(list[3], "run_name")) == "a");
  CHECK(number_of(member(list[3], "bytes_per_second")) == 200);
  CHECK(text_of(member(list[4], "error_message")) == "failed");
  CHECK(text_of(member(member(tree, "context"), "host_name")) == "n1");
}

TEST_CASE("github-action-benchmark and Bencher") {
  const Report report =
      report_with(bench_copy(copy_cell("a", "host", "amd:0", 100, 2e9) + "," +
                             copy_cell("b", "host", "amd:0", 1, 1, "mismatch") + "," +
                             copy_cell("c", "host", "amd:0", 1, 1, "skipped")));
  const Value list = parse_json(to_gha(report), "");
  REQUIRE(elements(list).size() == 2);
  CHECK(number_of(member(elements(list)[0], "value")) == 2);
  CHECK(number_of(member(elements(list)[1], "value")) == 0);
  CHECK(text_of(member(elements(list)[1], "extra")) == "mismatch");
  const Value tree = parse_json(to_bmf(report), "");
  CHECK(number_of(member(member(member(tree, "a"), "bytes-per-second"), "value")) == 2e9);
  CHECK(member(tree, "b").is_absent());
}

TEST_CASE("nothing measured is an empty list") {
  CHECK(to_gha({}) == "[]\n");
  CHECK(to_bmf({}) == "{}\n");
  CHECK(elements(member(parse_json(to_gbench({}), ""), "benchmarks")).empty());
}
