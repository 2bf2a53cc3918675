// SPDX-License-Identifier: MIT
#include "cli/commands/load/decode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/load/sampling.hpp"
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

const Device& device_of_whole_model(const LoadedModel& model) {
  const LoadPlan& plan = model.plan();
  const std::size_t tensors = model.model().tensors().size();
  for (const DevicePlan& part : plan.devices) {
    if (part.layout.placements.size() == tensors) return part.device;
  }
  throw Error(
      ErrorCode::invalid_argument, "decode",
      "the model is divided among " + std::to_string(plan.devices.size()) + " devices",
      "--decode computes on one device: choose one with --device, or use --split replicate");
}

// The weights, not the command, are what cannot be used.
ModelRuntime make_decoder(const Backend& backend, const LoadedModel& model, const DecoderSpec& spec,
                          const ModelRuntime::Options& options) {
  try {
    return ModelRuntime(backend, model, spec, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(ErrorCode::input_failed, "decode",
                model.model().path().string() + ": " + error.what(),
                "use a model with weights of a supported type");
  }
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
  const DecoderSpec spec = DecoderSpec::read(model);
  for (const std::uint32_t id : prompt) {
    if (id < spec.vocabulary) continue;
    throw Error(ErrorCode::out_of_bounds, "decode",
                "token " + std::to_string(id) + " is not in the model's vocabulary of " +
                    std::to_string(spec.vocabulary),
                "use ids of this model's tokenizer");
  }
}

DecodeOutcome run_decode(const LoadedModel& model, std::vector<std::uint32_t> prompt,
                         std::uint64_t count, const SamplingOptions& sampling,
                         const CancelToken& cancel) {
  const DecoderSpec spec = DecoderSpec::read(model.model());
  const Device device = device_of_whole_model(model);
  DecodeOutcome outcome;
  outcome.device = device.id();
  outcome.prompt_ids =
      prompt.empty() ? runtime::default_prompt(spec.vocabulary) : std::move(prompt);
  ModelRuntime::Options options;
  options.context_tokens = outcome.prompt_ids.size() + count;
  const Backend backend(device);
  ModelRuntime decoder = make_decoder(backend, model, spec, options);
  outcome.sampling = sampling;
  const runtime::DecodedTokens found =
      runtime::decode_tokens(decoder, outcome.prompt_ids, count, sampling, &cancel);
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
                        {"share_of_peak", decode.share_of_peak},
                        {"sampling", sampling_value(decode.sampling)}};
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
  if (decode.sampling.temperature > 0) add("sampled " + sampling_text(decode.sampling));
  return lines;
}

}  // namespace hiptool::cli
