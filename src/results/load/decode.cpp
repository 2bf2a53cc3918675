// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/load/report.hpp"

namespace hiptool::results {
namespace {

/// The field `decode.sampling`: null for the most likely tokens.
report::Value sampling_value(const SamplingOptions& sampling) {
  if (sampling.temperature == 0) return {};
  return report::Object{
      {"temperature", sampling.temperature},
      {"top_k", sampling.top_k > 0 ? report::Value(sampling.top_k) : report::Value()},
      {"top_p", sampling.top_p},
      {"seed", sampling.seed}};
}

/// "temperature 0.8, top-k 40, top-p 0.95, seed 1".
std::string sampling_text(const SamplingOptions& sampling) {
  std::string text = fmt::format("temperature {}", sampling.temperature);
  if (sampling.top_k > 0) text += fmt::format(", top-k {}", sampling.top_k);
  if (sampling.top_p < 1) text += fmt::format(", top-p {}", sampling.top_p);
  return text + fmt::format(", seed {}", sampling.seed);
}

}  // namespace

report::Value decode_value(const DecodeOutcome& decode) {
  return report::Object{
      {"prompt_ids", report::Array(decode.prompt_ids.begin(), decode.prompt_ids.end())},
      {"ids", report::Array(decode.ids.begin(), decode.ids.end())},
      {"text", decode.text},
      {"logits_digest",
       decode.is_complete() ? report::Value(base::to_hex(decode.logits_digest)) : report::Value()},
      {"tokens_per_s", decode.tokens_per_s},
      {"share_of_peak", decode.share_of_peak},
      {"share_reason", report::text_or_absent(decode.share_reason)},
      {"sampling", sampling_value(decode.sampling)}};
}

std::string decode_verdict(const DecodeOutcome& decode) {
  std::string rate;
  if (decode.tokens_per_s) rate = fmt::format(", {:.1f} tokens/s", *decode.tokens_per_s);
  const bool has_cpu = std::any_of(decode.devices.begin(), decode.devices.end(),
                                   [](const auto& device) { return device.starts_with("cpu"); });
  if (!rate.empty() && has_cpu) rate += " with reference kernels on the CPU";
  if (decode.share_of_peak) {
    rate += ", " + format_share(*decode.share_of_peak) + " of the memory bandwidth";
  }
  const std::string count =
      decode.is_complete()
          ? base::count_of(decode.ids.size(), "token")
          : fmt::format("{} of {}", decode.ids.size(), base::count_of(decode.wanted, "token"));
  return fmt::format("decoded {} on {}{}", count, base::ranges_of(decode.devices), rate);
}

std::vector<report::Line> decode_lines(const DecodeOutcome& decode) {
  std::vector<report::Line> lines;
  const auto add = [&](std::string text) {
    lines.push_back({report::Tone::plain, std::move(text)});
  };
  add(fmt::format("prompt  {}", fmt::join(decode.prompt_ids, ",")));
  add(fmt::format("ids     {}", fmt::join(decode.ids, ",")));
  if (decode.text) {
    std::string text = *decode.text;
    // One line, and nothing that moves a terminal's cursor.
    for (char& character : text) {
      if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f) character = ' ';
    }
    add("text    " + text);
  }
  if (decode.is_complete()) add("logits  " + base::to_hex(decode.logits_digest));
  if (decode.is_above_peak || decode.share_of_peak.value_or(0) > 1) {
    add("share   " + decode.share_reason);
  }
  if (decode.sampling.temperature > 0) add("sampled " + sampling_text(decode.sampling));
  const std::uint64_t tokens = decode.prompt_ids.size() + decode.wanted;
  if (decode.trained_tokens > 0 && tokens > decode.trained_tokens) {
    lines.push_back(
        {report::Tone::warning,
         fmt::format("warning: the model was trained for {}; prompt and decoded "
                     "tokens are {}",
                     base::count_of(decode.trained_tokens, "token"), format_count(tokens))});
  }
  return lines;
}

}  // namespace hiptool::results
