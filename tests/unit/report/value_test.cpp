// SPDX-License-Identifier: MIT
#include "report/report.hpp"

#include <doctest/doctest.h>

using namespace hiptool::report;

TEST_CASE("number columns: a unit, or nothing but numbers") {
  const Table table{"",
                    {{"a", "A", Unit::none},
                     {"b", "B", Unit::none},
                     {"c", "C", Unit::size},
                     {"d", "D", Unit::none}},
                    {{1, "x", nullptr}, {2.5, 1}}};
  CHECK(table.is_number_column(0));
  CHECK_FALSE(table.is_number_column(1));
  CHECK(table.is_number_column(2));
  CHECK_FALSE(table.is_number_column(3));
  CHECK(table.at(1, 3).is_absent());
}

TEST_CASE("a value as JSON on one line") {
  CHECK(json_text(Object{{"a", Array{1, nullptr, "x"}}}) == "{\"a\":[1,null,\"x\"]}");
}
