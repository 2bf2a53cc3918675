// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "report/report.hpp"
#include "sample.hpp"

using namespace hiptool::report;

TEST_CASE("verdict, tables with aligned numbers, notes") {
  CHECK(to_markdown(sample_report()) ==
        "**2 devices on nvidia and cpu**\n"
        "\n"
        "**amd: /dev/kfd is missing although amdgpu is loaded**\n"
        "\n"
        "### Devices\n"
        "\n"
        "| ID | Name | Memory | Peak | Warp |\n"
        "| --- | --- | ---: | ---: | ---: |\n"
        "| nvidia:0 | NVIDIA H200 | 140 GiB | 4.81 TB/s | 32 |\n"
        "| cpu:0 | AMD EPYC 9554 64-Core Processor | 1.00 GiB | – | 1 |\n"
        "\n"
        "- memory_free is not shown: it needs a context\n");
  CHECK_FALSE(has_trailing_blank(to_markdown(sample_report())));
}

TEST_CASE("an empty report and an empty table") {
  CHECK(to_markdown(Report{}) == "**FAILED: no exit code**\n");
  Report report = passed_report();
  report.tables = {{"Mismatches", {{"a", "A", Unit::none}}, {}}, {"", {}, {}}};
  CHECK(to_markdown(report) == "### Mismatches\n\n(none)\n");
}

TEST_CASE("a hostile name stays in its cell and is shown as it is written") {
  const std::string text = to_markdown(hostile_report());
  const std::string name =
      "\\\\x1B\\[2J\\|a\"b\",\\\\x0D\\\\x0Averified\\\\x09\\\\x7F\\\\xFF\\\\xC2\\\\x9B"
      "\\\\xE2\\\\x80\\\\xAE\\`\\*\\<b\\>";
  CHECK(text == "**wrong: tensor " + name + "**\n\n### " + name + "\n\n| Name |\n| --- |\n| " +
                    name + " |\n\n- " + name + "\n");
  CHECK(is_safe(text));
}

TEST_CASE("underscores are escaped only where they mean emphasis") {
  Report report = passed_report();
  report.notes = {{Tone::plain, "token_embd and _this_"}};
  CHECK(to_markdown(report) == "- token_embd and \\_this\\_\n");
}

TEST_CASE("a run that did not pass starts with a word that says so") {
  Report report;
  report.run.end(1, {{"h2d>=48GB/s", 48e9, 41e9}});
  report.verdict = {{Tone::good, "6 copies"}, {Tone::bad, "h2d: 41 GB/s"}};
  CHECK(to_markdown(report) == "**FAILED: 6 copies**\n\n**h2d: 41 GB/s**\n");
}
