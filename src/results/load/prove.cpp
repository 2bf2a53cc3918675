// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/load/report.hpp"

namespace hiptool::results {
namespace {

using reference::LayerResult;
using reference::LogitsResult;
using reference::WrongValue;
using report::Array;
using report::Object;
using report::Value;

// NaN and infinity are absent from JSON.
Value number_value(double number) { return std::isfinite(number) ? Value(number) : Value(); }

std::string count_of_layers(std::size_t first, std::size_t end) {
  if (end - first == 1) return fmt::format("layer {}", first);
  return fmt::format("layers {} to {}", first, end - 1);
}

// "blk.7.ffn_down (Q4_1)", or the name of a stage that has no weights.
std::string place_of(const WrongValue& wrong) {
  if (wrong.tensor.empty()) {
    std::string words = wrong.stage;
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
  }
  constexpr std::string_view suffix = ".weight";
  std::string name = wrong.tensor;
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name + " (" + wrong.type + ")";
}

// What is known of the computation before it.
std::string right_before(const ProveOutcome& prove) {
  const WrongValue& wrong = *prove.result.first_wrong;
  if (!wrong.layer) return wrong.stage.starts_with("embedding") ? "" : "; all layers are right";
  std::size_t count = 0;
  while (prove.result.layers[count].layer < *wrong.layer) ++count;
  if (count == 0) return "";
  if (prove.result.layers[count - 1].layer + 1 == count) {
    return "; " + count_of_layers(0, count) + (count == 1 ? " is right" : " are right");
  }
  return fmt::format("; {} before it are right", base::count_of(count, "compared layer"));
}

std::string wrong_text(const ProveOutcome& prove) {
  const WrongValue& wrong = *prove.result.first_wrong;
  std::string text;
  if (wrong.layer) text += fmt::format("layer {}, ", *wrong.layer);
  // A sum of a golden is no element of the output, and no row of a weight.
  const bool is_sum = wrong.stage.ends_with("_projections");
  text += fmt::format("{}, {} {} of {}: expected {:.6g}, got {:.6g}", place_of(wrong),
                      is_sum ? "sum" : "row", wrong.row, wrong.rows, wrong.expected, wrong.got);
  text +=
      is_sum ? "; no value was wrong in a closer look at the layers up to it" : right_before(prove);
  if (wrong.repeats) text += *wrong.repeats ? "; again: the same" : "; again: other values";
  return text;
}

// An estimate has one or two digits.
std::string about(double time_s) {
  if (time_s < 1) return "1 s";
  if (time_s < 120) return fmt::format("{:.0f} s", time_s);
  if (time_s < 7200) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.0f} h", time_s / 3600);
}

// A wrong number in the metadata gives the same wrong values everywhere.
constexpr std::string_view assumption = "metadata as given";

std::string layers_text(const ProveOutcome& prove) {
  return base::count_of(prove.result.layers.size(), "layer");
}

}  // namespace

report::Value wrong_step_value(const reference::WrongValue& wrong) {
  return Object{
      {"layer", wrong.layer},
      {"stage", wrong.stage},
      {"tensor", report::text_or_absent(wrong.tensor)},
      {"dtype", wrong.tensor.empty() ? Value() : Value(wrong.type)},
      {"device", wrong.device},
      {"position", wrong.position},
      {"row", wrong.row},
      {"rows", wrong.rows},
      {"expected", number_value(wrong.expected)},
      {"got", number_value(wrong.got)},
      {"bound", number_value(wrong.bound)},
      {"wrong_values", wrong.wrong_values},
      {"values", wrong.values},
      {"repeats", wrong.repeats},
  };
}

report::Value prove_value(const ProveOutcome& prove) {
  const auto layer_value = [](const LayerResult& layer) {
    return Object{{"layer", std::uint64_t{layer.layer}},
                  {"status", layer.wrong ? "wrong" : "right"},
                  {"max_error", number_value(layer.max_error)},
                  {"bound", number_value(layer.bound)},
                  {"wrong", layer.wrong ? wrong_step_value(*layer.wrong) : Value()}};
  };
  Value logits;
  if (prove.result.logits) {
    const LogitsResult& found = *prove.result.logits;
    logits = Object{{"tokens", found.tokens},
                    {"max_error", number_value(found.max_error)},
                    {"bound", number_value(found.bound)},
                    {"std", number_value(found.deviation)},
                    {"repeats", found.repeats}};
  }
  Value golden;
  if (!prove.checked_golden.empty() || !prove.written_golden.empty()) {
    golden = Object{{"checked", report::text_or_absent(prove.checked_golden)},
                    {"written", report::text_or_absent(prove.written_golden)}};
  }
  const bool has_one = prove.devices.size() == 1;
  return Object{{"device", has_one ? Value(prove.devices.front()) : Value()},
                {"devices", Array(prove.devices.begin(), prove.devices.end())},
                {"prompt_ids", Array(prove.prompt_ids.begin(), prove.prompt_ids.end())},
                {"layers", report::array_of(prove.result.layers, layer_value)},
                {"first_wrong",
                 prove.result.first_wrong ? wrong_step_value(*prove.result.first_wrong) : Value()},
                {"logits", std::move(logits)},
                {"golden", std::move(golden)}};
}

