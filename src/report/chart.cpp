// SPDX-License-Identifier: MIT
#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "report/markup.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

constexpr std::size_t most_series = 8;
constexpr std::size_t most_bars = 30;
constexpr double width = 760;
constexpr double right = 24;
constexpr double title_height = 34;
constexpr double plot_height = 300;
// Pixels of a letter on average, in the widest of the usual sans-serif fonts (DejaVu Sans).
constexpr double letter_width = 7.8;         // at 12 pixels
constexpr double title_letter_width = 11.2;  // bold, at 15 pixels
constexpr double line_height = 20;

std::string line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return element("line", {at("x1", x1), at("y1", y1), at("x2", x2), at("y2", y2),
                          attribute("class", classes)});
}

double width_of(std::string_view text, double letter = letter_width) {
  return letter * static_cast<double>(display_width(printable(text)));
}

double title_width(std::string_view title) { return 32 + width_of(title, title_letter_width); }

// A round step (1, 2 or 5 times a power of ten) of which about five reach the value.
double round_step(double largest) {
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// Shapes too, so that series differ without colour.
std::string marker(std::size_t series, double x, double y, const std::string& tip) {
  const std::string classes = attribute("class", "s" + std::to_string(series) + " mark");
  const std::string title = element("title", {}, markup_text(tip));
  switch (series % 4) {
    case 0: return element("circle", {at("cx", x), at("cy", y), at("r", 4), classes}, title);
    case 1:
      return element("rect",
                     {at("x", x - 3.5), at("y", y - 3.5), at("width", 7), at("height", 7), classes},
                     title);
    default: break;
  }
  const std::string outline = series % 4 == 2 ? "l5 9h-10z" : "l5 5l-5 5l-5 -5z";
  const std::string path = "M" + coordinate(x) + " " + coordinate(y - 5) + outline;
  return element("path", {attribute("d", path), classes}, title);
}

class SizePlot {
 public:
  explicit SizePlot(const Chart& chart) : chart_(chart) {
    double largest = 0;
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& point : series.points) {
        largest = std::max(largest, point.per_s);
        const double place = place_of(point);
        first_ = std::min(first_, place);
        last_ = std::max(last_, place);
      }
    }
    first_ = chart.is_over_time ? 0 : std::floor(first_);
    last_ = chart.is_over_time ? std::max(last_, 1e-3) : std::max(std::ceil(last_), first_ + 1);
    if (!(largest > 0) || !std::isfinite(largest)) return;
    step_ = round_step(largest);
    top_ = step_ * std::ceil(largest / step_);
  }

  Drawing take() {
    elements_ = label(16, 20, "title", chart_.title);
    add_rates();
    if (chart_.is_over_time) {
      add_times();
    } else {
      add_sizes();
    }
    for (std::size_t i = 0; i < chart_.series.size(); ++i) add_series(i);
    const double height = bottom() + 54 + line_height * static_cast<double>(chart_.series.size());
    double widest = std::max(width, title_width(chart_.title));
    for (const ChartSeries& series : chart_.series) {
      widest = std::max(widest, left + 20 + width_of(series.name) + right);
    }
    return {std::move(elements_), widest, height};
  }

 private:
  static constexpr double left = 116;

  double place_of(const ChartPoint& point) const {
    return chart_.is_over_time ? point.at_s : std::log2(static_cast<double>(point.size_bytes));
  }
  static double bottom() { return title_height + plot_height; }
  double x_of(double place) const {
    return left + (place - first_) / (last_ - first_) * (width - left - right);
  }
  double y_of(double rate) const { return bottom() - rate / top_ * plot_height; }

  void add_rates() {
    const auto steps = std::lround(top_ / step_);
    for (long i = 0; i <= steps; ++i) {
      const double rate = step_ * static_cast<double>(i);
      elements_ += line(left, y_of(rate), width - right, y_of(rate), i == 0 ? "axis" : "grid");
      elements_ +=
          label(left - 8, y_of(rate) + 4, "end", i == 0 ? "0" : format_value(rate, chart_.unit));
    }
  }

  void add_sizes() {
    const auto powers = static_cast<int>(last_ - first_);
    const int step = std::max(1, (powers + 8) / 9);
    for (int power = 0; power <= powers; power += step) {
      const double place = first_ + power;
      const double x = x_of(place);
      elements_ += line(x, title_height, x, bottom(), "grid");
      elements_ += label(x, bottom() + 18, "middle",
                         short_size(static_cast<std::uint64_t>(std::exp2(std::min(place, 63.0)))));
    }
    elements_ += label((left + width - right) / 2, bottom() + 36, "middle faint", "size");
  }

  void add_times() {
    const double step = round_step(last_);
    for (double at_s = 0; at_s <= last_; at_s += step) {
      const double x = x_of(at_s);
      elements_ += line(x, title_height, x, bottom(), "grid");
      elements_ +=
          label(x, bottom() + 18, "middle", at_s == 0 ? "0" : format_value(at_s, Unit::duration));
    }
    elements_ += label((left + width - right) / 2, bottom() + 36, "middle faint", "time");
  }

  void add_series(std::size_t index) {
    const ChartSeries& series = chart_.series[index];
    std::string marks;
    std::string path;
    for (const ChartPoint& point : series.points) {
      const double x = x_of(place_of(point));
      const double y = y_of(point.per_s);
      path += (path.empty() ? "M" : "L") + coordinate(x) + " " + coordinate(y);
      if (chart_.is_over_time) continue;  // too many for marks
      marks += marker(index, x, y,
                      series.name + ", " + short_size(point.size_bytes) + ": " +
                          format_value(point.per_s, chart_.unit));
    }
    const std::string color = "s" + std::to_string(index);
    elements_ += element("path", {attribute("d", path), attribute("class", color + " curve")});
    elements_ += marks;
    const double y = bottom() + 58 + line_height * static_cast<double>(index);
    elements_ += marker(index, left + 8, y - 4, series.name);
    elements_ += label(left + 20, y, "", series.name);
  }

  const Chart& chart_;
  double step_ = 1;  // of the axis of rates
  double top_ = 5;
  double first_ = 62;
  double last_ = 0;
  std::string elements_;
};

