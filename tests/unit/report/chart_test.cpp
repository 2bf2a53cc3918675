// SPDX-License-Identifier: MIT
#include "report/chart.hpp"

#include <doctest/doctest.h>

#include <regex>

#include "documents.hpp"
#include "sample.hpp"

using namespace hiptool::report;

namespace {

std::string series(const std::string& device, std::initializer_list<double> rates) {
  std::string cells;
  std::uint64_t size = 4096;
  for (const double rate : rates) {
    const std::string id = "h2d." + std::to_string(size / 1024) + "KiB@" + device;
    cells += (cells.empty() ? "" : ",") + copy_cell(id, "host", device, size, rate);
    size *= 2;
  }
  return cells;
}

std::vector<Chart> charts(const std::string& cells) {
  return charts_of(measurements(parsed(bench_copy(cells))));
}

// Every coordinate is a plain number within the drawing's reach.
bool is_drawable(const Drawing& drawing) {
  static const std::regex bad(
      R"re( (x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*[^0-9."][^"]*|[0-9]{5}[^"]*)")re");
  return !std::regex_search(drawing.elements, bad) && drawing.width > 0 && drawing.height > 0;
}

}  // namespace

TEST_CASE("two sizes make a curve, one a bar") {
  const auto list = charts(series("amd:0", {1e9, 3e9}) + "," +
                           copy_cell("d2h.1MiB@amd:0", "amd:0", "host", 1 << 20, 5e9) + "," +
                           copy_cell("d2d.1MiB@amd:0", "amd:0", "amd:0", 1 << 20, 9e11));
  REQUIRE(list.size() == 3);
  CHECK(list[0].series.size() == 1);
  CHECK(list[0].series[0].name == "h2d, host to amd:0");
  REQUIRE(list[0].series[0].points.size() == 2);
  CHECK(list[0].series[0].points[1].size_bytes == 8192);
  CHECK(list[0].series[0].points[1].per_s == 3e9);
  REQUIRE(list[1].bars.size() == 1);
  CHECK(list[1].bars[0].name == "d2h.1MiB, amd:0 to host");
  // What stays in a device is too fast for the scale of a link.
  CHECK(list[2].title == "Rates within a device");
}

TEST_CASE("curves of copies within a device have a chart and a scale of their own") {
  std::string cells = series("amd:0", {1e9, 3e9});
  for (const std::uint64_t size : {std::uint64_t{4096}, std::uint64_t{8192}}) {
    cells += "," + copy_cell("d2d." + std::to_string(size / 1024) + "KiB@amd:0", "amd:0", "amd:0",
                             size, 2e12);
  }
  const auto list = charts(cells);
  REQUIRE(list.size() == 2);
  CHECK(list[0].series.size() == 1);
  CHECK(list[1].title == "Rate over size, within a device");
  CHECK(list[1].series.size() == 1);
}

TEST_CASE("what failed is drawn as such, with its name and without a length") {
  const auto list = charts(copy_cell("a@amd:0", "host", "amd:0", 1, 1e9, "mismatch") + "," +
                           copy_cell("b@amd:0", "host", "amd:0", 1, 1e9, "failed") + "," +
                           copy_cell("c@amd:0", "host", "amd:0", 1, 1e9, "skipped") + "," +
                           copy_cell("d@amd:0", "host", "amd:0", 1, 2e9));
  REQUIRE(list.size() == 1);
  REQUIRE(list[0].bars.size() == 3);
  CHECK(list[0].bars[0].name == "d, host to amd:0");
  CHECK(list[0].bars[1].failed == "WRONG DATA");
  CHECK(list[0].bars[2].failed == "FAILED");
  const std::string text = draw(list[0]).elements;
  CHECK(count_of(text, "class=\"bad\"") == 2);
  CHECK(count_of(text, "class=\"s0 bar\"") == 1);
  CHECK(charts_of({}).empty());
}

TEST_CASE("copies among many devices name them by ranges, on the scale of links") {
  const std::string all = "amd:0,amd:1,amd:2,amd:3";
  const auto list = charts(copy_cell("all-to-all@" + all, all, all, 1, 9e11) + "," +
                           copy_cell("a@amd:0", "host", "amd:0", 1, 2e9));
  REQUIRE(list.size() == 1);
  CHECK(list[0].title == "Rates");
  CHECK(list[0].bars[0].name == "all-to-all, amd:0-3 to amd:0-3");
}

TEST_CASE("a chart is as wide as its longest name needs") {
  Chart chart;
  chart.bars = {{std::string(200, 'm'), 5e9, 0, {}}};
  CHECK(draw(chart).width > 200 * 7);
  chart.bars = {{"short", 5e9, 0, {}}};
  CHECK(draw(chart).width == 760);
}

TEST_CASE("too many series or bars are spread over charts") {
  std::string curves;
  std::string bars;
  for (int device = 0; device < 17; ++device) {
    const std::string id = "amd:" + std::to_string(device);
    curves += (device == 0 ? "" : ",") + series(id, {1e9, 2e9});
    bars += (device == 0 ? "" : ",") + copy_cell("x@" + id, "host", id, 1, 1e9) + "," +
            copy_cell("y@" + id, "host", id, 1, 1e9);
  }
  const auto list = charts(curves);
  REQUIRE(list.size() == 3);
  CHECK(list[1].series.size() == 8);
  CHECK(list[2].series.size() == 1);
  CHECK(charts(bars).size() == 2);
}

