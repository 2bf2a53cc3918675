// SPDX-License-Identifier: MIT
#include "cli/output/failure.hpp"

#include <utility>

#include "base/host_error.hpp"
#include "base/text.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

// Lines after the first are causes.
std::string indented(std::string text) { return base::replaced(std::move(text), "\n", "\n  "); }

}  // namespace

void print_error(Console& console, const Error& error) {
  const bool color = console.has_color_err();
  const std::string message = report::printable_lines(error.what());
  std::string text = styled("error:", "1;31", color) + " " + indented(message) + "\n";
  const auto& native = error.native();
  if (native && message.find(native->name) == std::string::npos) {
    text += "  " + native->platform + " returned " + native->name + " (" +
            std::to_string(native->code) + ")\n";
  }
  console.err(text);
  print_hint(console, error);
}

void print_hint(Console& console, const Error& error) {
  if (error.hint().empty()) return;
  console.err(styled("hint:", "36", console.has_color_err()) + " " +
              indented(report::printable_lines(error.hint())) + "\n");
}

Error as_error(const std::exception& exception) { return base::to_error(exception); }

Error usage_error(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse options", std::move(message), std::move(hint));
}

std::string join_lines(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + "\n" + second;
}

}  // namespace hiptool::cli