Drawing draw_bars(const Chart& chart) {
  constexpr double most_left = 456;
  constexpr double rate_width = 116;  // its rate follows a bar
  double largest = 0;
  double longest = 0;
  for (const ChartBar& bar : chart.bars) {
    largest = std::max({largest, bar.per_s, bar.limit_per_s});
    longest = std::max(longest, width_of(bar.name));
  }
  // A drawing with longer names is wider, and a page shows it smaller.
  const double left = 24 + longest;
  const double total = std::max({width + std::max(left - most_left, 0.0), title_width(chart.title),
                                 left + 34 + width_of(chart.mark)});
  const double longest_bar = total - left - right - rate_width;
  const double unit = largest > 0 ? longest_bar / largest : 0;
  std::string elements = label(16, 20, "title", chart.title);
  double y = title_height + 4;
  for (const ChartBar& bar : chart.bars) {
    const double length = bar.failed.empty() ? std::max(bar.per_s * unit, 0.0) : 0;
    elements += label(left - 8, y + 15, "end", bar.name);
    if (!bar.failed.empty()) {
      elements += label(left + 8, y + 15, "bad", bar.failed);
      y += 26;
      continue;
    }
    elements += element("rect", {at("x", left), at("y", y + 3), at("width", length),
                                 at("height", 16), attribute("class", "s0 bar")});
    double end = left + length;
    if (bar.limit_per_s > 0) {
      const double limit = left + bar.limit_per_s * unit;
      elements += line(limit, y, limit, y + 22, "limit");
      end = std::max(end, limit);
    }
    elements += label(end + 8, y + 15, "", format_value(bar.per_s, chart.unit));
    y += 26;
  }
  const bool has_limit = std::any_of(chart.bars.begin(), chart.bars.end(),
                                     [](const ChartBar& bar) { return bar.limit_per_s > 0; });
  elements += line(left, title_height, left, y, "axis");
  if (has_limit) {
    elements += line(left + 4, y + 8, left + 4, y + 24, "limit");
    elements += label(left + 14, y + 20, "faint", chart.mark);
    y += 30;
  }
  return {std::move(elements), total, y + 10};
}

// "nvidia:0-7" of a list of devices.
std::string end_text(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) names.push_back(std::move(name));
  return base::ranges_of(std::move(names));
}

std::string direction(const Measurement& measured) {
  if (measured.source.empty()) return end_text(measured.destination);
  return end_text(measured.source) + " to " + end_text(measured.destination);
}

// Many times as fast as a link, whose curve would vanish on the same axis: copies within a device,
// kernels, operations and libraries.
bool is_local(const Measurement& measured) {
  if (measured.source.empty()) return !measured.kind.starts_with("load");
  return measured.source == measured.destination && !platform_of(measured.source).empty();
}

double rate_of(const Measurement& measured) {
  return measured.bytes_per_s.value_or(measured.flops_per_s.value_or(-1));
}

// Documents come from outside; an axis for rates beyond these would overflow.
bool is_drawable(double rate) {
  constexpr double least = 1e-290;
  constexpr double most = 1e290;
  return rate == 0 || (rate > least && rate < most);
}

