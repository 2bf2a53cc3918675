// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

namespace hiptool::cli {

std::unique_ptr<Platforms> Context::make_platforms() const {
  Platforms::Options options = Platforms::Options::from_environment();
  options.trace = notes;
  options.system_root = environment.system_root.string();
  return environment.make_platforms(std::move(options));
}

}  // namespace hiptool::cli
