// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace hiptool::cli {

struct DevicesOptions {
  std::string id;                      ///< empty: all devices
  std::optional<std::string> require;  ///< "gpu", "amd" or "nvidia"
  bool doctor = false;
  bool topology = false;
};

Command devices_command();
Runner add_devices(CLI::App& app);
int run_devices(const DevicesOptions& options, Context& context);

}  // namespace hiptool::cli
