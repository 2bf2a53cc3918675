// SPDX-License-Identifier: MIT
/// `devices --doctor`: queries each driver in a separate process and examines the machine.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"
#include "machine/doctor/doctor.hpp"
#include "machine/doctor/probe.hpp"
#include "machine/inventory.hpp"

namespace hiptool::machine {

struct Diagnosis {
  Inventory inventory;
  Evidence evidence;
  std::vector<Check> checks;
};

struct DiagnosisOptions {
  std::vector<std::string> ids;      ///< "nvidia:0", "all", uuid, bus id; empty: all devices
  std::optional<Platform> platform;  ///< only devices of this one
  bool is_brief = false;             ///< looks at links while they are idle; no peers, no libraries
  std::filesystem::path program;     ///< queries drivers in processes of its own; empty: this one
  std::filesystem::path root = "/";
  std::function<std::optional<std::string>(const char* name)> getenv;
  ProbePatience patience;  ///< of each call of a driver in another process
  std::function<std::unique_ptr<Platforms>()> make_platforms;  ///< none of them opened
};

/// Queries the selected platforms and keeps the selected devices. No driver is opened in this
/// process if the options name a program, where the patience limits each call. Throws
/// Error(unavailable) for a device that does not exist.
Diagnosis diagnose(const DiagnosisOptions& options, TraceSink& trace, const CancelToken& cancel);

}  // namespace hiptool::machine
