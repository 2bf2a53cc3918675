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

namespace {

/// Proves on one group of devices after the other, with one reference.
class Prover {
 public:
  Prover(const LoadedModel& model, const ProveRequest& request, const CancelToken& cancel,
         Progress& progress, results::ProveOutcome& outcome)
      : model_(model),
        request_(request),
        cancel_(cancel),
        progress_(progress),
        outcome_(outcome),
        spec_(DecoderSpec::read(model.model())) {
    outcome_.prompt_ids = prompt_of(spec_, request.prompt);
    if (request.golden != nullptr) {
      progress.begin("digest of the files");
      const auto digest = request.model_digest ? *request.model_digest
                                               : reference::digest_of_files(model.model(), &cancel);
      reference::require_model(*request.golden, digest, request.golden_path);
      outcome_.prompt_ids = request.golden->prompt_ids;
      outcome_.checked_golden = request.golden_path;
    }
    outcome_.trained_tokens = spec_.context_length;
    outcome_.model_layers = spec_.layers.size();
    options_.context_tokens = outcome_.prompt_ids.size();
    options_.chunk_tokens = 16;  // a cancellation waits for a kernel; the reference gains no more
    reference_.emplace(model.model(), spec_,
                       reference::ReferenceOptions{.sequence_tokens = outcome_.prompt_ids.size(),
                                                   .cancel = &cancel});
  }

  /// The result so far is in the outcome, also after an exception.
  void prove_on(const std::vector<Backend>& backends) {
    outcome_.result = {};
    for (const Backend& backend : backends) outcome_.devices.push_back(backend.device().id());
    ModelRuntime decoder = make_decoder(backends, model_, spec_, options_);
    if (!request_.write_logits.empty() && outcome_.written_logits.empty()) write_values(decoder);
    reference::ProveOptions options = prove_options();
    progress_.begin("prove");
    outcome_.result = request_.golden != nullptr
                          ? reference::check_golden(decoder, *reference_, *request_.golden, options)
                          : reference::prove(decoder, *reference_, outcome_.prompt_ids, options);
    progress_.end();
    if (!request_.self_test || !outcome_.result.is_right()) return;
    options.so_far = nullptr;
    options.progress = [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
    progress_.begin("self-test");
    auto planted = reference::self_test(
        model_, backends, [&] { return make_decoder(backends, model_, spec_, options_); },
        *reference_, outcome_.prompt_ids, options);
    outcome_.self_test.insert(outcome_.self_test.end(), planted.begin(), planted.end());
    progress_.end();
  }

 private:
  void write_values(ModelRuntime& decoder) {
    progress_.begin("logits");
    write_device_values(decoder, outcome_.prompt_ids, request_.write_logits, request_.observed,
                        cancel_);
    progress_.end();
    outcome_.written_logits = request_.write_logits;
    for (const std::size_t layer : request_.observed) {
      outcome_.written_layers.push_back({layer, observed_path(request_.write_logits, layer)});
    }
  }

  // With a golden they are layers, until one is wrong.
  void show(std::uint64_t done, std::uint64_t total) {
    const std::uint64_t layers = spec_.layers.size();
    const std::uint64_t unit =
        request_.golden != nullptr ? model_.model().tensor_bytes() / layers : 1;
    const std::uint64_t bytes = total == layers ? unit : 1;
    progress_.on_progress(done * bytes, total * bytes);
  }

  reference::ProveOptions prove_options() {
    reference::ProveOptions options;
    options.layers = request_.layers;
    if (const auto& verification = model_.report().verification) {
      options.digests = verification->tensor_digests;
    }
    options.cancel = &cancel_;
    // After the layers follow the output matrix and the tokens one by one, which have no bytes.
    layers_are_done_ = false;
    options.progress = [this](std::uint64_t done, std::uint64_t total) {
      if (!layers_are_done_) show(done, total);
      if (done < total || !request_.layers.empty() || layers_are_done_.exchange(true)) return;
      progress_.end();
      progress_.begin("logits");
    };
    options.so_far = &outcome_.result;
    return options;
  }

  const LoadedModel& model_;
  const ProveRequest& request_;
  const CancelToken& cancel_;
  Progress& progress_;
  results::ProveOutcome& outcome_;
  const DecoderSpec spec_;
  ModelRuntime::Options options_;
  std::optional<reference::ReferenceDecoder> reference_;
  std::atomic_bool layers_are_done_ = false;
};

}  // namespace

void run_prove(const LoadedModel& model, const ProveRequest& request, const CancelToken& cancel,
               Progress& progress, std::optional<results::ProveOutcome>& kept) {
  results::ProveOutcome outcome;
  const std::vector<std::vector<Backend>> groups = computing_groups(model);
  try {
    Prover prover(model, request, cancel, progress, outcome);
    for (const std::vector<Backend>& group : groups) {
      prover.prove_on(group);
      if (groups.size() > 1) {
        outcome.replicas.push_back({group.front().device().id(), outcome.result});
      }
    }
  } catch (const Error& error) {
    outcome.is_interrupted = error.code() == ErrorCode::cancelled;
    const bool has_some = !outcome.result.layers.empty() || !outcome.replicas.empty();
    const bool has_wrong = std::ranges::any_of(
        outcome.replicas, [](const auto& replica) { return !replica.result.is_right(); });
    if (has_wrong) outcome.choose_result();  // stays the result, whatever failed after it
    if (has_wrong || (outcome.is_interrupted && has_some)) kept = std::move(outcome);
    throw;
  }
  outcome.choose_result();
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
