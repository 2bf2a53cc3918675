// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/document.hpp"
#include "report/text.hpp"
#include "report/verdict.hpp"
#include "results/load/models.hpp"
#include "results/load/table.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Line;
using report::member;
using report::Object;
using report::Table;
using report::Tone;
using report::Unit;
using report::Value;

using ModelLoads = std::vector<ModelLoad>;

bool has_passed(const ModelLoad& load) { return load.report.run.passed; }

std::string status_of(const ModelLoad& load) { return load.report.run.status; }

// The document of one model, without the fields of the machine and the command.
Object model_document(const ModelLoad& load) {
  constexpr std::array<std::string_view, 7> of_all{
      "schema", "tool", "host", "started_at", "measured_on", "error", "measurements"};
  Object fields{{"path", load.path}};
  for (const auto& [name, value] : load.report.document) {
    if (std::find(of_all.begin(), of_all.end(), name) != of_all.end()) continue;
    fields.emplace_back(name, value);
    if (name == "status") fields.emplace_back("error", member(load.report.document, "error"));
  }
  return fields;
}

// ---- the first line

// "nvidia:0" or "8 devices": those that any of the models was on.
std::string place_text(const ModelLoads& loads) {
  constexpr std::size_t most_named = 4;
  std::vector<std::string> ids;
  for (const ModelLoad& load : loads) {
    for (const Value& device : report::elements(member(load.report.document, "devices"))) {
      base::add_once(ids, report::text_of(member(device, "id")));
    }
  }
  if (ids.size() > most_named) return fmt::format(" on {} devices", ids.size());
  return ids.empty() ? "" : " on " + base::ranges_of(std::move(ids));
}

std::string passed_text(const ModelLoads& loads, const std::string& status, double verdict_time_s) {
  std::uint64_t bytes = 0;
  std::size_t empty = 0;
  for (const ModelLoad& load : loads) {
    bytes += load.loaded.size_bytes;
    if (status_of(load) == "empty") ++empty;
  }
  const std::string place = place_text(loads);
  const std::size_t others = status == "empty" ? 0 : empty;
  std::string text = fmt::format("{} {}", status, base::count_of(loads.size() - others, "model"));
  if (status != "empty") text += ", " + format_size(bytes);
  if (status == "planned") {
    const auto uncertain = std::count_if(loads.begin(), loads.end(), [](const ModelLoad& load) {
      const Value& fit = member(load.report.document, "fit");
      return !fit.is_absent() && report::text_of(member(fit, "verdict")) == "may not fit";
    });
    const std::string fits = uncertain == 0 ? ", each of which fits"
                                            : fmt::format(", of which {} may not fit", uncertain);
    text += place.empty() ? ", no device was opened" : place + fits;
  } else {
    text += place + " in " + format_duration(verdict_time_s);
  }
  if (status == "loaded") text += ", not verified";
  return others == 0 ? text : text + fmt::format("; {} empty", others);
}

// The worst one with its reason, then the names of the others.
std::string failed_text(const ModelLoads& loads, const ModelLoad& worst, std::size_t failed) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> names;
  for (const ModelLoad& load : loads) {
    if (&load != &worst && load.was_started && !has_passed(load)) names.push_back(load.name);
  }
  std::string text = fmt::format("{} of {} failed: {}: {}", failed,
                                 base::count_of(loads.size(), "model"), worst.name, worst.reason);
  return names.empty() ? text : text + "; also " + base::first_of(names, most_named);
}

Line verdict_line(const ModelLoads& loads, const report::Run& run, double verdict_time_s) {
  const auto is_done = [](const ModelLoad& load) { return status_of(load) != "interrupted"; };
  const auto done = static_cast<std::size_t>(std::count_if(loads.begin(), loads.end(), is_done));
  const auto passed =
      static_cast<std::size_t>(std::count_if(loads.begin(), loads.end(), has_passed));
  if (run.passed) return {Tone::good, passed_text(loads, run.status, verdict_time_s)};
  if (run.status == "interrupted") {
    std::string text =
        fmt::format("interrupted after {} of {} in {}", done, base::count_of(loads.size(), "model"),
                    format_duration(verdict_time_s));
    if (done > passed) text += fmt::format("; {} failed", done - passed);
    return report::failure_line(std::move(text));
  }
  return {Tone::bad, failed_text(loads, worst_of(loads), loads.size() - passed)};
}

// ---- the table

// "Meta-L...Q4_K_M.gguf": models often differ in their ends, less in the middle.
std::string shortened(const std::string& text, std::size_t most) {
  constexpr std::string_view gap = "...";
  const bool is_plain = report::display_width(text) == text.size();
  if (text.size() <= most || !is_plain) return text;
  const std::size_t end = (most - gap.size()) * 2 / 3;
  return text.substr(0, most - gap.size() - end) + std::string(gap) +
         text.substr(text.size() - end);
}

