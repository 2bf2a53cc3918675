// SPDX-License-Identifier: MIT
#include "cli/commands/load/decode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/load/whole_model.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/model_runtime.hpp"
#include "measure/peak.hpp"
#include "model/token_text.hpp"
#include "runtime/greedy.hpp"

namespace hiptool::cli {
namespace {

// Of the weights that every token needs: all but the embedding, of which it reads one row.
std::uint64_t weight_bytes(const ModelFile& model, const DecoderSpec& spec) {
  const TensorInfo* const embedding = model.find(spec.embedding_tensor);
  return model.tensor_bytes() - (spec.is_tied ? 0 : embedding->size_bytes);
}

}  // namespace

std::vector<std::uint32_t> parse_prompt_ids(const std::string& text) {
  std::vector<std::uint32_t> ids;
  for (const std::string& word : split_list(text, "--prompt-ids")) {
    const auto id = base::parse_number<std::uint32_t>(word);
    if (!id) {
      throw usage_error("invalid --prompt-ids \"" + text + "\"",
                        "give token ids separated by commas, such as 504,3575,282");
    }
    ids.push_back(*id);
  }
  return ids;
}

void check_decode(const ModelFile& model, const std::vector<std::uint32_t>& prompt) {
  require_prompt(DecoderSpec::read(model), prompt);
}

DecodeOutcome run_decode(const LoadedModel& model, std::vector<std::uint32_t> prompt,
                         std::uint64_t count, const CancelToken& cancel) {
  const DecoderSpec spec = DecoderSpec::read(model.model());
  const Device device = device_of_whole_model(model, "--decode");
  DecodeOutcome outcome;
  outcome.device = device.id();
  outcome.prompt_ids =
      prompt.empty() ? runtime::default_prompt(spec.vocabulary) : std::move(prompt);
  ModelRuntime::Options options;
  options.context_tokens = outcome.prompt_ids.size() + count;
  const Backend backend(device);
  ModelRuntime decoder = make_decoder(backend, model, spec, options);
  const runtime::GreedyDecode found =
      runtime::decode_greedily(decoder, outcome.prompt_ids, count, &cancel);
  outcome.ids = found.ids;
  outcome.text = model::token_text(model.model(), found.ids);
  outcome.logits_digest = found.logits_digest;
  if (found.step_time_s && *found.step_time_s > 0) {
    outcome.tokens_per_s = 1 / *found.step_time_s;
    const auto peak = measure::memory_peak(device.platform(), device.info());
    const auto bytes = static_cast<double>(weight_bytes(model.model(), spec));
    if (peak) outcome.share_of_peak = bytes / *found.step_time_s / peak->bytes_per_s;
  }
  return outcome;
}

report::Value decode_value(const DecodeOutcome& decode) {
  const auto list = [](const std::vector<std::uint32_t>& ids) {
    report::Array values;
    for (const std::uint32_t id : ids) values.push_back(std::uint64_t{id});
    return values;
  };
  return report::Object{{"prompt_ids", list(decode.prompt_ids)},
                        {"ids", list(decode.ids)},
                        {"text", decode.text ? report::Value(*decode.text) : report::Value()},
                        {"logits_digest", base::to_hex(decode.logits_digest)},
                        {"tokens_per_s", decode.tokens_per_s},
                        {"share_of_peak", decode.share_of_peak}};
}

std::vector<report::Line> decode_lines(const DecodeOutcome& decode) {
  std::string rate;
  if (decode.tokens_per_s) rate = fmt::format(", {:.1f} tokens/s", *decode.tokens_per_s);
  if (decode.share_of_peak) {
    rate += ", " + format_share(*decode.share_of_peak) + " of the memory bandwidth";
  }
  std::vector<report::Line> lines;
  const auto add = [&](std::string text) {
    lines.push_back({report::Tone::plain, std::move(text)});
  };
  add("decoded " + base::count_of(decode.ids.size(), "token") + " on " + decode.device + rate);
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
  add("logits  " + base::to_hex(decode.logits_digest));
  return lines;
}

}  // namespace hiptool::cli
