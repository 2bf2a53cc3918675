// SPDX-License-Identifier: MIT
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/commands/completion/scripts.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

std::string completion_script(const std::string& shell, const ProgramDoc& program) {
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return bash_script(program);
}

int run_completion(const std::optional<std::string>& shell, Context& context) {
  if (!shell) {
    throw Error(ErrorCode::invalid_argument, "completion", "no shell given",
                "run `hiptool completion bash`, `zsh` or `fish`");
  }
  CommandTree tree;
  const std::string script = completion_script(*shell, describe(tree));
  if (context.output.format() != OutputFormat::json) {
    context.environment.console.out(script);  // the bare script in every other format
    return exit_done;
  }
  report::Run run = make_run(context.environment, "completion", "ok");
  finish_run(run, context.environment, nullptr);
  report::Report report = report::start_report(std::move(run));
  report.document.emplace_back("shell", *shell);
  report.document.emplace_back("script", script);
  context.output.write(report);
  return exit_done;
}

Runner add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::optional<std::string>>();
  add_choice(app, "SHELL", "", *shell, {"bash", "zsh", "fish"}, "shell to print the script for");
  return {[shell](Context& context) { return run_completion(*shell, context); }};
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .summary = "print a shell completion script",
      .description =
          "Prints the completion script of a shell to standard output. Packages and `meson "
          "install` install the scripts where the shells find them, so this is only needed "
          "for a binary that was copied alone.",
      .examples = {{"source <(hiptool completion bash)", "enable it in this bash"},
                   {"hiptool completion zsh > ~/.zfunc/_hiptool", "install it for zsh"},
                   {"hiptool completion fish | source", "enable it in this fish"}},
      .formats = usual_formats,
      .add = add_completion,
  };
}

}  // namespace hiptool::cli
