// SPDX-License-Identifier: MIT
/// Compiling kernel sources at run time, for devices that this build has no image for.
#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::kernel_store {

/// A file that sources include; its text goes to the compiler.
struct SourceHeader {
  std::string name;  ///< as in the source: "hip/hip_runtime.h"
  std::string text;
};

struct CompileRequest {
  Platform platform = Platform::amd;
  std::string arch;    ///< of the device itself: old compilers abort for one that they do not know
  std::string name;    ///< for messages
  std::string source;  ///< the kernel source
  /// hip/hip_runtime.h, which also stands for <cuda_runtime.h> and others, and hiptool's own.
  std::vector<SourceHeader> headers;
};

/// Gives back an image for a module. Blocks, for about 0.2 s. Throws Error(unsupported) where there
/// is no compiler, Error(device) with the compiler's log where it refuses the source.
using Compile = std::function<std::vector<std::byte>(const CompileRequest&)>;

/// Compiles with hipRTC or NVRTC in this process.
std::vector<std::byte> compile_in_process(const CompileRequest& request);

/// Compiles in a child process, `program compile-kernel FILE --target ARCH --out FILE`, so that a
/// compiler which aborts or hangs costs an Error and not the process. Throws Error(device) for a
/// child that fails or dies, Error(timed_out) for one that takes longer, Error(cancelled) by the
/// token, which may be null and must outlive the function.
Compile compile_in_child(std::filesystem::path program, std::chrono::milliseconds timeout,
                         const CancelToken* cancel = nullptr);

/// Keeps what `inner` makes in files of that folder, by the content of source, headers, options and
/// compiler. A damaged file counts as none. A folder or file that another user could have written
/// is not used, and files that cannot be written are no failure: the trace, which may be null, gets
/// one warning. An empty path: no cache.
Compile with_disk_cache(Compile inner, std::filesystem::path folder,
                        std::shared_ptr<TraceSink> trace);

/// $XDG_CACHE_HOME/hiptool or ~/.cache/hiptool; empty where neither is set.
std::filesystem::path cache_folder_from_environment();

/// The platform that makes an arch: amd for "gfx90a", nvidia for "sm_90". Throws
/// Error(invalid_argument) for others.
Platform platform_of_arch(std::string_view arch);

/// The kernel source of that name, such as "fill", or a header, such as "hip/hip_runtime.h" or
/// "cpu/kernel.h". Empty for an unknown name.
using SourceText = std::function<std::string_view(std::string_view name)>;
std::string_view embedded_text(std::string_view name);

/// The headers that every source may include, for CompileRequest::headers.
std::vector<SourceHeader> embedded_headers();

}  // namespace hiptool::kernel_store
