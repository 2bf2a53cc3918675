// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "report/report.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

std::string json_of(Object document) {
  Report report;
  report.document = std::move(document);
  return to_json(report);
}

}  // namespace

TEST_CASE("a document keeps the order of its fields and ends its last line") {
  CHECK(json_of({{"schema", "hiptool.devices/1"},
                 {"devices", Array{Object{{"id", "cpu:0"}, {"ecc", nullptr}, {"on", true}}}},
                 {"a", Array{}},
                 {"b", Object{}}}) ==
        "{\n"
        "  \"schema\": \"hiptool.devices/1\",\n"
        "  \"devices\": [\n"
        "    {\n"
        "      \"id\": \"cpu:0\",\n"
        "      \"ecc\": null,\n"
        "      \"on\": true\n"
        "    }\n"
        "  ],\n"
        "  \"a\": [],\n"
        "  \"b\": {}\n"
        "}\n");
  CHECK(json_of({}) == "{}\n");
}

TEST_CASE("numbers are exact, what is no number is null") {
  CHECK(json_of({{"u", std::numeric_limits<std::uint64_t>::max()},
                 {"i", std::numeric_limits<std::int64_t>::min()},
                 {"d", 0.1},
                 {"nan", std::nan("")},
                 {"inf", -std::numeric_limits<double>::infinity()}}) ==
        "{\n"
        "  \"u\": 18446744073709551615,\n"
        "  \"i\": -9223372036854775808,\n"
        "  \"d\": 0.1,\n"
        "  \"nan\": null,\n"
        "  \"inf\": null\n"
        "}\n");
}

TEST_CASE("texts that are no UTF-8 are mended, control characters escaped") {
  CHECK(json_of({{"n\xff", "a\xc0z\x1b\n\""}}) ==
        "{\n  \"n\xef\xbf\xbd\": \"a\xef\xbf\xbdz\\u001b\\n\\\"\"\n}\n");
  CHECK_NOTHROW(json_of({{"name", hostile_name}}));
}
