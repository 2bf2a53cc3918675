// SPDX-License-Identifier: MIT
#include "report/reader.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"
#include "hiptool/error.hpp"
#include "sample.hpp"

using namespace hiptool;
using namespace hiptool::report;

namespace {

// Everything that is written from documents of others.
void write_all(const Object& document) {
  const Report report = render_report(document);
  CHECK(is_safe(to_html(report)));
  CHECK(is_safe(to_svg(report)));
  CHECK(is_safe(to_junit(report)));
  CHECK(is_safe(to_prom(report)));
  CHECK(is_safe(to_table(report, {})));
  CHECK(is_safe(to_markdown(report)));
  CHECK(is_safe(to_csv(report)));
  CHECK(parse_json(to_gbench(report), "").is_absent() == false);
  CHECK(parse_json(to_gha(report), "").is_absent() == false);
  CHECK(parse_json(to_bmf(report), "").is_absent() == false);
}

// The document with one member, at any depth, replaced; false when there is no n-th one.
bool replace_nth(Value& value, std::size_t& countdown, const Value& with) {
  if (countdown == 0) {
    value = with;
    return true;
  }
  --countdown;
  if (const auto* object = std::get_if<Object>(&value.data())) {
    Object members = *object;
    for (auto& entry : members) {
      if (!replace_nth(entry.second, countdown, with)) continue;
      value = std::move(members);
      return true;
    }
  } else if (const auto* array = std::get_if<Array>(&value.data())) {
    Array list = *array;
    for (Value& entry : list) {
      if (!replace_nth(entry, countdown, with)) continue;
      value = std::move(list);
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("tables of lists and objects, with units by the ends of names") {
  const Report report = render_report(parsed(
      R"({"schema":"hiptool.load/1","status":"verified","model":{"path":"/m","bytes":1073741824},
          "load_time_s":2.5,"bytes_per_s":5e9,"share_of_limit":0.5,
          "devices":[{"id":"cpu:0","copy_time_s":null,"samples_s":[1,2],"bytes":1024}]})"));
  CHECK(report.verdict[0].text == "load ended verified: 1 ok");
  CHECK(report.verdict[0].tone == Tone::good);
  const std::string text = to_table(report, {});
  for (const char* part : {"load time       2.50 s", "rate            5.00 GB/s",
                           "share of limit  50 %", "bytes  1.00 GiB", "cpu:0  1.00 KiB"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("samples") == std::string::npos);
  CHECK(text.find("copy time") == std::string::npos);  // no value at all
}

TEST_CASE("a share above 1 of an older document is not shown without a word") {
  for (const char* document :
       {R"({"schema":"hiptool.load/1","status":"verified","model":{"path":"/m","bytes":1},
            "share_of_limit":1.57})",
        R"({"schema":"hiptool.run-kernel/1","status":"ok","results":[{"id":"/m","kernel":"copy",
            "device":"amd:0","status":"ok","samples_s":[1],"median_s":1,
            "share_of_peak":1.57}]})"}) {
    CAPTURE(document);
    const Report report = render_report(parsed(document));
    REQUIRE(report.notes.size() == 1);
    CHECK(report.notes[0].text ==
          "share above 1: /m: the document has no reason for it; the limit may not be one");
  }
}

TEST_CASE("the verdict counts what did not work") {
  const Report bad =
      render_report(parsed(bench_copy(copy_cell("a", "host", "amd:0", 1, 1) + "," +
                                      copy_cell("b", "host", "amd:0", 1, 1, "mismatch"))));
  CHECK(bad.verdict[0].text == "FAILED: bench-copy ended ok: 1 mismatch, 1 ok");
  CHECK(bad.verdict[0].tone == Tone::bad);
  const Report failed = render_report(
      parsed(R"({"schema":"hiptool.load/1","status":"failed","error":{"message":"m"}})"));
  CHECK(failed.verdict.size() == 2);
  CHECK(failed.verdict[1].text == "m");
  const Report missed = render_report(parsed(
      R"({"schema":"hiptool.bench-copy/1","status":"failed","exit_code":1,"passed":false,
          "failures":[{"what":"h2d>=2GB/s","expected":2e9,"got":1e9}]})"));
  CHECK(missed.verdict[0].text == "FAILED: bench-copy ended failed");
  CHECK(missed.verdict[1].text.find("h2d>=2GB/s: expected 2") == 0);
}

TEST_CASE("a document in which any value is another can still be written") {
  const std::string more = R"("context":{"devices":[{"id":"amd:0","name":"X"}]},
      "thresholds":[{"threshold":"t","cell":"c","is_met":true}],
      "baseline":[{"id":"a","verdict":"SAME","change":0.1}],
      "checks":[{"id":"a","severity":"pass","read":"r"}],
      "devices":[{"id":"amd:0","clock_hz":1,"pcie":{"width":16}}],)";
  const Value whole = parsed(bench_copy(copy_cell("p@amd:0>amd:1", "amd:0", "amd:1", 4096, 5) +
                                            "," + copy_cell("q@amd:0", "host", "amd:0", 1, 5),
                                        more));
  const std::vector<Value> odd{nullptr,
                               hostile_name,
                               -1,
                               1e300,
                               true,
                               0,
                               UINT64_MAX,
                               Array{},
                               Object{},
                               Array{Array{1}, "x"},
                               Array{Object{}},
                               Object{{"id", Object{}}}};
  std::size_t written = 0;
  for (const Value& with : odd) {
    for (std::size_t place = 1;; ++place) {
      Value changed = whole;
      std::size_t countdown = place;
      if (!replace_nth(changed, countdown, with)) break;
      try {
        write_all(std::get<Object>(changed.data()));
        ++written;
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::corrupt_data);  // two results of the same id
      }
    }
  }
  CHECK(written > 700);
}
