// SPDX-License-Identifier: MIT
#include "report/document.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"

using namespace hiptool;
using namespace hiptool::report;

namespace {

Measurement measured() {
  Measurement one;
  one.id = "p2p-write.copy.64KiB@amd:0>amd:1";
  one.kind = "p2p-write";
  one.stage = "copy";
  one.source = "amd:0";
  one.destination = "amd:1";
  one.size_bytes = 65536;
  one.set_names();
  one.dtype = "f16";
  one.shape = "4x4";
  one.layout = "packed";
  one.library = "rocblas";
  one.status = Status::mismatch;
  one.reason = "differs";
  one.samples_s = {3, 1, 2};
  one.median_s = 2;
  one.bytes_per_s = 5;
  one.low_bytes_per_s = 4;
  one.high_bytes_per_s = 6;
  one.flops_per_s = 7;
  one.limit_bytes_per_s = 10;
  one.limit_source = "xgmi-link";
  one.share_of_limit = 0.5;
  one.share_reason = "none";
  one.details = {{"engine", "copy"}, {"copies", Array{1, 2}}};
  return one;
}

std::vector<std::string> keys_of(const Object& fields) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : fields) keys.push_back(key);
  return keys;
}

}  // namespace

TEST_CASE("a measurement is read as it was written") {
  const Measurement before = measured();
  const Measurement after =
      read_measurement(parse_json(json_text(measurement_value(before)), "sample"));
  CHECK(keys_of(measurement_value(after)) == keys_of(measurement_value(before)));
  Measurement without = before;
  without.details.clear();
  CHECK(json_text(measurement_value(after)) == json_text(measurement_value(without)));
}

TEST_CASE("every key is there, whatever is measured") {
  CHECK(keys_of(measurement_value({})) == keys_of(measurement_value(measured())));
  for (const auto& field : measurement_value({})) {
    const std::string& key = field.first;
    const bool has_value = key == "id" || key == "label" || key == "series" || key == "kind" ||
                           key == "devices" || key == "status" || key == "samples_s" ||
                           key == "details";
    CAPTURE(key);
    CHECK(field.second.is_absent() != has_value);
  }
}

TEST_CASE("what is wrong: a copy has no numbers and no second look") {
  WrongData copy;
  copy.first_index = 3;
  copy.count = 2;
  copy.xor_bits = 1;
  const Value of_copy = wrong_value(copy);
  CHECK(member(of_copy, "expected").is_absent());
  CHECK(member(of_copy, "reread_agrees").is_absent());
  copy.expected = 1.5;
  CHECK_FALSE(member(wrong_value(copy), "reread_agrees").is_absent());
  CHECK(wrong_value({}).is_absent());
}

TEST_CASE("failures, thresholds and comparisons are read as they were written") {
  const auto again = [](const Object& fields) { return parse_json(json_text(fields), "sample"); };
  Failure failure{"copy amd:1", 2.5, "1", FailureKind::stage};
  failure.subject = {"node1", "amd:1", "copy", "h2d@amd:1", "blk", "m.gguf"};
  failure.reason = "slow";
  failure.action = "reseat it";
  const Object written = failure_value(failure);
  CHECK(json_text(failure_value(read_failure(again(written)))) == json_text(written));
  ThresholdResult threshold;
  threshold.threshold = "h2d>=1GB/s";
  threshold.id = "h2d@amd:1";
  threshold.missed = {"h2d 1 < 2"};
  threshold.least_bytes_per_s = 1e9;
  threshold.measured_bytes_per_s = 5e8;
  CHECK(json_text(threshold_value(read_threshold(again(threshold_value(threshold))))) ==
        json_text(threshold_value(threshold)));
  Comparison compared;
  compared.id = "h2d@amd:1";
  compared.times.verdict = base::Verdict::slower;
  compared.times.change = 0.5;
  compared.rate_change = -0.25;
  const Comparison read = read_comparison(again(comparison_value(compared)));
  CHECK(read.times.verdict == base::Verdict::slower);
  CHECK(read.times.change == 0.5);
  CHECK(read.rate_change == -0.25);
}

TEST_CASE("kinds of failures have one word each") {
  for (int i = 0; i <= static_cast<int>(FailureKind::no_common); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    CHECK(parse_failure_kind(to_string(kind)) == kind);
  }
  CHECK(parse_failure_kind("x") == FailureKind::other);
}

TEST_CASE("a table of objects has a column for each scalar of any of them") {
  const Table table = table_of_objects(
      {Object{{"id", "a"}, {"list", Array{1}}, {"wrong", Object{{"count", 2}}}},
       Object{{"id", "b"}, {"wrong", nullptr}, {"details", Object{{"engine", "copy"}}}}});
  std::vector<std::string> keys;
  for (const Column& column : table.columns) keys.push_back(column.key);
  CHECK(keys == std::vector<std::string>{"id", "wrong_count", "wrong", "engine"});
  REQUIRE(table.rows.size() == 2);
  CHECK(text_of(table.rows[1][0]) == "b");
  CHECK(text_of(table.rows[1][3]) == "copy");
  CHECK(table.rows[0][3].is_absent());
  CHECK(table.rows[0].size() == 4);
}