// What shares an axis.
struct Group {
  const char* curves_title;
  const char* bars_title;
  Unit unit;
  std::vector<ChartSeries> series = {};
  std::vector<ChartBar> bars = {};
};

template <class Item>
std::vector<std::vector<Item>> split(const std::vector<Item>& items, std::size_t most) {
  std::vector<std::vector<Item>> parts;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i % most == 0) parts.emplace_back();
    parts.back().push_back(items[i]);
  }
  return parts;
}

void add_to(Group& group, const std::string& name, const std::vector<const Measurement*>& members) {
  std::map<std::uint64_t, double> points;
  for (const Measurement* one : members) {
    if (one->size_bytes > 0) points[one->size_bytes] = rate_of(*one);
  }
  if (points.size() > 1) {
    group.series.push_back({name, {}});
    for (const auto& [size, rate] : points) group.series.back().points.push_back({size, rate, 0});
    return;
  }
  for (const Measurement* one : members) {
    const double share = one->share_of_limit.value_or(0);
    const double limit = share > 0 ? rate_of(*one) / share : 0;
    group.bars.push_back(
        {one->label + ", " + direction(*one), rate_of(*one), is_drawable(limit) ? limit : 0, {}});
  }
}

/// The curves of those that have a rate of each second, by label.
std::vector<Chart> charts_over_time(const std::vector<Measurement>& measurements) {
  std::vector<Chart> charts;
  for (const Measurement& measured : measurements) {
    ChartSeries series{end_text(measured.destination), {}};
    for (const Value& point : elements(member(measured.details, "rates"))) {
      const std::optional<double> at_s = number_of(member(point, "at_s"));
      const std::optional<double> per_s = number_of(member(point, "per_s"));
      if (at_s && per_s && is_drawable(*per_s)) series.points.push_back({0, *per_s, *at_s});
    }
    if (series.points.size() < 2) continue;
    const std::string title = measured.label + " over time";
    const auto found = std::find_if(charts.begin(), charts.end(), [&](const Chart& one) {
      return one.title == title && one.series.size() < most_series;
    });
    if (found != charts.end()) {
      found->series.push_back(std::move(series));
      continue;
    }
    Chart chart{title, measured.bytes_per_s ? Unit::rate : Unit::operations, {}, {}};
    chart.is_over_time = true;
    chart.series.push_back(std::move(series));
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace

std::vector<Chart> charts_of(const std::vector<Measurement>& measurements) {
  std::vector<std::pair<std::string, std::vector<const Measurement*>>> groups;
  std::map<std::string, std::size_t> places;
  std::set<std::string> in_matrix;
  for (const Matrix& matrix : matrices_of(measurements)) in_matrix.insert(matrix.label);
  std::vector<const Measurement*> failed;
  for (const Measurement& one : measurements) {
    if (one.is_pair() && in_matrix.count(one.label) > 0) continue;
    if (one.has_failed()) failed.push_back(&one);
    if (one.status != Status::ok || !is_drawable(rate_of(one))) continue;
    const std::string name = one.series + ", " + direction(one);
    const auto [place, is_new] = places.emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    groups[place->second].second.push_back(&one);
  }
  Group rates{"Rate over size", "Rates", Unit::rate};
  Group local{"Rate over size, within a device", "Rates within a device", Unit::rate};
  Group operations{"Operations over size", "Operations", Unit::operations};
  for (const auto& [name, members] : groups) {
    const Measurement& first = *members.front();
    add_to(!first.bytes_per_s ? operations : is_local(first) ? local : rates, name, members);
  }
  for (const Measurement* one : failed) {
    const std::string end = direction(*one);
    (is_local(*one) ? local : rates)
        .bars.push_back({one->label + (end.empty() ? "" : ", " + end), 0, 0,
                         one->status == Status::mismatch ? "WRONG DATA" : "FAILED"});
  }
  std::vector<Chart> charts = charts_over_time(measurements);
  const std::array<const Group*, 3> all_groups{&rates, &local, &operations};
  for (const Group* group : all_groups) {
    for (auto& part : split(group->series, most_series)) {
      charts.push_back({group->curves_title, group->unit, std::move(part), {}});
    }
  }
  for (const Group* group : all_groups) {
    for (auto& part : split(group->bars, most_bars)) {
      charts.push_back({group->bars_title, group->unit, {}, std::move(part)});
    }
  }
  return charts;
}

std::vector<Chart> charts_of_runs(const Report& report) {
  Chart rates{"New rates", Unit::rate, {}, {}, "old"};
  Chart medians{"Median rates", Unit::rate, {}, {}, "least"};
  Chart operations{"Median operations", Unit::operations, {}, {}, "least"};
  const auto add = [](Chart& chart, const std::string& name, double per_s, double mark) {
    if (per_s <= 0 || !is_drawable(per_s) || chart.bars.size() == most_bars) return;
    chart.bars.push_back({name, per_s, is_drawable(mark) ? mark : 0, {}});
  };
  for (const Comparison& one : report.comparisons) {
    add(rates, one.id, one.after.bytes_per_s.value_or(0), one.before.bytes_per_s.value_or(0));
  }
  const auto number = [](const Value& object, const char* key) {
    return number_of(member(object, key)).value_or(0);
  };
  for (const Value& group : elements(member(report.document, "groups"))) {
    const std::string unit = text_of(member(group, "unit"));
    if (unit != "bytes_per_s" && unit != "flops_per_s") continue;
    add(unit == "bytes_per_s" ? medians : operations, text_of(member(group, "label")),
        number(group, "median"), number(group, "min"));
  }
  std::vector<Chart> charts;
  for (Chart* chart : {&rates, &medians, &operations}) {
    if (!chart->bars.empty()) charts.push_back(std::move(*chart));
  }
  return charts;
}

Drawing draw(const Chart& chart) {
  return chart.series.empty() ? draw_bars(chart) : SizePlot(chart).take();
}

Drawing draw(const Matrix& matrix) {
  constexpr double cell_width = 72;
  constexpr double cell_height = 26;
  constexpr double top = 60;
  const Table table = table_of(matrix);
  double longest = width_of(table.columns.front().title);
  for (const auto& row : table.rows) {
    longest = std::max(longest, width_of(format_value(row.front(), Unit::none)));
  }
  const double margin = 32 + longest;
  std::string elements = label(16, 20, "title", matrix.title);
  elements += label(margin - 10, top - 8, "end faint", table.columns.front().title);
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    const double x = margin + cell_width * (static_cast<double>(column) - 0.5);
    elements += label(x, top - 8, "middle", table.columns[column].title);
  }
  double y = top;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    elements += label(margin - 10, y + 17, "end", format_value(table.rows[row][0], Unit::none));
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      const double x = margin + cell_width * static_cast<double>(column - 1);
      const auto& rate = matrix.bytes_per_s[row][column - 1];
      const double share = rate ? 0.6 * strength(matrix, *rate) : 0;
      elements += element("rect", {at("x", x + 1), at("y", y + 1), at("width", cell_width - 2),
                                   at("height", cell_height - 2), attribute("class", "heat"),
                                   at("fill-opacity", share)});
      const bool has_failed = matrix.has_failed(row, column - 1);
      elements += label(x + cell_width / 2, y + 17, has_failed ? "middle bad" : "middle",
                        format_value(table.rows[row][column], table.columns[column].unit));
    }
    y += cell_height;
  }
  const auto columns = static_cast<double>(matrix.destinations.size());
  const double total = std::max(margin + cell_width * columns + 16, title_width(matrix.title));
  return {std::move(elements), total, y + 24};
}

