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
  REQUIRE(elements(list).size() == 3);
  CHECK(number_of(member(elements(list)[1], "value")) == 2);
  CHECK(number_of(member(elements(list)[2], "value")) == 0);
  CHECK(text_of(member(elements(list)[2], "extra")) == "mismatch");
  const Value tree = parse_json(to_bmf(report), "");
  CHECK(number_of(member(member(member(tree, "a"), "bytes-per-second"), "value")) == 2e9);
  CHECK(member(tree, "b").is_absent());
}

TEST_CASE("the verdict is an entry, the first one") {
  for (const int code : {0, 1, 5}) {
    CAPTURE(code);
    Report report = report_with(bench_copy(copy_cell("a", "host", "amd:0", 100, 2e9)));
    report.run.end(code, {{"t", 2, 1}});
    const double passed = code == 0 ? 1 : 0;
    const Value gha = parse_json(to_gha(report), "");
    REQUIRE(elements(gha).size() == 2);
    const Value& first = elements(gha)[0];
    CHECK(text_of(member(first, "name")) == "bench-copy verdict");
    CHECK(number_of(member(first, "value")) == passed);
    CHECK(text_of(member(first, "extra")).find("t: expected 2, got 1") != std::string::npos);
    const Value bmf = parse_json(to_bmf(report), "");
    CHECK(number_of(member(member(member(bmf, "bench-copy verdict"), "passed"), "value")) ==
          passed);
    const Value gbench = parse_json(to_gbench(report), "");
    CHECK(number_of(member(member(gbench, "context"), "hiptool_exit_code")) == code);
    CHECK(std::get<bool>(member(member(gbench, "context"), "hiptool_passed").data()) ==
          (code == 0));
  }
}

TEST_CASE("nothing measured leaves the verdict") {
  CHECK(elements(parse_json(to_gha({}), "")).size() == 1);
  CHECK(std::get<Object>(parse_json(to_bmf({}), "").data()).size() == 1);
  CHECK(elements(member(parse_json(to_gbench({}), ""), "benchmarks")).empty());
}
