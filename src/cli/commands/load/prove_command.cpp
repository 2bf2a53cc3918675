// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/load/arguments.hpp"
#include "cli/commands/load/split.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {
namespace {

Runner add_prove(CLI::App& app) {
  auto options = std::make_shared<LoadArguments>();
  auto split = std::make_shared<std::string>();
  auto texts = std::make_shared<ProofTexts>();
  options->command = "prove";
  options->prove = true;
  add_words(app, "PATH", options->paths, model_help());
  begin_group(app, "What to compare");
  add_text(app, "--prompt-ids", "LIST", texts->prompt_ids, prompt_help());
  add_proof_options(app, *options, *texts);
  add_flag(app, "--self-test", options->plants_faults,
           OptionHelp("then plant five faults and check that each is named")
               .with_details("one at a time in the weights on the device; exit 5 if the proof does "
                             "not name the layer and tensor of each, or decoding"));
  begin_group(app, "Loading");
  add_text(app, "--split", "HOW", *split,
           OptionHelp("divide the model over several devices")
               .with_values({"layer", "replicate"})
               .with_default("layer"));
  add_text(app, "--trace", "FILE", options->trace,
           OptionHelp("write a timeline").with_details("for ui.perfetto.dev or chrome://tracing"));
  add_flag(app, "--strict", options->strict, "reject files that violate their specification");
  add_flag(app, "--force", options->force,
           OptionHelp("let outputs replace any file")
               .with_details("without it --write-golden, --write-logits and --observe replace only "
                             "an earlier golden or .npy file"));
  return {[options, split, texts](Context& context) {
            parse_proof_options(*texts, *options);
            options->split = split->empty() ? LoadSplit{SplitKind::layer, {}} : parse_split(*split);
            return run_load(*options, context);
          },
          [options, texts](const Environment& environment) {
            parse_proof_options(*texts, *options);  // a file for each observed layer
            return files_of_load(*options, environment);
          }};
}

std::vector<OptionRule> rules_of_prove() {
  std::vector<OptionRule> rules = rules_of_proof(nullptr);
  rules.insert(rules.begin(), {"--force", {"--write-golden", "--write-logits"}});
  return rules;
}

}  // namespace

Command prove_command() {
  return {
      .name = "prove",
      .summary = "prove that a device computes a model right, layer by layer",
      .description =
          "Loads a model onto a device, verifies every byte, computes a prompt there and compares "
          "every layer, and the logits end to end, with a computation in double precision on the "
          "processor. Exit 5 names the first wrong tensor, the device and the element. A result "
          "is right if it is within the bound of the arithmetic, whatever the order of "
          "additions.\n\n"
          "`hiptool inspect MODEL` shows whether the architecture is supported, and "
          "`hiptool load MODEL --dry-run` how much memory and time a proof needs. The reference "
          "takes most of the time: --write-golden computes it once, without a device, and "
          "--check-golden compares a device with it.",
      .examples = {{"hiptool prove model.gguf", "on the largest GPU"},
                   {"hiptool prove model.gguf --device all", "its layers over all GPUs"},
                   {"hiptool prove model.gguf --layers 0-3", "only these layers"},
                   {"hiptool prove model.gguf --self-test", "see that a fault is found"},
                   {"hiptool prove model.gguf --write-logits l.npy", "for numpy"},
                   {"hiptool prove model.gguf --write-golden m.golden", "without a device"},
                   {"hiptool prove model.gguf --check-golden m.golden", "with that file"}},
      .formats = usual_formats,
      .export_formats = {OutputFormat::html, OutputFormat::svg, OutputFormat::gha,
                         OutputFormat::bmf, OutputFormat::junit, OutputFormat::prom},
      .usual_devices = "largest GPU",
      .add = add_prove,
      .rules = rules_of_prove(),
  };
}

}  // namespace hiptool::cli
