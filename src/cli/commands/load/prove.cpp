// SPDX-License-Identifier: MIT
#include "cli/commands/load/prove.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "cli/commands/load/whole_model.hpp"
#include "cli/failure.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"
#include "runtime/greedy.hpp"

namespace hiptool::cli {

std::vector<std::size_t> parse_layers(const std::string& text) {
  constexpr std::size_t most = 65536;
  const auto refuse = [&] {
    throw usage_error("invalid --layers \"" + text + "\"",
                      "give layers and ranges separated by commas, such as 0,3-5");
  };
  std::vector<std::size_t> layers;
  for (const std::string& word : split_list(text, "--layers")) {
    const std::size_t dash = word.find('-');
    const auto first = base::parse_number<std::size_t>(word.substr(0, dash));
    const auto last =
        dash == word.npos ? first : base::parse_number<std::size_t>(word.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= most) refuse();
    for (std::size_t layer = *first; layer <= *last; ++layer) layers.push_back(layer);
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

void check_prove(const ModelFile& model, const std::vector<std::uint32_t>& prompt,
                 const std::vector<std::size_t>& layers) {
  const DecoderSpec spec = DecoderSpec::read(model);
  require_prompt(spec, prompt);
  if (!layers.empty() && layers.back() >= spec.layers.size()) {
    throw Error(ErrorCode::out_of_bounds, "prove",
                "--layers: the model has no layer " + std::to_string(layers.back()),
                "choose from 0 to " + std::to_string(spec.layers.size() - 1));
  }
  const prove::ReferenceDecoder reference(model, spec, {});
}

ProveOutcome run_prove(const LoadedModel& model, std::vector<std::uint32_t> prompt,
                       const std::vector<std::size_t>& layers, const CancelToken& cancel,
                       Progress& progress) {
  const DecoderSpec spec = DecoderSpec::read(model.model());
  const Device device = device_of_whole_model(model, "--prove");
  ProveOutcome outcome;
  outcome.device = device.id();
  outcome.prompt_ids =
      prompt.empty() ? runtime::default_prompt(spec.vocabulary) : std::move(prompt);
  const std::uint64_t tokens = outcome.prompt_ids.size();
  const Backend backend(device);
  ModelRuntime::Options options;
  options.context_tokens = tokens;
  ModelRuntime decoder = make_decoder(backend, model, spec, options);
  prove::ReferenceOptions reference_options;
  reference_options.sequence_tokens = tokens;
  reference_options.cancel = &cancel;
  const prove::ReferenceDecoder reference(model.model(), spec, reference_options);
  prove::ProveOptions prove_options;
  prove_options.layers = layers;
  prove_options.cancel = &cancel;
  prove_options.progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.on_progress(done, total);
  };
  progress.begin("prove");
  outcome.result = prove::prove(decoder, reference, outcome.prompt_ids, prove_options);
  progress.end();
  return outcome;
}

}  // namespace hiptool::cli
