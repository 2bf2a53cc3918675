// SPDX-License-Identifier: MIT
#include "cli/commands/load/decode.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "cli/commands/load/decoding.hpp"
#include "cli/commands/load/sampling.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/model_runtime.hpp"
#include "measure/peak.hpp"
#include "model/token_text.hpp"
#include "runtime/decode_tokens.hpp"

namespace hiptool::cli {
namespace {

// The share of the time of a token that its bytes need at the peak of each device's memory; absent
// where a peak is not known.
measure::Share share_of_peak(const LoadedModel& model, const DecoderSpec& spec,
                             std::span<const Backend> backends, double step_time_s) {
  double least_time_s = 0;
  std::string cause;
  for (const Backend& backend : backends) {
    const Device& device = backend.device();
    const auto peak = measure::memory_peak(device.platform(), device.info());
    if (!peak) return measure::no_share("the peak memory bandwidth is not known");
    const auto bytes = static_cast<double>(bytes_of_token(model, spec, device));
    least_time_s += bytes / peak->bytes_per_s;
    if (cause.empty()) cause = measure::cache_cause(bytes, device.info().l2_cache_bytes);
  }
  return measure::share_of(least_time_s, step_time_s, "the peak memory bandwidth", cause);
}

}  // namespace

std::vector<std::uint32_t> parse_prompt_ids(const std::string& text) {
  std::vector<std::uint32_t> ids;
  for (const std::string& word : split_list(text, "--prompt-ids")) {
    const auto id = base::parse_number<std::uint32_t>(word);
    if (!id) {
      throw usage_error(
          "invalid --prompt-ids \"" + text + "\"",
          "hiptool has no tokenizer: give token ids separated by commas, such as 504,3575,282");
    }
    ids.push_back(*id);
  }
  return ids;
}

void check_decode(const ModelFile& model, const std::vector<std::uint32_t>& prompt) {
  const DecoderSpec spec = DecoderSpec::read(model);
  require_weight_types(model, spec);
  require_prompt(spec, prompt);
}

void run_decode(const LoadedModel& model, std::vector<std::uint32_t> prompt, std::uint64_t count,
                const SamplingOptions& sampling, const CancelToken& cancel, Console& console,
                results::DecodeOutcome& outcome) {
  const DecoderSpec spec = DecoderSpec::read(model.model());
  const std::vector<Backend> backends = computing_groups(model).front();
  for (const Backend& backend : backends) outcome.devices.push_back(backend.device().id());
  outcome.prompt_ids =
      prompt.empty() ? runtime::default_prompt(spec.vocabulary) : std::move(prompt);
  const auto make_runtime = [&](std::uint64_t context_tokens) {
    ModelRuntime::Options options;
    options.context_tokens = context_tokens;
    return make_decoder(backends, model, spec, options);
  };
  outcome.sampling = sampling;
  outcome.wanted = count;
  outcome.trained_tokens = spec.context_length;
  runtime::DecodedTokens found;
  console.set_step("decode");
  found.on_id = [&] {
    console.set_step("decode", fmt::format("{} of {} tokens", found.ids.size(), count));
  };
  try {
    runtime::decode_tokens(make_runtime, spec.rope, outcome.prompt_ids, count, sampling, cancel,
                           found);
  } catch (...) {
    outcome.ids = found.ids;
    throw;
  }
  outcome.ids = found.ids;
  outcome.text = model::token_text(model.model(), found.ids);
  outcome.logits_digest = found.logits_digest;
  if (found.step_time_s && *found.step_time_s > 0) {
    outcome.tokens_per_s = 1 / *found.step_time_s;
    const measure::Share share = share_of_peak(model, spec, backends, *found.step_time_s);
    outcome.share_of_peak = share.value;
    outcome.share_reason = share.value ? share.remark : share.missing;
    outcome.is_above_peak = share.is_above;
  }
}

}  // namespace hiptool::cli
