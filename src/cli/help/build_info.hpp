// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace hiptool::cli {

/// Compiler and library versions, from the build system.
struct BuildInfo {
  std::string_view compiler;
  std::string_view build_type;
  std::string_view cli11;
  std::string_view nlohmann_json;
  std::string_view xxhash;
  std::string_view nettle;
};

BuildInfo build_info() noexcept;

}  // namespace hiptool::cli
