// SPDX-License-Identifier: MIT
#include "cli/commands/report.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/commands/report_compare.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

Error usage_error(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse options", std::move(message), std::move(hint));
}

// "3%", "3 %" or "0.03".
double parse_effect(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const double share = rest == "%" ? number / 100 : number;
  if (error == std::errc{} && (rest.empty() || rest == "%") && share > 0 && share < 1) return share;
  throw usage_error(fmt::format("--effect: '{}' is no share between 0 and 100 %", text),
                    "write it as --effect 3% or --effect 0.03");
}

void check_options(const ReportOptions& options) {
  check_choice(options.action, {"compare"}, "ACTION");
  const bool is_compare = options.action == "compare";
  if (is_compare && options.files.size() != 2) {
    throw usage_error(fmt::format("report compare takes two files, got {}", options.files.size()),
                      "write it as: hiptool report compare OLD NEW");
  }
}

int run_report(const ReportOptions& options, Context& context) {
  check_options(options);
  return run_report_compare(options, context);
}

Runner add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  auto effect = std::make_shared<std::string>();
  add_required_text(app, "ACTION", "", options->action, "compare");
  add_words(app, "FILE", options->files, "JSON documents that hiptool wrote");
  add_text(app, "--effect", "SHARE", *effect,
           "compare: changes below it are of no consequence, 3% if not given");
  return [options, effect](Context& context) {
    if (!effect->empty()) options->effect = parse_effect(*effect);
    return run_report(*options, context);
  };
}

}  // namespace

Command report_command() {
  Command command;
  command.name = "report";
  command.summary = "compare results of earlier runs";
  command.examples = {
      {"hiptool report compare old.json new.json", "is it slower? exit 1 if so"},
  };
  command.formats = {OutputFormat::table, OutputFormat::json, OutputFormat::csv,
                     OutputFormat::markdown};
  command.add = add_report;
  return command;
}

}  // namespace hiptool::cli
