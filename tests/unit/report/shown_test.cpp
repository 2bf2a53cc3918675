// SPDX-License-Identifier: MIT
#include "report/shown.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

Value shown_of(const Report& report) {
  return member(parse_json(to_json(report), "sample"), "shown");
}

Report shown_sample() {
  Report report = sample_report();
  report.run.command = "devices";
  report.tables.front().heat = {{0, 0.5}, {1}};
  report.tables.front().columns.back().may_be_cut = true;
  report.tables.front().columns.front().may_be_left_out = true;
  report.tables.front().tones = {{Tone::plain, Tone::bad}, {Tone::good}};
  report.tables.push_back(report.tables.front());
  report.tables.back().is_detail = true;
  report.tables.push_back({"Empty", {{"a", "A", Unit::none}}, {}});
  return report;
}

}  // namespace

TEST_CASE("a document shows what its command did, in every format for people") {
  const Report report = shown_sample();
  Report read;
  read.run = report.run;
  read.tables = {{"other", {}, {}}};
  REQUIRE(read_shown(shown_of(report), read));
  CHECK(to_table(read, {}) == to_table(report, {}));
  CHECK(to_table(read, {80, true, true, 24}) == to_table(report, {80, true, true, 24}));
  CHECK(to_table(read, {60, true, false}) == to_table(report, {60, true, false}));
  CHECK(to_table(read, {200, true, false}) == to_table(report, {200, true, false}));
  CHECK(to_markdown(read) == to_markdown(report));
  CHECK(to_html(read) == to_html(report));
}

TEST_CASE("the verdict of the run decides about the lines") {
  Report report = shown_sample();
  report.run.end(1, {{"a", 1, 2}});
  CHECK(text_of(member(elements(member(shown_of(report), "lines"))[0], "text")) ==
        "FAILED: 2 devices on nvidia and cpu");
  Report read;
  read.run.end(0);
  REQUIRE(read_shown(shown_of(report), read));
  CHECK(read.verdict[0].tone == Tone::warning);  // never bad in a run that passed
  read.run.end(1);
  REQUIRE(read_shown(shown_of(shown_sample()), read));
  CHECK(read.verdict[0].text == "FAILED: 2 devices on nvidia and cpu");
}

TEST_CASE("texts that are no UTF-8 are shown the same too") {
  Report report = hostile_report();
  report.run.command = "load";
  Report read;
  read.run = report.run;
  REQUIRE(read_shown(shown_of(report), read));
  CHECK(to_table(read, {}) == to_table(report, {}));
}

TEST_CASE("another form is not taken, and the report stays") {
  Report report = shown_sample();
  for (const char* text :
       {"null", "{}", "[]", R"({"lines":[],"notes":[]})", R"({"lines":[],"notes":[],"tables":{}})",
        R"({"lines":[{"tone":"green","text":"a"}],"notes":[],"tables":[]})",
        R"({"lines":[],"notes":[],"tables":[{"columns":[{"unit":"m"}]}]})"}) {
    CAPTURE(text);
    CHECK_FALSE(read_shown(parse_json(text, "sample"), report));
    CHECK(report.tables.size() == 3);
    CHECK(report.verdict.size() == 2);
  }
}

TEST_CASE("what is read back, and what is no run, is written without more") {
  Report report = report_with(bench_copy(copy_cell("a@amd:0", "host", "amd:0", 1, 1)));
  CHECK(member(parse_json(to_json(report), ""), "shown").is_absent());
  report = {};
  report.document = {{"schema", "hiptool.expect/1"}};
  CHECK(member(parse_json(to_json(report), ""), "shown").is_absent());
}
