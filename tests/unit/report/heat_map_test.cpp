// SPDX-License-Identifier: MIT
#include "report/heat_map.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"

using namespace hiptool::report;

TEST_CASE("cells are as strong as their share of the fastest") {
  Matrix matrix;
  matrix.title = "a <b>";
  matrix.sources = matrix.destinations = {"amd:0", "amd:1"};
  matrix.bytes_per_s = {{std::nullopt, 4e9}, {2e9, std::nullopt}};
  matrix.largest_bytes_per_s = 4e9;
  const Drawing drawing = draw_heat_map(matrix);
  CHECK(count_of(drawing.elements, "class=\"heat\"") == 4);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0.6\"") == 1);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0.3\"") == 1);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0\"") == 2);
  CHECK(drawing.elements.find("a &lt;b&gt;") != std::string::npos);
  CHECK(drawing.width > 2 * 64);
  CHECK(drawing.height > 2 * 26);
}
