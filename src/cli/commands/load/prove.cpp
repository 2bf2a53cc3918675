// SPDX-License-Identifier: MIT
#include "cli/commands/load/prove.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <span>
#include <utility>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "cli/commands/load/decoding.hpp"
#include "cli/commands/load/device_values.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "reference/prove/self_test.hpp"
#include "runtime/decode_tokens.hpp"

namespace hiptool::cli {
namespace {

std::vector<std::uint32_t> prompt_of(const DecoderSpec& spec, std::vector<std::uint32_t> given) {
  return given.empty() ? runtime::default_prompt(spec.vocabulary) : std::move(given);
}

}  // namespace

std::vector<std::size_t> parse_layers(const std::string& text, const std::string& option) {
  constexpr std::size_t most = 65536;
  const auto refuse = [&] {
    throw usage_error("invalid " + option + " \"" + text + "\"",
                      "give layers and ranges separated by commas, such as 0,3-5");
  };
  std::map<std::size_t, std::size_t> ranges;  // a list may name the same one thousands of times
  for (const std::string& word : split_list(text, option)) {
    const std::size_t dash = word.find('-');
    const auto first = base::parse_number<std::size_t>(word.substr(0, dash));
    const auto last =
        dash == word.npos ? first : base::parse_number<std::size_t>(word.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= most) refuse();
    std::size_t& known = ranges[*first];
    known = std::max(known, *last);
  }
  std::vector<std::size_t> layers;
  for (const auto& [first, last] : ranges) {
    const std::size_t next = layers.empty() ? 0 : layers.back() + 1;
    for (std::size_t layer = std::max(first, next); layer <= last; ++layer) layers.push_back(layer);
  }
  return layers;
}

void check_prove(const ModelFile& model, const std::vector<std::uint32_t>& prompt,
                 const std::vector<std::size_t>& layers, const std::vector<std::size_t>& observed) {
  const DecoderSpec spec = DecoderSpec::read(model);
  require_prompt(spec, prompt);
  for (const auto& [option, chosen] :
       {std::pair("--layers", &layers), std::pair("--observe", &observed)}) {
    if (chosen->empty() || chosen->back() < spec.layers.size()) continue;
    throw Error(ErrorCode::out_of_bounds, "prove",
                std::string(option) + ": the model has no layer " + std::to_string(chosen->back()),
                "choose from 0 to " + std::to_string(spec.layers.size() - 1));
  }
  require_weight_types(model, spec);
  const reference::ReferenceDecoder reference(model, spec, {});
}

void run_prove(const LoadedModel& model, const ProveRequest& request, const CancelToken& cancel,
               Progress& progress, std::optional<results::ProveOutcome>& kept) {
  const DecoderSpec spec = DecoderSpec::read(model.model());
  const std::vector<Backend> backends = decoding_backends(model);
  results::ProveOutcome outcome;
  for (const Backend& backend : backends) outcome.devices.push_back(backend.device().id());
  outcome.prompt_ids = prompt_of(spec, request.prompt);
  if (request.golden != nullptr) {
    progress.begin("digest of the files");
    const auto digest = request.model_digest ? *request.model_digest
                                             : reference::digest_of_files(model.model(), &cancel);
    reference::require_model(*request.golden, digest, request.golden_path);
    outcome.prompt_ids = request.golden->prompt_ids;
    outcome.checked_golden = request.golden_path;
  }
  outcome.trained_tokens = spec.context_length;
  const std::uint64_t tokens = outcome.prompt_ids.size();
  ModelRuntime::Options options;
  options.context_tokens = tokens;
  options.chunk_tokens = 16;  // a cancellation waits for a kernel; the reference gains no more
  ModelRuntime decoder = make_decoder(backends, model, spec, options);
  if (!request.write_logits.empty()) {
    progress.begin("logits");
    write_device_values(decoder, outcome.prompt_ids, request.write_logits, request.observed,
                        cancel);
    progress.end();
    outcome.written_logits = request.write_logits;
    for (const std::size_t layer : request.observed) {
      outcome.written_layers.push_back({layer, observed_path(request.write_logits, layer)});
    }
  }
  reference::ReferenceDecoder reference(model.model(), spec,
                                        {.sequence_tokens = tokens, .cancel = &cancel});
  reference::ProveOptions prove_options;
  prove_options.layers = request.layers;
  if (const auto& verification = model.report().verification) {
    prove_options.digests = verification->tensor_digests;
  }
  prove_options.cancel = &cancel;
  // With a golden they are layers, until one is wrong.
  const std::uint64_t layers = spec.layers.size();
  const std::uint64_t unit = request.golden != nullptr ? model.model().tensor_bytes() / layers : 1;
  const auto show = [&](std::uint64_t done, std::uint64_t total) {
    const std::uint64_t bytes = total == layers ? unit : 1;
    progress.on_progress(done * bytes, total * bytes);
  };
  // After the layers follow the output matrix and the tokens one by one, which have no bytes.
  std::atomic_bool layers_are_done = false;
  prove_options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (!layers_are_done) show(done, total);
    if (done < total || !request.layers.empty() || layers_are_done.exchange(true)) return;
    progress.end();
    progress.begin("logits");
  };
  prove_options.so_far = &outcome.result;
  outcome.model_layers = layers;
  try {
    progress.begin("prove");
    outcome.result =
        request.golden != nullptr
            ? reference::check_golden(decoder, reference, *request.golden, prove_options)
            : reference::prove(decoder, reference, outcome.prompt_ids, prove_options);
    progress.end();
    prove_options.so_far = nullptr;
    prove_options.progress = show;
    if (request.self_test && outcome.result.is_right()) {
      progress.begin("self-test");
      outcome.self_test = reference::self_test(
          model, backends, [&] { return make_decoder(backends, model, spec, options); }, reference,
          outcome.prompt_ids, prove_options);
      progress.end();
    }
  } catch (const Error& error) {
    outcome.is_interrupted = error.code() == ErrorCode::cancelled;
    if (outcome.is_interrupted && !outcome.result.layers.empty()) kept = std::move(outcome);
    throw;
  }
  kept = std::move(outcome);
}

results::ProveOutcome write_golden(const ModelFile& model, std::vector<std::uint32_t> prompt,
                                   const std::string& path, const CancelToken& cancel,
                                   Progress& progress) {
  base::OutputFile output(path, 0);
  const DecoderSpec spec = DecoderSpec::read(model);
  results::ProveOutcome outcome;
  outcome.prompt_ids = prompt_of(spec, std::move(prompt));
  outcome.trained_tokens = spec.context_length;
  const std::uint64_t tokens = outcome.prompt_ids.size();
  reference::ReferenceDecoder reference(model, spec,
                                        {.sequence_tokens = tokens, .cancel = &cancel});
  progress.begin("reference");
  reference::Golden golden =
      reference::make_golden(reference, outcome.prompt_ids, [&](std::size_t layers) {
        const std::uint64_t bytes = model.tensor_bytes();
        progress.on_progress(bytes * layers / spec.layers.size(), bytes);
      });
  progress.end();
  golden.model_digest = reference::digest_of_files(model, &cancel);
  const std::string bytes = reference::golden_file(golden);
  output.write_at(std::as_bytes(std::span(bytes)), 0);
  output.commit();
  outcome.written_golden = path;
  return outcome;
}

}  // namespace hiptool::cli
