// SPDX-License-Identifier: MIT
#include "cli/failure.hpp"

#include <new>
#include <utility>

#include "cli/text.hpp"

namespace hiptool::cli {
namespace {

// Lines after the first are causes.
std::string indented(std::string text) { return replaced(std::move(text), "\n", "\n  "); }

}  // namespace

void print_error(Console& console, const Error& error) {
  const bool color = console.has_color_err();
  const std::string message = printable(error.what());
  std::string text = styled("error:", "1;31", color) + " " + indented(message) + "\n";
  const auto& native = error.native();
  if (native && message.find(native->name) == std::string::npos) {
    text += "  " + native->platform + " returned " + native->name + " (" +
            std::to_string(native->code) + ")\n";
  }
  if (!error.hint().empty()) {
    text += styled("hint:", "36", color) + " " + indented(printable(error.hint())) + "\n";
  }
  console.err(text);
}

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Error(ErrorCode::host_out_of_memory, "run", "out of host memory",
                 "close other programs or use a machine with more memory");
  }
  return Error(ErrorCode::internal, "run", std::string("internal error: ") + exception.what(),
               "this is a bug in hiptool; please report it with the output of --verbose");
}

Error usage_error(std::string message, std::string hint) {
  return Error(ErrorCode::invalid_argument, "parse options", std::move(message), std::move(hint));
}

std::string join_lines(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + "\n" + second;
}

}  // namespace hiptool::cli
