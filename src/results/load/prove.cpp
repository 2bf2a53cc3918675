// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "machine/codes.hpp"
#include "results/load/report.hpp"
#include "results/model/needs.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using reference::LayerResult;
using reference::LogitsResult;
using reference::PlantedFault;
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

std::string tensor_name(std::string name) {
  constexpr std::string_view suffix = ".weight";
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

// "blk.7.ffn_down (Q4_1)", or the name of a stage that has no weights.
std::string place_of(const WrongValue& wrong) {
  if (wrong.tensor.empty()) {
    std::string words = wrong.stage;
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
  }
  const std::string expert = wrong.expert ? fmt::format(", expert {}", *wrong.expert) : "";
  return tensor_name(wrong.tensor) + " (" + wrong.type + ")" + expert;
}

// What is known of the computation before it.
std::string right_before(const reference::ProveResult& result) {
  const WrongValue& wrong = *result.first_wrong;
  if (!wrong.layer) return wrong.stage.starts_with("embedding") ? "" : "; all layers are right";
  std::size_t count = 0;
  while (result.layers[count].layer < *wrong.layer) ++count;
  if (count == 0) return "";
  if (result.layers[count - 1].layer + 1 == count) {
    return "; " + count_of_layers(0, count) + (count == 1 ? " is right" : " are right");
  }
  return fmt::format("; {} before it are right", base::count_of(count, "compared layer"));
}

// Of the tensor, where several matrices share it.
std::uint64_t row_of(const WrongValue& wrong) { return wrong.first_row + wrong.row; }
std::uint64_t rows_of(const WrongValue& wrong) {
  return wrong.tensor_rows > 0 ? wrong.tensor_rows : wrong.rows;
}

std::string wrong_text(const reference::ProveResult& result) {
  const WrongValue& wrong = *result.first_wrong;
  std::string text;
  if (wrong.layer) text += fmt::format("layer {}, ", *wrong.layer);
  // A sum of a golden is neither an element of the output nor a row of a weight.
  const bool is_sum = wrong.stage.ends_with("_projections");
  text += fmt::format("{}, {} {} of {}: {}", place_of(wrong), is_sum ? "sum" : "row", row_of(wrong),
                      rows_of(wrong), report::expected_text(wrong.expected, wrong.got));
  text += is_sum ? "; no value was wrong in a closer look at the layers up to it"
                 : right_before(result);
  if (wrong.repeats) {
    text += fmt::format("; a second run gave {} value", *wrong.repeats ? "the same" : "another");
  }
  return text;
}

// Percents of a large multiple are digits that nobody reads.
std::string part_of_bound(double share) {
  return share < 10 ? format_share(share) + " of" : fmt::format("{:.3g} times", share);
}

// A wrong number in the metadata gives the same wrong values everywhere.
constexpr std::string_view assumption = "metadata as given";

// Where f32 and float64 may rightly choose different experts.
std::string ties_text(std::uint64_t ties) {
  if (ties == 0) return "";
  return fmt::format("; {} of experts within rounding, followed", base::count_of(ties, "choice"));
}

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
      {"expert", wrong.expert},
      {"row", row_of(wrong)},
      {"rows", rows_of(wrong)},
      {"expected", number_value(wrong.expected)},
      {"got", number_value(wrong.got)},
      {"bound", number_value(wrong.bound)},
      {"wrong_values", wrong.wrong_values},
      {"values", wrong.values},
      {"repeats", wrong.repeats},
  };
}

namespace {

Value planted_value(const PlantedFault& fault) {
  return Object{{"fault", std::string(to_string(fault.kind))},
                {"layer", std::uint64_t{fault.layer}},
                {"tensor", fault.tensor},
                {"dtype", fault.type},
                {"device", fault.device},
                {"row", fault.row},
                {"caught", fault.is_named()},
                {"wrong", fault.found ? wrong_step_value(*fault.found) : Value()}};
}

std::string planted_text(const PlantedFault& fault) {
  std::string text =
      fmt::format("{} in layer {}, {} ({}), row {}, on {}: ", to_string(fault.kind), fault.layer,
                  tensor_name(fault.tensor), fault.type, fault.row, fault.device);
  if (fault.is_named()) {
    return text + fmt::format("found: {}, bound {:.2g}",
                              report::expected_text(fault.found->expected, fault.found->got),
                              fault.found->bound);
  }
  if (!fault.found) {
    return text + (fault.kind == reference::PlantedKind::decoding
                       ? "MISSED: the decoded logits were called right"
                       : "MISSED: all three layers were called right");
  }
  return text + "MISSED: the proof named " +
         (fault.found->layer ? fmt::format("layer {}, ", *fault.found->layer) : std::string()) +
         place_of(*fault.found) + ", row " + std::to_string(row_of(*fault.found));
}

std::string self_test_text(const ProveOutcome& prove) {
  if (prove.self_test.empty()) return {};
  return fmt::format("; self-test: {} of {} found", prove.self_test.size() - missed_faults(prove),
                     base::count_of(prove.self_test.size(), "planted fault"));
}

}  // namespace

