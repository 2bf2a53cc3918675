// SPDX-License-Identifier: MIT
#include "load/verify/kernel_compiling.hpp"

#include <chrono>

#include "core/platform_state.hpp"
#include "kernel_store/compile.hpp"

namespace hiptool::load {
namespace {

constexpr std::chrono::seconds compile_timeout{30};

}  // namespace

kernel_store::KernelLoader::Options loader_options(const Device& device,
                                                   const std::string& compiler_program,
                                                   const CancelToken* cancel) {
  kernel_store::KernelLoader::Options options;
  if (compiler_program.empty()) return options;
  options.compile = kernel_store::with_disk_cache(
      kernel_store::compile_in_child(compiler_program, compile_timeout, cancel),
      kernel_store::cache_folder_from_environment(), core::state_of(device).trace);
  return options;
}

}  // namespace hiptool::load
