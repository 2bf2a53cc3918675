// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/fields.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Line;
using report::Object;
using report::Tone;
using report::Unit;
using report::Value;

std::string ids_of(const ModelFit& fit, std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(count, fit.parts.size()); ++i) {
    ids.push_back(fit.parts[i].device.id);
  }
  return base::ranges_of(std::move(ids));
}

// Also names an alternative that fits.
std::string refusal_text(const ModelFit& fit, std::size_t chosen_devices) {
  std::string text =
      fmt::format("does not fit: {}{} too little on {}", fit.kv_cache_is_bound ? "at least " : "",
                  format_size(fit.shortfall_bytes), ids_of(fit, chosen_devices));
  if (fit.verdict == FitVerdict::split) {
    return text + ", but split over " + ids_of(fit, fit.parts.size());
  }
  if (fit.verdict == FitVerdict::gpu_layers) {
    return text + fmt::format(", which holds {} with the output",
                              base::count_of(*fit.gpu_layers, "layer"));
  }
  const std::uint64_t most = fit.memory_context_tokens.value_or(0);
  if (most > 0) text += fmt::format(", which holds a context of at most {}", format_count(most));
  return text;
}

// "q8_0", or "q8_0 and q4_0" for keys and values.
std::string kv_type_text(const ModelFit& fit) {
  std::string text(to_string(fit.kv_cache.keys));
  if (fit.kv_cache.values == fit.kv_cache.keys) return text;
  return text + " and " + std::string(to_string(fit.kv_cache.values));
}

bool needs_flash_attention(KvType values) {
  return values != KvType::f16 && values != KvType::f32 && values != KvType::bf16;
}

// Of all devices.
std::uint64_t compute_bytes(const ModelFit& fit) {
  std::uint64_t bytes = 0;
  for (const FitPart& part : fit.parts) bytes += part.compute_bytes;
  return std::max(bytes, fit.compute_bytes.value_or(0));
}

bool exceeds_training(const ModelFit& fit, const ModelSummary& summary) {
  return summary.context_length.value_or(0) > 0 && fit.context_tokens > *summary.context_length;
}

// Empty for a model without such layers.
std::string window_text(const ModelSummary& summary) {
  std::size_t layers = 0;
  std::uint64_t window = 0;
  for (const LayerCache& cache : summary.caches) {
    if (cache.heads == 0 || cache.window_tokens == 0) continue;
    ++layers;
    window = cache.window_tokens;
  }
  if (layers == 0) return {};
  return fmt::format("{} keep{} the last {} and a batch of 512.", base::count_of(layers, "layer"),
                     layers == 1 ? "s" : "", base::count_of(window, "token"));
}

std::string compute_note(const ModelFit& fit, const ModelSummary& summary) {
  if (fit.compute_bytes) {
    const std::string_view estimate =
        "Compute buffers are estimated for llama.cpp with flash attention and batches of 512 "
        "tokens";
    if (fit.compute_least_bytes.value_or(*fit.compute_bytes) >= *fit.compute_bytes) {
      return fmt::format("{}.", estimate);
    }
    return fmt::format("{}; llama-server since June 2026 needs {} in place of {}.", estimate,
                       format_size(*fit.compute_least_bytes), format_size(*fit.compute_bytes));
  }
  const std::string_view why = summary.has_latent_attention
                                   ? "their size is unknown for latent attention (MLA)"
                                   : "the metadata lacks vocabulary, embedding length or heads";
  return fmt::format("Compute buffers are not counted: {}; they come out of the margin.", why);
}

report::Fields<FitPart> part_fields(const ModelFit& fit) {
  using Part = const FitPart&;
  const auto compute = [is_known = fit.compute_bytes.has_value()](Part part) {
    return is_known ? Value(part.compute_bytes) : Value();
  };
  return {
      {{"id"}, [](Part part) { return part.device.id; }},
      {{"device", "Device"}, [](Part part) { return part.device.id; }},
      {{"memory_total_bytes", "Memory", Unit::size},
       [](Part part) { return part.device.total_bytes; }},
      {{"memory_free_bytes", "Free", Unit::size}, [](Part part) { return part.device.free_bytes; }},
      {{"tensors", "Tensors", Unit::count}, &FitPart::tensors},
      {{"weights_bytes", "Weights", Unit::size}, &FitPart::weights_bytes},
      {{"kv_cache_bytes", "KV cache", Unit::size}, &FitPart::kv_cache_bytes},
      {{"state_bytes", "States", Unit::size}, &FitPart::state_bytes},
      {{"compute_bytes", "Compute", Unit::size}, compute},
      {{"margin_bytes", "Margin", Unit::size}, &FitPart::margin_bytes}};
}

}  // namespace