void ProveOutcome::choose_result() {
  const auto error_of = [](const ProvedReplica& one) {
    return one.result.logits ? one.result.logits->max_error : 0;
  };
  const ProvedReplica* chosen = nullptr;
  for (const ProvedReplica& one : replicas) {
    if (!one.result.is_right()) {
      chosen = &one;
      break;
    }
    if (chosen == nullptr || error_of(one) > error_of(*chosen)) chosen = &one;
  }
  if (chosen != nullptr) result = chosen->result;
}

std::string ProveOutcome::replicas_text(bool are_right) const {
  std::vector<std::string> found;
  for (const ProvedReplica& one : replicas) {
    if (one.result.is_right() == are_right) found.push_back(one.device);
  }
  return base::ranges_of(std::move(found));
}

std::size_t missed_faults(const ProveOutcome& prove) {
  return static_cast<std::size_t>(
      std::ranges::count_if(prove.self_test, [](const auto& one) { return !one.is_named(); }));
}

report::Value prove_value(const ProveOutcome& prove) {
  const auto layer_value = [](const LayerResult& layer) {
    return Object{{"layer", std::uint64_t{layer.layer}},
                  {"status", layer.wrong ? "wrong" : "right"},
                  {"max_error", number_value(layer.max_error)},
                  {"bound", number_value(layer.bound)},
                  {"wrong", layer.wrong ? wrong_step_value(*layer.wrong) : Value()}};
  };
  const auto logits_value = [](const std::optional<LogitsResult>& found) {
    if (!found) return Value();
    return Value(Object{{"tokens", found->tokens},
                        {"max_error", number_value(found->max_error)},
                        {"bound", number_value(found->bound)},
                        {"std", number_value(found->deviation)},
                        {"repeats", found->repeats}});
  };
  const auto first_wrong_value = [](const reference::ProveResult& result) {
    return result.first_wrong ? wrong_step_value(*result.first_wrong) : Value();
  };
  const auto replica_value = [&](const ProvedReplica& one) {
    return Object{{"device", one.device},
                  {"status", one.result.is_right() ? "right" : "wrong"},
                  {"first_wrong", first_wrong_value(one.result)},
                  {"logits", logits_value(one.result.logits)}};
  };
  Value golden;
  if (!prove.checked_golden.empty() || !prove.written_golden.empty()) {
    golden = Object{{"checked", report::text_or_absent(prove.checked_golden)},
                    {"written", report::text_or_absent(prove.written_golden)}};
  }
  Value written;
  if (!prove.written_logits.empty()) {
    Array layers;
    for (const auto& [layer, path] : prove.written_layers) {
      layers.push_back(Object{{"layer", std::uint64_t{layer}}, {"path", path}});
    }
    written = Object{{"logits", prove.written_logits}, {"layers", std::move(layers)}};
  }
  const bool has_one = prove.devices.size() == 1;
  return Object{
      {"device", has_one ? Value(prove.devices.front()) : Value()},
      {"devices", Array(prove.devices.begin(), prove.devices.end())},
      {"prompt_ids", Array(prove.prompt_ids.begin(), prove.prompt_ids.end())},
      {"layers", report::array_of(prove.result.layers, layer_value)},
      {"first_wrong", first_wrong_value(prove.result)},
      {"logits", logits_value(prove.result.logits)},
      {"replicas",
       prove.replicas.empty() ? Value() : report::array_of(prove.replicas, replica_value)},
      {"golden", std::move(golden)},
      {"written", std::move(written)},
      {"self_test",
       prove.self_test.empty() ? Value() : report::array_of(prove.self_test, planted_value)}};
}

report::Line needs_line(const reference::Needs& needs) {
  return {report::Tone::plain, "prove   " + needs_text(needs)};
}

namespace {

// "; right on nvidia:0-4": the other replicas.
std::string right_end(const ProveOutcome& prove) {
  const std::string right = prove.replicas_text(true);
  return right.empty() ? right : "; right on " + right;
}

std::string replicas_end(const ProveOutcome& prove) {
  const std::string wrong = prove.replicas_text(false);
  return (wrong.empty() ? wrong : "; wrong on " + wrong) + right_end(prove);
}

// A layer that was wrong is not confirmed: the files were not read again.
report::Line interrupted_verdict(const ProveOutcome& prove, const std::string& name) {
  const auto& layers = prove.result.layers;
  const auto wrong =
      std::ranges::count_if(layers, [](const auto& one) { return one.wrong.has_value(); });
  return report::failure_line(
      fmt::format("interrupted after {} of {} of {} on {}: {}{}", layers.size(),
                  base::count_of(prove.model_layers, "layer"), name,
                  prove.replicas.empty() ? base::ranges_of(prove.devices) : prove.devices.back(),
                  wrong == 0 ? "none of them wrong" : fmt::format("{} wrong, not confirmed", wrong),
                  replicas_end(prove)));
}

}  // namespace