// The palette of Okabe and Ito (2008), which colour-blind readers can distinguish; without its
// yellow.
std::string_view chart_style() noexcept {
  return R"(.chart text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#222}
.chart .title{font-size:15px;font-weight:600}
.chart .failed{font-size:15px;font-weight:600}
.chart .failed,.chart .bad{font-weight:600;fill:#a83f00}
.chart .end{text-anchor:end}
.chart .middle{text-anchor:middle}
.chart .faint{fill:#666}
.chart .back{fill:#fff}
.chart .grid{stroke:#ddd}
.chart .axis{stroke:#666}
.chart .limit{stroke:#d55e00;stroke-width:2}
.chart .curve{fill:none;stroke-width:2}
.chart .s0{stroke:#0072b2}.chart .s1{stroke:#e69f00}.chart .s2{stroke:#009e73}
.chart .s3{stroke:#cc79a7}.chart .s4{stroke:#56b4e9}.chart .s5{stroke:#d55e00}
.chart .s6{stroke:#888}.chart .s7{stroke:#7b5ea7}
.chart .heat{fill:#0072b2}
.chart .s0.mark,.chart .bar{fill:#0072b2}.chart .s1.mark{fill:#e69f00}
.chart .s2.mark{fill:#009e73}.chart .s3.mark{fill:#cc79a7}.chart .s4.mark{fill:#56b4e9}
.chart .s5.mark{fill:#d55e00}.chart .s6.mark{fill:#888}.chart .s7.mark{fill:#7b5ea7}
@media screen and (prefers-color-scheme:dark){
.chart text{fill:#ddd}.chart .faint{fill:#aaa}.chart .back{fill:#16181c}
.chart .failed,.chart .bad{fill:#ff9a5c}
.chart .grid{stroke:#3a3d44}.chart .axis{stroke:#999}}
)";
}

}  // namespace hiptool::report
