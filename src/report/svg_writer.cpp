// SPDX-License-Identifier: MIT
#include <algorithm>

#include "report/chart.hpp"
#include "report/markup.hpp"

namespace hiptool::report {

std::string to_svg(const Report& report) {
  constexpr double line_height = 48;
  double width = 760;
  double height = 0;
  std::string caption;
  if (!report.run.passed) {
    caption = label(16, 28, "failed", "FAILED: " + exit_text(report.run));
    height = line_height;
  }
  std::string body;
  std::vector<Drawing> drawings;
  for (const Chart& chart : charts_of(report.measurements)) drawings.push_back(draw(chart));
  for (const Matrix& matrix : matrices_of(report.measurements)) drawings.push_back(draw(matrix));
  for (const Drawing& drawing : drawings) {
    body +=
        "<g transform=\"translate(0 " + coordinate(height) + ")\">\n" + drawing.elements + "</g>\n";
    width = std::max(width, drawing.width);
    height += drawing.height;
  }
  if (body.empty()) {
    body = label(16, height + 28, "", "nothing was measured");
    height += line_height;
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"" +
         svg_size(width, height) + ">\n<style>\n" + std::string(chart_style()) + "</style>\n" +
         "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n" + caption + body + "</svg>\n";
}

}  // namespace hiptool::report
