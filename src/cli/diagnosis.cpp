// SPDX-License-Identifier: MIT
#include "cli/diagnosis.hpp"

namespace hiptool::cli {

machine::Diagnosis diagnose(const DeviceSelection& selection,
                            const machine::ProbePatience& patience, Context& context) {
  const Environment& environment = context.environment;
  machine::DiagnosisOptions options;
  options.ids = selection.ids;
  options.platform = selection.platform;
  options.program = environment.program;
  options.root = environment.system_root;
  options.getenv = environment.getenv;
  options.patience = patience;
  options.make_platforms = [&context] { return context.make_platforms(); };
  return machine::diagnose(options, *context.notes, environment.cancel);
}

}  // namespace hiptool::cli