// Whole where they would look alike otherwise: then each row becomes a list.
std::vector<std::string> shown_names(const ModelLoads& loads, std::size_t most) {
  std::map<std::string, std::string> by_shown;
  std::vector<std::string> whole;
  std::vector<std::string> shown;
  bool is_unique = true;
  for (const ModelLoad& load : loads) {
    whole.push_back(report::printable(load.name));
    shown.push_back(shortened(whole.back(), most));
    const auto [at, is_new] = by_shown.emplace(shown.back(), whole.back());
    is_unique = is_unique && (is_new || at->second == whole.back());
  }
  return is_unique ? shown : whole;
}

std::string shown_status(const ModelLoad& load) {
  if (!load.was_started) return "not run";
  const std::string status = status_of(load);
  const bool is_bad_word = status == "mismatch" || status == "wrong" || status == "interrupted";
  return has_passed(load) || is_bad_word ? status : "failed";
}

// The reason of a failure, how a planned model fits, or the digest.
Value result_of(const ModelLoad& load) {
  if (!load.was_started) return {};
  if (!load.reason.empty()) return load.reason;
  if (!load.fit.empty()) return load.fit;
  return member(member(load.report.document, "verify"), "digest");
}

std::string result_title(const ModelLoads& loads) {
  const bool is_planned = std::any_of(loads.begin(), loads.end(),
                                      [](const ModelLoad& load) { return !load.fit.empty(); });
  if (is_planned) return "Fit";
  return std::all_of(loads.begin(), loads.end(), has_passed) ? "Digest" : "Digest or reason";
}

Table models_table(const ModelLoads& loads, std::size_t width) {
  // The other columns, so that a digest is whole at 80; the share, which the document has too, is
  // left out where names need its room.
  constexpr std::size_t shortest_name = 20;
  constexpr std::size_t others = 60;
  constexpr std::size_t share_column = 7;
  const std::size_t most_name = std::max(shortest_name, width > others ? width - others : 0);
  Table table{"",
              {{"model", "Model", Unit::none},
               {"status", "Status", Unit::none},
               {"bytes", "Size", Unit::size},
               {"time_s", "Time", Unit::duration},
               {"bytes_per_s", "Rate", Unit::rate},
               {"share_of_limit", "Limit", Unit::share},
               {"result", result_title(loads), Unit::none, true}},
              {}};
  const std::vector<std::string> names = shown_names(loads, most_name);
  const bool shows_share =
      std::all_of(names.begin(), names.end(), [width](const std::string& name) {
        return report::display_width(name) + others + share_column <= width;
      });
  for (const ModelLoad& load : loads) {
    const report::LoadedModel& loaded = load.loaded;
    table.rows.push_back({names[table.rows.size()], shown_status(load),
                          loaded.has_model ? Value(loaded.size_bytes) : Value(),
                          loaded.load_time_s ? Value(loaded.verdict_time_s) : Value(),
                          loaded.bytes_per_s, shows_share ? Value(loaded.share_of_limit) : Value(),
                          result_of(load)});
  }
  report::remove_empty_columns(table);
  return table;
}

}  // namespace

const ModelLoad& worst_of(const ModelLoads& loads) {
  // An empty model says less than the others.
  const auto severity = [](const ModelLoad& load) {
    return std::pair(report::severity_of(load.report.run.exit_code.value_or(report::exit_done)),
                     status_of(load) != "empty");
  };
  return *std::ranges::max_element(loads, {}, severity);
}

report::Report make_models_report(report::Run run, ModelLoads loads, double verdict_time_s,
                                  double wall_time_s, std::size_t width) {
  const Line verdict = verdict_line(loads, run, verdict_time_s);
  report::Report report = report::start_report(std::move(run));
  report.document.emplace_back("models", report::array_of(loads, model_document));
  report.document.emplace_back("verdict_time_s", verdict_time_s);
  report.document.emplace_back("wall_time_s", wall_time_s);
  for (const ModelLoad& load : loads) report.models.push_back(load.loaded);
  set_measurements(report, report::load_measurements(report.models));
  report.verdict.push_back(verdict);
  report.tables.push_back(models_table(loads, width));
  std::vector<Table> listed;
  std::vector<Line> shared;
  for (ModelLoad& load : loads) {
    for (Table& table : load.tables) report.tables.push_back(std::move(table));
    report.notes.insert(report.notes.end(), load.notes.begin(), load.notes.end());
    for (const Line& note : load.shared_notes) {
      const bool is_known = std::any_of(shared.begin(), shared.end(),
                                        [&](const Line& one) { return one.text == note.text; });
      if (!is_known) shared.push_back(note);
    }
    if (member(load.report.document, "tensors").is_absent()) continue;
    listed.push_back(std::move(load.report.csv_tables->front()));
    listed.back().title = load.path;
  }
  report.notes.insert(report.notes.end(), shared.begin(), shared.end());
  std::stable_partition(report.notes.begin(), report.notes.end(),
                        [](const Line& note) { return note.tone == Tone::warning; });
  report.csv_tables =
      listed.empty() ? std::vector<Table>{load_table(report.document)} : std::move(listed);
  return report;
}

}  // namespace hiptool::results