std::vector<report::Failure> prove_failures(const ProveOutcome& prove) {
  std::vector<report::Failure> failures;
  const auto add = [&](const reference::ProveResult& result, const std::string& on) {
    const WrongValue* const wrong = result.first_wrong ? &*result.first_wrong : nullptr;
    const std::string device = wrong != nullptr ? wrong->device : on;
    report::Failure failure =
        coded_failure("computation on " + device, machine::codes::model_data, {.device = device});
    failure.reason = wrong != nullptr ? wrong_text(result) : "the logits are wrong";
    if (wrong != nullptr) {
      failure.subject.tensor = wrong->tensor;
      failure.expected = number_value(wrong->expected);
      failure.got = number_value(wrong->got);
    }
    failures.push_back(std::move(failure));
  };
  for (const ProvedReplica& one : prove.replicas) {
    if (!one.result.is_right()) add(one.result, one.device);
  }
  const bool is_of_all = prove.replicas.empty() && !prove.is_interrupted;
  if (is_of_all && !prove.result.is_right()) add(prove.result, base::ranges_of(prove.devices));
  return failures;
}

report::Line prove_verdict(const ProveOutcome& prove, const std::string& name) {
  const auto& result = prove.result;
  const std::string on = prove.replicas.size() > 1 ? "each of " + base::ranges_of(prove.devices)
                                                   : base::ranges_of(prove.devices);
  if (prove.is_interrupted) return interrupted_verdict(prove, name);
  if (!prove.written_golden.empty()) {
    return {
        report::Tone::plain,
        fmt::format("wrote {}: the float64 reference for {} of {}; no device was opened",
                    prove.written_golden, base::count_of(prove.prompt_ids.size(), "token"), name)};
  }
  if (result.first_wrong) {
    return report::failure_line(fmt::format(
        "wrong: {} on {}: {}{}", name,
        prove.replicas.empty() ? result.first_wrong->device : prove.replicas_text(false),
        wrong_text(result), right_end(prove)));
  }
  if (!result.logits) {
    return {report::Tone::good,
            fmt::format("proved: {} of {} {} right on {}; {}", layers_text(prove), name,
                        result.layers.size() == 1 ? "computes" : "compute", on, assumption) +
                self_test_text(prove)};
  }
  const LogitsResult& logits = *result.logits;
  const std::string tokens =
      logits.tokens < prove.prompt_ids.size()
          ? fmt::format("the last {} of {} tokens", logits.tokens, prove.prompt_ids.size())
          : base::count_of(logits.tokens, "token");
  const std::string figures =
      fmt::format("logits within {:.{}g} standard deviations of float64 over {} ({})",
                  logits.max_error / logits.deviation, logits.is_amplified ? 2 : 1, tokens,
                  logits.is_amplified ? "its layers enlarge the rounding of f32, and each step is "
                                        "within its bound"
                                      : fmt::format("bound {:.0e}", reference::logits_bound));
  if (result.is_right()) {
    return {report::Tone::good,
            fmt::format("proved: {} computes right on {}: {}, {}; embedding rows of the prompt "
                        "only, {}{}",
                        name, on, figures, layers_text(prove), assumption,
                        ties_text(result.router_ties)) +
                self_test_text(prove)};
  }
  const std::string what =
      logits.repeats ? figures + "; all layers are right"
                     : "a prompt at once and token by token give other logits; " + figures;
  return report::failure_line(fmt::format("wrong: {} on {}: {}{}", name,
                                          prove.replicas.empty() ? on : prove.replicas_text(false),
                                          what, right_end(prove)));
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
    add(fmt::format("layers  {} compared, {} wrong; the largest error is {} its bound, in layer {}",
                    layers.size(), wrong, part_of_bound(highest), worst->layer));
  }
  if (prove.result.logits) {
    const LogitsResult& logits = *prove.result.logits;
    add(fmt::format("logits  largest error {:.2g}, {} {:.2g}, standard deviation {:.3g}",
                    logits.max_error, logits.is_amplified ? "looked at closer beyond" : "bound",
                    logits.bound, logits.deviation));
  }
  if (!prove.checked_golden.empty()) add("golden  " + prove.checked_golden);
  if (!prove.written_logits.empty()) {
    add(fmt::format("wrote   {}: the device's logits, {} x vocabulary, f32", prove.written_logits,
                    prove.prompt_ids.size()));
  }
  for (const auto& [layer, path] : prove.written_layers) {
    add(fmt::format("wrote   {}: the output of layer {}", path, layer));
  }
  for (const PlantedFault& fault : prove.self_test) {
    lines.push_back({fault.is_named() ? report::Tone::plain : report::Tone::bad,
                     "planted " + planted_text(fault)});
  }
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
