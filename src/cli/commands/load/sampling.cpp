// SPDX-License-Identifier: MIT
#include "cli/commands/load/sampling.hpp"

#include <optional>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"

namespace hiptool::cli {
namespace {

double parse_real(const std::string& text, const std::string& option, double otherwise,
                  const std::string& hint) {
  if (text.empty()) return otherwise;
  const std::optional<double> number = base::parse_number<double>(text);
  if (!number) throw usage_error("invalid " + option + " \"" + text + "\"", hint);
  return *number;
}

}  // namespace

void add_sampling_options(CLI::App& app, SamplingArguments& target) {
  add_text(app, "--temperature", "T", target.temperature,
           OptionHelp("draw tokens at random, by e^(logit / T)")
               .with_details("0 takes the most likely one")
               .with_default("0"));
  add_count(app, "--top-k", target.top_k, "draw only among the N most likely tokens", 1);
  add_text(app, "--top-p", "P", target.top_p,
           OptionHelp("draw only among tokens of this total probability")
               .with_details("the most likely ones that together have the probability P"));
  add_count(app, "--seed", target.seed,
            OptionHelp("seed of the random numbers (Philox)")
                .with_details("the same seed gives the same ids on every device")
                .with_default("0"));
}

SamplingOptions parse_sampling(const SamplingArguments& arguments) {
  SamplingOptions options;
  const std::string temperature_hint = "give 0 or a number above it, such as 0.8";
  options.temperature = parse_real(arguments.temperature, "--temperature", 0, temperature_hint);
  options.top_k = arguments.top_k;
  const std::string top_p_hint = "give a share above 0, at most 1, such as 0.95";
  options.top_p = parse_real(arguments.top_p, "--top-p", 1, top_p_hint);
  options.seed = arguments.seed;
  try {
    require_valid(options);
  } catch (const Error& error) {
    throw usage_error(error.what(), error.hint());
  }
  if (options.temperature > 0) return options;
  if (!arguments.top_p.empty() || options.top_k > 0 || options.seed > 0) {
    throw usage_error("--top-k, --top-p and --seed apply only to tokens that are drawn at random",
                      "add --temperature T, such as 0.8");
  }
  return options;
}

}  // namespace hiptool::cli
