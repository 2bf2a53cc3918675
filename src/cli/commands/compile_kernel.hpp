// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::cli {

/// The command that hiptool calls itself by, in a child process, because old run-time compilers may
/// abort: `hiptool compile-kernel FILE --target ARCH --out FILE`. It is in no help.
bool is_compile_kernel(int argc, const char* const* argv);

/// Compiles and gives back the exit code; throws Error for everything that went wrong.
int run_compile_kernel(int argc, const char* const* argv);

}  // namespace hiptool::cli
