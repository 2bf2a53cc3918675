// SPDX-License-Identifier: MIT
#include "cli/diagnosis.hpp"

namespace hiptool::cli {

machine::DiagnosisOptions diagnosis_options(const Context& context) {
  const Environment& environment = context.environment;
  machine::DiagnosisOptions options;
  options.program = environment.program;
  options.root = environment.system_root;
  options.getenv = environment.getenv;
  options.make_platforms = [&context] { return context.make_platforms(); };
  return options;
}

}  // namespace hiptool::cli
