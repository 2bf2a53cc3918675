// SPDX-License-Identifier: MIT
#include "load/verify/kernel_compiling.hpp"

#include <chrono>

#include "core/platform_state.hpp"
#include "kernels/compile.hpp"

namespace hiptool::load {
namespace {

constexpr std::chrono::seconds compile_timeout{30};

}  // namespace

kernels::KernelLoader::Options loader_options(const Device& device,
                                              const std::string& compiler_program,
                                              const CancelToken* cancel) {
  kernels::KernelLoader::Options options;
  if (compiler_program.empty()) return options;
  options.compile = kernels::with_disk_cache(
      kernels::compile_in_child(compiler_program, compile_timeout, cancel),
      kernels::cache_folder_from_environment(), core::state_of(device).trace);
  return options;
}

}  // namespace hiptool::load
