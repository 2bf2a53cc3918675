// SPDX-License-Identifier: MIT
/// Kernel sources for the processor, compiled by the host's C++ compiler when they are requested.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "hiptool/cancel.hpp"

namespace hiptool::user_kernel {

/// The first of c++, g++ and clang++ in the folders of a PATH; empty when there is none.
std::filesystem::path find_host_compiler(std::string_view search_path);

/// Compiles the file, loads the result for the rest of the process and registers the kernel with
/// the cpu platform. Returns its name there: the kernel's own, followed by a number if that is
/// taken; `kernel` may have namespaces and template arguments. The file may include files of its
/// folder, and what is hiptool's: <hip/hip_runtime.h>, <cuda_runtime.h>, the headers of half types,
/// hiptool_device.h.
///
/// Blocks for about a second. Throws Error(unsupported) without a compiler (empty path);
/// Error(input_failed) with the compiler's message if it rejects the source, if the kernel has more
/// __shared__ variables than the device has memory for them, or if the result does not load;
/// Error(timed_out) after a minute; Error(host_out_of_memory) if the compiler needs more than 4
/// GiB; Error(cancelled).
std::string compile_for_cpu(const std::filesystem::path& source, const std::string& kernel,
                            const std::filesystem::path& compiler,
                            const CancelToken* cancel = nullptr);

/// Called when a kernel of compile_for_cpu calls exit, _exit, _Exit or quick_exit; must not return.
using KernelExit = void (*)(int code);

/// Without a handler, or with a null one, such a call aborts. Returns the previous handler.
KernelExit set_kernel_exit(KernelExit handler) noexcept;

}  // namespace hiptool::user_kernel
