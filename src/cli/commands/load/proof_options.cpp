// SPDX-License-Identifier: MIT
#include "cli/commands/load/arguments.hpp"
#include "cli/commands/load/decode.hpp"
#include "cli/commands/load/prove.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {

OptionHelp model_help() {
  return OptionHelp("model files, folders, or names in a local cache")
      .with_details(
          "also a shard, an index, a blob or manifest of Ollama or Docker; names such as "
          "org/name or llama3.2:1b");
}

OptionHelp prompt_help() {
  return OptionHelp("token ids of the prompt, such as 504,3575,282")
      .with_default("eight fixed ids");
}

void add_proof_options(CLI::App& app, LoadArguments& options, ProofTexts& texts) {
  add_text(app, "--layers", "LIST", texts.layers, "compare only these layers, such as 0,3-5");
  add_text(app, "--write-golden", "FILE", options.write_golden,
           OptionHelp("write the host's reference for --check-golden")
               .with_details("computed once; opens no device"));
  add_text(app, "--check-golden", "FILE", options.check_golden,
           OptionHelp("compare with a golden file")
               .with_details("written by --write-golden for this model; skips the host reference"));
  add_text(app, "--write-logits", "FILE", options.write_logits,
           OptionHelp("write the device's logits as an .npy file")
               .with_details("of each token of the prompt, decoded one by one; for numpy: f32, "
                             "prompt x vocabulary"));
  add_text(app, "--observe", "LIST", texts.observe,
           OptionHelp("with --write-logits: write outputs of these layers")
               .with_details("such as 0,3-5, each to a file next to it: FILE.layer3.npy, prompt x "
                             "embedding"));
}

void parse_proof_options(const ProofTexts& texts, LoadArguments& options) {
  if (!texts.prompt_ids.empty()) options.prompt_ids = parse_prompt_ids(texts.prompt_ids);
  if (!texts.layers.empty()) options.layers = parse_layers(texts.layers, "--layers");
  if (!texts.observe.empty()) options.observed = parse_layers(texts.observe, "--observe");
}

std::vector<OptionRule> rules_of_proof(const char* proof) {
  std::vector<OptionRule> rules{{"--layers",
                                 {},
                                 {"--write-golden", "--check-golden"},
                                 {},
                                 "a golden is of all layers",
                                 "leave out --layers"},
                                {"--write-golden",
                                 {},
                                 {"--check-golden"},
                                 {},
                                 "--write-golden and --check-golden cannot be combined",
                                 "give one of them"}};
  rules.push_back({"--observe", {"--write-logits"}});
  // A golden is computed on the host: nothing is loaded, and no device is opened.
  for (const char* option : {"--verify", "--sha256", "--io", "--split", "--context", "--self-test",
                             "--check-tensors", "--write-logits", "--device", "--platform"}) {
    rules.push_back({option, {}, {"--write-golden"}});
  }
  if (proof == nullptr) return rules;
  for (const char* option : {"--layers", "--write-golden", "--check-golden", "--write-logits"}) {
    rules.insert(rules.begin(), {option, {proof}});
  }
  return rules;
}

}  // namespace hiptool::cli