Value fit_value(const ModelFit& fit, const ModelSummary& summary) {
  const bool is_one_type = fit.kv_cache.keys == fit.kv_cache.values;
  const Value kv_types = is_one_type ? Value(to_string(fit.kv_cache.keys)) : Value();
  const bool is_state_known = summary.missing_state_keys.empty();
  return Object{
      {"context", fit.context_tokens},
      {"weights_bytes", fit.weights_bytes},
      {"kv_type", kv_types},
      {"kv_type_k", to_string(fit.kv_cache.keys)},
      {"kv_type_v", to_string(fit.kv_cache.values)},
      {"sequences", fit.kv_cache.sequences},
      {"kv_cache_bytes", fit.kv_cache_bytes},
      {"kv_cache_is_bound", fit.kv_cache_is_bound},
      {"kv_cache_least_bytes", fit.kv_cache_least_bytes},
      {"kv_cache_source", summary.cache_source.empty() ? Value() : Value(summary.cache_source)},
      {"state_bytes", is_state_known ? Value(fit.state_bytes) : Value()},
      {"compute_bytes", fit.compute_bytes},
      {"compute_least_bytes", fit.compute_least_bytes},
      {"margin_bytes", fit.margin_bytes},
      {"total_bytes", fit.total_bytes},
      {"least_total_bytes", fit.least_total_bytes},
      {"exceeds_trained_context", exceeds_training(fit, summary)},
      {"shortfall_bytes", fit.shortfall_bytes},
      {"most_context", fit.max_context_tokens},
      {"memory_context", fit.memory_context_tokens},
      {"verdict", to_string(fit.verdict)},
      {"devices", part_fields(fit).without({"device"}).objects(fit.parts)},
      {"split", fit.split.empty() ? Value() : Value(Array(fit.split.begin(), fit.split.end()))},
      {"gpu_layers", fit.gpu_layers},
  };
}

std::string fit_text(const ModelFit& fit, std::size_t chosen_devices) {
  if (!fit.is_held) return refusal_text(fit, chosen_devices);
  const std::string context = "with a context of " + format_count(fit.context_tokens);
  if (fit.verdict == FitVerdict::may_not_fit) {
    return fmt::format("may not fit: between {} and {} are needed on {} {}",
                       format_size(fit.least_total_bytes), format_size(fit.total_bytes),
                       ids_of(fit, chosen_devices), context);
  }
  const std::string bound =
      fit.kv_cache_is_bound ? " and a KV cache of at most " + format_size(fit.kv_cache_bytes) : "";
  const bool is_split = fit.verdict == FitVerdict::split;
  return fmt::format("fits {}{} {}{}", is_split ? "split over " : "", ids_of(fit, chosen_devices),
                     context, bound);
}

Line fit_verdict(const ModelFit& fit, std::uint64_t tensor_bytes, std::size_t chosen_devices) {
  std::string text = fit_text(fit, chosen_devices);
  if (!fit.is_held) return {Tone::bad, std::move(text)};
  if (fit.verdict == FitVerdict::may_not_fit) return {Tone::warning, std::move(text)};
  return {Tone::good, "planned " + format_size(tensor_bytes) + ", which " + text};
}

std::vector<Line> fit_lines(const ModelFit& fit) {
  std::vector<Line> lines;
  std::string need =
      fmt::format("fit     weights {} + KV cache {}{}", format_size(fit.weights_bytes),
                  fit.kv_cache_is_bound ? "at most " : "", format_size(fit.kv_cache_bytes));
  if (kv_type_text(fit) != "f16") need += " in " + kv_type_text(fit);
  if (fit.state_bytes > 0) need += " + states " + format_size(fit.state_bytes);
  if (fit.compute_bytes) need += " + compute " + format_size(compute_bytes(fit));
  need +=
      fmt::format(" + margin {} = {}", format_size(fit.margin_bytes), format_size(fit.total_bytes));
  lines.push_back({Tone::plain, std::move(need)});
  if (fit.max_context_tokens.value_or(0) == 0) return lines;
  std::string limit = "limit   maximum context " + base::count_of(*fit.max_context_tokens, "token");
  if (fit.memory_context_tokens > fit.max_context_tokens) {
    limit +=
        fmt::format(", as trained (memory holds {})", format_count(*fit.memory_context_tokens));
  }
  lines.push_back({Tone::plain, std::move(limit)});
  return lines;
}

std::vector<std::string> fit_warnings(const ModelFit& fit, const ModelSummary& summary) {
  std::vector<std::string> warnings;
  const auto add = [&](std::string text) { warnings.push_back(std::move(text)); };
  if (exceeds_training(fit, summary)) {
    add("the model was trained for " + base::count_of(*summary.context_length, "token"));
  }
  if (fit.kv_cache_is_bound) {
    const std::string name = summary.architecture.value_or("");
    const std::string most = format_size(fit.kv_cache_bytes);
    add(fmt::format("the KV cache of {} is not known: it has {}",
                    name.empty() ? "this model" : "the architecture " + name,
                    fit.kv_cache_least_bytes == 0
                        ? "at most " + most
                        : base::range_of(format_size(fit.kv_cache_least_bytes), most)));
  }
  return warnings;
}

std::vector<Line> fit_notes(const ModelFit& fit, const ModelSummary& summary) {
  std::vector<Line> notes;
  const auto add = [&](std::string text) { notes.push_back({Tone::plain, std::move(text)}); };
  const std::string sequences = fit.kv_cache.sequences == 1
                                    ? "one sequence"
                                    : base::count_of(fit.kv_cache.sequences, "sequence");
  add(fmt::format(
      "The KV cache holds {} in {}, as llama.cpp allocates it in steps of 256 tokens{}.", sequences,
      kv_type_text(fit),
      needs_flash_attention(fit.kv_cache.values) ? "; this type needs flash attention there" : ""));
  add(compute_note(fit, summary));
  if (const auto windows = window_text(summary); !windows.empty()) add(windows);
  if (!summary.missing_state_keys.empty()) {
    add(fmt::format("The states of recurrent layers are not counted: the metadata lacks {}.",
                    fmt::join(summary.missing_state_keys, ", ")));
  }
  return notes;
}

report::Table fit_table(const ModelFit& fit) {
  // The states take the place of the number of tensors.
  return part_fields(fit)
      .without({"id", fit.state_bytes > 0 ? "tensors" : "state_bytes"})
      .table("", fit.parts);
}

}  // namespace hiptool::results
