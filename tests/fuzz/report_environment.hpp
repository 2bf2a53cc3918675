// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cli/environment.hpp"
#include "cli/output/console.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::fuzz {

class Nowhere final : public cli::TextStream {
 public:
  int write(std::string_view) noexcept override { return 0; }
  bool is_terminal() const noexcept override { return false; }
  std::optional<std::size_t> columns() const noexcept override { return std::nullopt; }
};

/// One in which nothing is printed.
inline const cli::Environment& silent_environment() {
  static Nowhere nowhere;
  static const auto no_variable = [](const char*) { return std::optional<std::string>(); };
  static cli::Console console(nowhere, nowhere, no_variable);
  static CancelToken cancel;
  static const cli::Environment environment{console, cancel, [] { return 0; }, nullptr,
                                            no_variable};
  return environment;
}

}  // namespace hiptool::fuzz
