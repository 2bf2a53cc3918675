// SPDX-License-Identifier: MIT
/// Kernel texts for the processor: compiled by the host's C++ compiler when they are asked for.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "hiptool/cancel.hpp"

namespace hiptool::measure {

/// The first of c++, g++ and clang++ in the folders of a PATH; empty when there is none.
std::filesystem::path find_host_compiler(std::string_view search_path);

/// Compiles that file, loads the result, which stays for the process, and registers the kernel with
/// the cpu platform. Gives back the name it has there: the kernel's own, with a number behind where
/// that is taken; `kernel` may have namespaces and template arguments. The file may include
/// <hip/hip_runtime.h>, <cuda_runtime.h> and the headers of half types, which are hiptool's, and
/// what lies beside it.
///
/// Blocks for about a second. Throws Error(unsupported) without a compiler (empty path),
/// Error(input_failed) with the compiler's words where it refuses the text, the kernel has more
/// __shared__ variables than the device has or the result does not load, Error(timed_out) where it
/// takes longer than a minute, Error(host_out_of_memory) where the compiler needs more than 4 GiB,
/// Error(cancelled).
std::string compile_for_cpu(const std::filesystem::path& source, const std::string& kernel,
                            const std::filesystem::path& compiler,
                            const CancelToken* cancel = nullptr);

/// Called when a kernel of compile_for_cpu calls exit or one of its kind; must not return.
using KernelExit = void (*)(int code);

/// Without one, and when the given one is null, such a call aborts. Gives back the one before.
KernelExit set_kernel_exit(KernelExit handler) noexcept;

}  // namespace hiptool::measure