TEST_CASE("rates of any size can be drawn") {
  for (const double rate : {0.0, 5e-324, 1e-9, 1.0, 999.0, 5e10, 1e18, 1e289, 1.7e308}) {
    CAPTURE(rate);
    for (const Chart& chart : charts(series("amd:0", {rate, rate})))
      CHECK(is_drawable(draw(chart)));
    for (const Chart& chart : charts(series("amd:0", {rate}))) CHECK(is_drawable(draw(chart)));
  }
  Chart extreme;
  extreme.series = {{"x", {{1, 1e300}, {UINT64_MAX, 1e-300}}}};
  CHECK(is_drawable(draw(extreme)));
}

TEST_CASE("the axis ends at a round rate above the fastest") {
  const std::string text = draw(charts(series("amd:0", {1e9, 52e9})).front()).elements;
  for (const char* tick : {">0<", ">20.0 GB/s<", ">60.0 GB/s<", ">4 KiB<", ">8 KiB<"}) {
    CAPTURE(tick);
    CHECK(text.find(tick) != std::string::npos);
  }
  CHECK(text.find(">80.0 GB/s<") == std::string::npos);
}

TEST_CASE("limits are marked and hostile names stay text") {
  Chart chart;
  chart.title = hostile_name;
  chart.bars = {{hostile_name, 5, 10}, {"plain", 5, 0}};
  const std::string text = draw(chart).elements;
  CHECK(is_safe(text));
  CHECK(text.find("<b>") == std::string::npos);
  CHECK(count_of(text, "class=\"limit\"") == 2);  // the mark and its legend
  chart.series = {{hostile_name, {{1, 1}, {2, 2}}}};
  CHECK(draw(chart).elements.find("<b>") == std::string::npos);
}

TEST_CASE("operations have charts of their own, with their unit") {
  const auto kernel = [](const char* name, const char* rates, int size) {
    return std::string(R"({"kernel":")") + name +
           R"(","dtype":"f32","device":"cpu:0","elements":)" + std::to_string(size) +
           R"(,"size_bytes":)" + std::to_string(size) +
           R"(,"status":"ok","samples_s":[1],"median_s":1,)" + rates + "}";
  };
  const auto list = charts_of(measurements(parsed(
      R"({"schema":"hiptool.run-kernel/1","results":[)" +
      kernel("sum", R"("bytes_per_s":8e9,"flops_per_s":2e9)", 4) + "," +
      kernel("fma", R"("flops_per_s":6e13)", 4) + "," + kernel("gemm", R"("flops_per_s":1e13)", 4) +
      "," + kernel("gemm", R"("flops_per_s":2e13)", 8) + "]}")));
  REQUIRE(list.size() == 3);
  CHECK(list[0].title == "Operations over size");
  CHECK(draw(list[0]).elements.find("TFLOP/s") != std::string::npos);
  CHECK(list[1].title == "Rates within a device");  // not on the scale of links
  REQUIRE(list[1].bars.size() == 1);
  CHECK(list[1].bars[0].per_s == 8e9);
  CHECK(list[2].title == "Operations");
  REQUIRE(list[2].bars.size() == 1);
  CHECK(list[2].bars[0].per_s == 6e13);
}

TEST_CASE("cells are as strong as their share of the fastest") {
  Matrix matrix;
  matrix.title = "a <b>";
  matrix.sources = matrix.destinations = {"amd:0", "amd:1"};
  matrix.bytes_per_s = {{std::nullopt, 4e9}, {2e9, std::nullopt}};
  matrix.largest_bytes_per_s = 4e9;
  const Drawing drawing = draw(matrix);
  CHECK(count_of(drawing.elements, "class=\"heat\"") == 4);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0.6\"") == 1);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0.3\"") == 1);
  CHECK(count_of(drawing.elements, "fill-opacity=\"0\"") == 2);
  CHECK(drawing.elements.find("a &lt;b&gt;") != std::string::npos);
  CHECK(drawing.width > 2 * 64);
  CHECK(drawing.height > 2 * 26);
}

TEST_CASE("rates of each second are curves over time, a chart for each label") {
  const auto soaked = [](const std::string& label, const std::string& device, double per_s) {
    Measurement measured;
    measured.id = label + "@" + device;
    measured.kind = "soak";
    measured.destination = device;
    measured.set_names();
    measured.flops_per_s = per_s;
    Array rates;
    for (int second = 0; second < 600; ++second) {
      rates.emplace_back(Object{{"at_s", double(second)}, {"per_s", per_s * (600 - second) / 600}});
    }
    measured.details.emplace_back("rates", std::move(rates));
    return measured;
  };
  const auto list = charts_of({soaked("soak.products.f16", "nvidia:0", 5e14),
                               soaked("soak.memory", "nvidia:0", 1e12),
                               soaked("soak.products.f16", "nvidia:1", 4e14)});
  REQUIRE(list.size() == 3);  // the bars of the medians follow
  CHECK(list[0].title == "soak.products.f16 over time");
  CHECK(list[0].is_over_time);
  REQUIRE(list[0].series.size() == 2);
  CHECK(list[0].series[1].name == "nvidia:1");
  CHECK(list[0].series[1].points.size() == 600);
  CHECK(list[1].title == "soak.memory over time");
  const Drawing drawing = draw(list[0]);
  CHECK(is_drawable(drawing));
  CHECK(drawing.elements.find(">600 s<") == std::string::npos);  // the last is 599
  CHECK(drawing.elements.find(">500 s<") == std::string::npos);  // a step of 200
  CHECK(drawing.elements.find(">400 s<") != std::string::npos);
  CHECK(drawing.elements.find("middle faint\">time<") != std::string::npos);
}
