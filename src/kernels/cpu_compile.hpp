// SPDX-License-Identifier: MIT
/// Kernel texts for the processor: compiled by the host's C++ compiler when they are asked for.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::kernels {

/// Names of the functions that a text marks __global__, in its order, each once. Comments, texts
/// and what the preprocessor would do are left out of account.
std::vector<std::string> list_source_kernels(std::string_view text);

/// The first of c++, g++ and clang++ in the folders of a PATH; empty when there is none.
std::filesystem::path find_host_compiler(std::string_view search_path);

/// Compiles that file, loads the result, which stays for the process, and registers the kernel with
/// the cpu platform. Gives back the name it has there: the kernel's own, with a number behind where
/// that is taken. The file may include <hip/hip_runtime.h>, which is hiptool's, and what lies
/// beside it.
///
/// Blocks for about a second. Throws Error(unsupported) without a compiler (empty path),
/// Error(input_failed) with the compiler's words where it refuses the text or the result does not
/// load, Error(timed_out) where it takes longer than a minute.
std::string compile_for_cpu(const std::filesystem::path& source, const std::string& kernel,
                            const std::filesystem::path& compiler);

}  // namespace hiptool::kernels
