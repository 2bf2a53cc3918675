// SPDX-License-Identifier: MIT
#include "cli/commands/load/arguments.hpp"
#include "cli/commands/load/decode.hpp"
#include "cli/commands/load/prove.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {

void add_proof_options(CLI::App& app, LoadArguments& options, ProofTexts& texts) {
  add_text(app, "--layers", "LIST", texts.layers, "compare only these layers, such as 0,3-5");
  add_text(app, "--write-golden", "FILE", options.write_golden,
           "write what the device is compared with, computed once on the host; opens no device");
  add_text(app, "--check-golden", "FILE", options.check_golden,
           "compare with such a file of this model, in the time of the device alone");
  add_text(app, "--write-logits", "FILE", options.write_logits,
           "write the device's logits of each token of the prompt, decoded one by one, as an .npy "
           "file for numpy: f32, prompt x vocabulary");
  add_text(app, "--observe", "LIST", texts.observe,
           "also write the outputs of these layers, such as 0,3-5, each to a file next to it: "
           "FILE.layer3.npy, prompt x embedding");
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
                                 "--write-golden and --check-golden are two runs",
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
