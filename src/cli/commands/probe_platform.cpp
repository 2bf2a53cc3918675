// SPDX-License-Identifier: MIT
#include "cli/commands/probe_platform.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include <string_view>

#include "cli/device_option.hpp"
#include "cli/exit_code.hpp"
#include "hiptool/error.hpp"
#include "measure/doctor/probe.hpp"

namespace hiptool::cli {

bool is_probe_platform(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "probe-platform";
}

int run_probe_platform(int argc, const char* const* argv, Environment& environment) {
  if (argc != 4) {
    throw Error(ErrorCode::invalid_argument, "probe-platform",
                "usage: hiptool probe-platform NAME ROOT");
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Platform platform = parse_platform(argv[2]);
  measure::ProbeOptions options;
  options.root = argv[3];
  Platforms::Options platform_options = Platforms::Options::from_environment();
  platform_options.system_root = argv[3];
  const auto platforms = environment.make_platforms(std::move(platform_options));
  measure::probe_platform(*platforms, platform, options, [&](const measure::Record& record) {
    environment.console.out(measure::to_text(record));
  });
  return exit_done;
}

}  // namespace hiptool::cli