report::Value needs_value(const reference::Needs& needs) {
  return Object{{"device_bytes", needs.device_bytes},
                {"host_time_s", needs.host_time_s},
                {"golden_time_s", needs.golden_time_s}};
}

report::Line needs_line(const reference::Needs& needs) {
  return {report::Tone::plain,
          fmt::format("prove   a proof needs {} on the device besides the weights, and about {} of "
                      "this host's {}; --write-golden about {}",
                      format_size(needs.device_bytes), about(needs.host_time_s),
                      base::count_of(std::max(1u, std::thread::hardware_concurrency()), "core"),
                      about(needs.golden_time_s))};
}

report::Line prove_verdict(const ProveOutcome& prove, const std::string& name) {
  const auto& result = prove.result;
  const std::string on = fmt::format("{}", fmt::join(prove.devices, " and "));
  if (!prove.written_golden.empty()) {
    return {
        report::Tone::plain,
        fmt::format("wrote {}: the float64 reference for {} of {}; no device was opened",
                    prove.written_golden, base::count_of(prove.prompt_ids.size(), "token"), name)};
  }
  if (result.first_wrong) {
    return report::failure_line(
        fmt::format("wrong: {} on {}: {}", name, result.first_wrong->device, wrong_text(prove)));
  }
  if (!result.logits) {
    return {report::Tone::good,
            fmt::format("proved: {} of {} {} right on {}; {}", layers_text(prove), name,
                        result.layers.size() == 1 ? "computes" : "compute", on, assumption)};
  }
  const LogitsResult& logits = *result.logits;
  const std::string figures =
      fmt::format("logits within {:.1g} standard deviations of float64 over {} (bound {:.0e})",
                  logits.max_error / logits.deviation, base::count_of(logits.tokens, "token"),
                  reference::logits_bound);
  if (result.is_right()) {
    return {report::Tone::good,
            fmt::format("proved: {} computes right on {}: {}, {}; embedding rows of the prompt "
                        "only, {}",
                        name, on, figures, layers_text(prove), assumption)};
  }
  const std::string what =
      logits.repeats ? figures + "; all layers are right"
                     : "a prompt at once and token by token give other logits; " + figures;
  return report::failure_line(fmt::format("wrong: {} on {}: {}", name, on, what));
}

std::vector<report::Line> prove_lines(const ProveOutcome& prove) {
  std::vector<report::Line> lines;
  const auto add = [&](std::string text) {
    lines.push_back({report::Tone::plain, std::move(text)});
  };
  add(fmt::format("prompt  {}", fmt::join(prove.prompt_ids, ",")));
  const auto& layers = prove.result.layers;
  std::size_t wrong = 0;
  double highest = 0;
  const LayerResult* worst = nullptr;
  for (const LayerResult& layer : layers) {
    if (layer.wrong) ++wrong;
    const double share = layer.bound > 0 ? layer.max_error / layer.bound : 0;
    if (worst != nullptr && share <= highest) continue;
    highest = share;
    worst = &layer;
  }
  if (worst != nullptr) {
    add(fmt::format(
        "layers  {} compared, {} wrong; the largest error is {} of its bound, in layer {}",
        layers.size(), wrong, format_share(highest), worst->layer));
  }
  if (prove.result.logits) {
    const LogitsResult& logits = *prove.result.logits;
    add(fmt::format("logits  largest error {:.2g}, bound {:.2g}, standard deviation {:.3g}",
                    logits.max_error, logits.bound, logits.deviation));
  }
  if (!prove.checked_golden.empty()) add("golden  " + prove.checked_golden);
  if (prove.result.first_wrong) {
    const WrongValue& wrong_one = *prove.result.first_wrong;
    add(fmt::format("wrong   {} of {} of {} at token {}, bound {:.2g}",
                    format_count(wrong_one.wrong_values), format_count(wrong_one.values),
                    wrong_one.stage, wrong_one.position, wrong_one.bound));
  }
  const std::uint64_t tokens = prove.prompt_ids.size();
  if (prove.trained_tokens > 0 && tokens > prove.trained_tokens) {
    lines.push_back(
        {report::Tone::warning,
         fmt::format("warning: the model was trained for {}; the prompt has {}",
                     base::count_of(prove.trained_tokens, "token"), format_count(tokens))});
  }
  return lines;
}

}  // namespace hiptool::results
