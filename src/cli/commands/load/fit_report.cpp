// SPDX-License-Identifier: MIT
#include "cli/commands/load/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.hpp"
#include "cli/document.hpp"

namespace hiptool::cli {
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
  return fmt::format("{}", fmt::join(ids, ", "));
}

// Also names an alternative that fits.
std::string verdict_text(const ModelFit& fit, std::size_t chosen_devices) {
  std::string text = fmt::format("does not fit: {} too little on {}",
                                 format_size(fit.shortfall_bytes), ids_of(fit, chosen_devices));
  if (fit.verdict == FitVerdict::split) {
    return text + ", but split over " + ids_of(fit, fit.parts.size());
  }
  if (fit.verdict == FitVerdict::gpu_layers) {
    return text + fmt::format(", which holds {} layers with the output", *fit.gpu_layers);
  }
  return text;
}

// Of all devices.
std::uint64_t compute_bytes(const ModelFit& fit) {
  std::uint64_t bytes = 0;
  for (const FitPart& part : fit.parts) bytes += part.compute_bytes;
  return std::max(bytes, fit.compute_bytes.value_or(0));
}

std::string compute_note(const ModelFit& fit, const ModelSummary& summary) {
  if (fit.compute_bytes) {
    return "Compute buffers are estimated for llama.cpp with flash attention and batches of 512 "
           "tokens.";
  }
  const std::string_view why = summary.has_latent_attention
                                   ? "their size is unknown for latent attention (MLA)"
                                   : "the metadata lacks vocabulary, embedding length or heads";
  return fmt::format("Compute buffers are not counted: {}; they come out of the margin.", why);
}

}  // namespace

Value fit_value(const ModelFit& fit) {
  return Object{
      {"context", fit.context_tokens},
      {"weights_bytes", fit.weights_bytes},
      {"kv_type", to_string(fit.kv_type)},
      {"kv_cache_bytes", fit.kv_cache_bytes},
      {"compute_bytes", fit.compute_bytes},
      {"margin_bytes", fit.margin_bytes},
      {"total_bytes", fit.total_bytes},
      {"shortfall_bytes", fit.shortfall_bytes},
      {"most_context", fit.max_context_tokens},
      {"memory_context", fit.memory_context_tokens},
      {"verdict", to_string(fit.verdict)},
      {"devices", objects_of(fit_table(fit), "id")},
      {"split", fit.split.empty() ? Value() : Value(Array(fit.split.begin(), fit.split.end()))},
      {"gpu_layers", fit.gpu_layers},
  };
}

Line fit_verdict(const ModelFit& fit, std::uint64_t tensor_bytes, std::size_t chosen_devices) {
  if (!fit.is_held) return {Tone::bad, verdict_text(fit, chosen_devices)};
  const bool is_split = fit.verdict == FitVerdict::split;
  return {Tone::good, fmt::format("planned {}, which fits {}{} with a context of {}",
                                  format_size(tensor_bytes), is_split ? "split over " : "",
                                  ids_of(fit, chosen_devices), format_count(fit.context_tokens))};
}

std::vector<Line> fit_lines(const ModelFit& fit) {
  std::vector<Line> lines;
  std::string need = fmt::format("fit     weights {} + KV cache {}", format_size(fit.weights_bytes),
                                 format_size(fit.kv_cache_bytes));
  if (fit.kv_type != KvType::f16) need += fmt::format(" in {}", to_string(fit.kv_type));
  std::string rest =
      fmt::format(" + margin {} = {}", format_size(fit.margin_bytes), format_size(fit.total_bytes));
  if (fit.compute_bytes) {
    need += fmt::format(" + compute {}", format_size(compute_bytes(fit)));
    // One line would be longer than 80 columns.
    lines.push_back({Tone::plain, std::move(need)});
    need = "       ";
  }
  lines.push_back({Tone::plain, need + rest});
  if (fit.max_context_tokens.value_or(0) == 0) return lines;
  std::string limit =
      fmt::format("limit   maximum context {} tokens", format_count(*fit.max_context_tokens));
  if (fit.memory_context_tokens > fit.max_context_tokens) {
    limit +=
        fmt::format(", as trained (memory holds {})", format_count(*fit.memory_context_tokens));
  }
  lines.push_back({Tone::plain, std::move(limit)});
  return lines;
}

std::vector<Line> fit_notes(const ModelFit& fit, const ModelSummary& summary) {
  std::vector<Line> notes;
  if (summary.context_length && fit.context_tokens > *summary.context_length) {
    notes.push_back({Tone::warning, fmt::format("warning: the model was trained for {} tokens",
                                                format_count(*summary.context_length))});
  }
  notes.push_back(
      {Tone::plain,
       fmt::format("The KV cache is that of one sequence in {}, as "
                   "llama.cpp allocates it in steps of 256 tokens{}.",
                   to_string(fit.kv_type),
                   fit.kv_type == KvType::f16 ? "" : "; this type needs flash attention there")});
  notes.push_back({Tone::plain, compute_note(fit, summary)});
  if (summary.has_latent_attention) {
    notes.push_back({Tone::plain,
                     "It is an upper bound: not every version of llama.cpp keeps the values of "
                     "latent attention (MLA)."});
  }
  if (summary.sliding_window.value_or(0) > 0) {
    notes.push_back(
        {Tone::plain, fmt::format("It is an upper bound: layers with a sliding window need no more "
                                  "than {} tokens.",
                                  format_count(*summary.sliding_window))});
  }
  if (summary.is_recurrent) {
    notes.push_back({Tone::plain,
                     "The states of recurrent layers do not grow with the context and are not "
                     "counted."});
  }
  return notes;
}

report::Table fit_table(const ModelFit& fit) {
  report::Table table{"",
                      {{"device", "Device", Unit::none},
                       {"memory_total_bytes", "Memory", Unit::size},
                       {"memory_free_bytes", "Free", Unit::size},
                       {"tensors", "Tensors", Unit::count},
                       {"weights_bytes", "Weights", Unit::size},
                       {"kv_cache_bytes", "KV cache", Unit::size},
                       {"compute_bytes", "Compute", Unit::size},
                       {"margin_bytes", "Margin", Unit::size}},
                      {}};
  for (const FitPart& part : fit.parts) {
    table.rows.push_back({part.device.id, part.device.total_bytes, part.device.free_bytes,
                          part.tensors, part.weights_bytes, part.kv_cache_bytes,
                          fit.compute_bytes ? Value(part.compute_bytes) : Value(),
                          part.margin_bytes});
  }
  return table;
}

}  // namespace hiptool::cli
