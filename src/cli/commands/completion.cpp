// SPDX-License-Identifier: MIT
#include "cli/commands/completion.hpp"

#include "cli/completion.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {

Command completion_command() {
  return {
      .name = "completion",
      .summary = "write a completion script for a shell",
      .examples = {{"source <(hiptool completion bash)", "for this bash"},
                   {"hiptool completion zsh > ~/.zfunc/_hiptool", "for zsh, in its fpath"},
                   {"hiptool completion fish | source", "for this fish"}},
      .formats = {OutputFormat::table, OutputFormat::json, OutputFormat::csv,
                  OutputFormat::markdown},
      .takes_devices = false,
      .has_own_format = false,
      .add = add_completion,
  };
}

Runner add_completion(CLI::App& app) {
  auto options = std::make_shared<CompletionOptions>();
  add_choice(app, "SHELL", "", options->shell, {"bash", "zsh", "fish"}, "the shell");
  return {[options](Context& context) { return run_completion(*options, context); }};
}

int run_completion(const CompletionOptions& options, Context& context) {
  if (!options.shell) {
    throw Error(ErrorCode::invalid_argument, "completion", "which shell is it for?",
                "hiptool completion bash, zsh or fish");
  }
  CommandTree tree;
  const std::string script =
      completion_script(*options.shell, describe_commands(tree), describe_common_options(tree));
  if (context.output.format() != OutputFormat::json) {
    context.environment.console.out(script);  // a script, whatever HIPTOOL_FORMAT says
    return exit_done;
  }
  report::Run run = make_run(context.environment, "completion", "ok");
  finish_run(run, context.environment, nullptr);
  report::Report report = report::start_report(std::move(run));
  report.document.emplace_back("shell", *options.shell);
  report.document.emplace_back("script", script);
  context.output.write(report);
  return exit_done;
}

}  // namespace hiptool::cli
