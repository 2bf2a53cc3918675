// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <doctest/doctest.h>

using namespace hiptool;
using namespace hiptool::results;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

FitPart part(const char* id) {
  return {{id, 24 * gib, 20 * gib}, 7, 6 * gib, 6 * gib, gib, 0, gib, 0};
}

ModelFit fitting() {
  ModelFit fit;
  fit.context_tokens = 8192;
  fit.weights_bytes = 6 * gib;
  fit.kv_cache_bytes = gib;
  fit.margin_bytes = gib;
  fit.total_bytes = 8 * gib;
  fit.verdict = FitVerdict::fits;
  fit.is_held = true;
  fit.max_context_tokens = 100'000;
  fit.parts = {part("amd:0")};
  return fit;
}

ModelFit refused(FitVerdict verdict) {
  ModelFit fit = fitting();
  fit.verdict = verdict;
  fit.is_held = false;
  fit.shortfall_bytes = 3 * gib;
  fit.gpu_layers = 12;
  return fit;
}

std::string lines_text_of(const std::vector<report::Line>& lines) {
  std::string text;
  for (const report::Line& line : lines) text += line.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("fit report: the first line") {
  CHECK(fit_verdict(fitting(), 6 * gib, 1).text ==
        "planned 6.00 GiB, which fits amd:0 with a context of 8 192");
  ModelFit split = fitting();
  split.verdict = FitVerdict::split;
  split.parts.push_back(part("amd:1"));
  CHECK(fit_verdict(split, 6 * gib, 2).text ==
        "planned 6.00 GiB, which fits split over amd:0-1 with a context of 8 192");
  CHECK(fit_verdict(split, 6 * gib, 2).tone == report::Tone::good);
  ModelFit with_others = refused(FitVerdict::split);
  with_others.parts.push_back(part("amd:1"));
  CHECK(fit_verdict(with_others, 6 * gib, 1).text ==
        "does not fit: 3.00 GiB too little on amd:0, but split over amd:0-1");
  CHECK(fit_verdict(with_others, 6 * gib, 1).tone == report::Tone::bad);
  CHECK(fit_verdict(refused(FitVerdict::gpu_layers), 6 * gib, 1).text ==
        "does not fit: 3.00 GiB too little on amd:0, which holds 12 layers with the output");
  CHECK(fit_verdict(refused(FitVerdict::does_not_fit), 6 * gib, 1).text ==
        "does not fit: 3.00 GiB too little on amd:0");
}

TEST_CASE("fit report: how the need comes about") {
  CHECK(lines_text_of(fit_lines(fitting())) ==
        "fit     weights 6.00 GiB + KV cache 1.00 GiB + margin 1.00 GiB = 8.00 GiB\n"
        "limit   maximum context 100 000 tokens\n");
  ModelFit fit = fitting();
  fit.kv_cache = KvType::q8_0;
  fit.compute_bytes = gib / 4;
  fit.parts[0].compute_bytes = gib / 4;
  fit.memory_context_tokens = 200'000;
  CHECK(lines_text_of(fit_lines(fit)) ==
        "fit     weights 6.00 GiB + KV cache 1.00 GiB in q8_0 + compute 256 MiB + margin 1.00 GiB "
        "= 8.00 GiB\n"
        "limit   maximum context 100 000 tokens, as trained (memory holds 200 000)\n");
  fit = fitting();
  fit.memory_context_tokens = fit.max_context_tokens;
  CHECK(lines_text_of(fit_lines(fit)).find("trained") == std::string::npos);
  fit.max_context_tokens = 1;
  CHECK(lines_text_of(fit_lines(fit)).find("maximum context 1 token,") != std::string::npos);
  fit.max_context_tokens = 0;
  CHECK(fit_lines(fit).size() == 1);
  fit.max_context_tokens.reset();
  CHECK(fit_lines(fit).size() == 1);
}

TEST_CASE("fit report: bounds are named where they apply") {
  ModelSummary summary;
  CHECK(fit_notes(fitting(), summary).size() == 2);
  summary.context_length = 8192;
  CHECK(fit_notes(fitting(), summary).size() == 2);
  CHECK(fit_warnings(fitting(), summary).empty());
  summary.context_length = 8191;
  CHECK(fit_warnings(fitting(), summary) ==
        std::vector<std::string>{"the model was trained for 8 191 tokens"});
  summary.caches = {{8, 64, 64, 0, 4096, 0}, {8, 64, 64, 0, 0, 0}};
  summary.missing_state_keys = {"a.b"};
  const std::string text = lines_text_of(fit_notes(fitting(), summary));
  CHECK(text.find("1 layer") != std::string::npos);
  CHECK(text.find("the last 4 096 tokens and a batch of 512") != std::string::npos);
  CHECK(text.find("recurrent layers are not counted: the metadata lacks a.b") != std::string::npos);
  CHECK(text.find("one sequence in f16, as") != std::string::npos);
  CHECK(text.find("Compute buffers are not counted: the metadata lacks") != std::string::npos);
  ModelFit fit = fitting();
  fit.kv_cache = KvType::q4_0;
  fit.compute_bytes = gib;
  summary.has_latent_attention = true;
  const std::string other = lines_text_of(fit_notes(fit, summary));
  CHECK(other.find("in q4_0, as llama.cpp") != std::string::npos);
  CHECK(other.find("needs flash attention") != std::string::npos);
  CHECK(other.find("estimated for llama.cpp with flash attention") != std::string::npos);
  fit.compute_bytes.reset();
  CHECK(lines_text_of(fit_notes(fit, summary)).find("unknown for latent") != std::string::npos);
}

TEST_CASE("fit report: a bound is said first") {
  ModelFit fit = fitting();
  fit.kv_cache_is_bound = true;
  CHECK(fit_verdict(fit, 6 * gib, 1).text ==
        "planned 6.00 GiB, which fits amd:0 with a context of 8 192 and a KV cache of at most "
        "1.00 GiB");
  fit.verdict = FitVerdict::may_not_fit;
  fit.least_total_bytes = 7 * gib;
  const report::Line may = fit_verdict(fit, 6 * gib, 1);
  CHECK(may.text ==
        "may not fit: between 7.00 GiB and 8.00 GiB are needed on amd:0 with a context of 8 192");
  CHECK(may.tone == report::Tone::warning);
  ModelFit refusal = refused(FitVerdict::does_not_fit);
  refusal.kv_cache_is_bound = true;
  CHECK(fit_verdict(refusal, 6 * gib, 1).text ==
        "does not fit: at least 3.00 GiB too little on amd:0");
}

TEST_CASE("fit report: one row for each device, and the same for programs") {
  ModelFit fit = refused(FitVerdict::split);
  fit.parts.push_back(part("amd:1"));
  fit.parts[1].device.free_bytes.reset();
  fit.split = {0.25, 0.75};
  report::Report shown;
  shown.run.end(0);
  shown.tables.push_back(fit_table(fit));
  CHECK(to_table(shown, {}) ==
        "Device    Memory      Free  Tensors   Weights  KV cache  Compute    Margin\n"
        "amd:0   24.0 GiB  20.0 GiB        7  6.00 GiB  1.00 GiB        –  1.00 GiB\n"
        "amd:1   24.0 GiB         –        7  6.00 GiB  1.00 GiB        –  1.00 GiB\n");
  report::Report report;
  report.document.emplace_back("fit", fit_value(fit, {}));
  const std::string json = to_json(report);
  for (const char* field :
       {"\"verdict\": \"split\"", "\"shortfall_bytes\": 3221225472", "\"gpu_layers\": 12",
        "\"most_context\": 100000", "\"kv_type\": \"f16\"", "\"compute_bytes\": null",
        "\"memory_free_bytes\": null", "\"context\": 8192", "\"weights_bytes\": 6442450944",
        "\"total_bytes\": 8589934592", "0.25"}) {
    CAPTURE(field);
    CHECK(json.find(field) != std::string::npos);
  }
  CHECK(report.document.size() == 1);
  fit.split.clear();
  fit.gpu_layers.reset();
  report.document[0].second = fit_value(fit, {});
  CHECK(to_json(report).find("\"split\": null") != std::string::npos);
  CHECK(to_json(report).find("\"gpu_layers\": null") != std::string::npos);
}
