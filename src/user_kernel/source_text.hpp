// SPDX-License-Identifier: MIT
/// Kernel sources as text: the kernels they define, and a rewrite of declarations that the host's
/// compiler does not accept. Apart from `#if 0` nothing is preprocessed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::user_kernel {

/// A function that is declared __global__.
struct SourceKernel {
  std::string name;  ///< with its namespaces: "blas::saxpy"
  bool is_template = false;
  std::vector<std::string> instances;    ///< explicit instantiations: "<float>"
  std::string parameters = {};           ///< "float a, const float* x"
  std::string template_parameters = {};  ///< "class T, int N"
  std::uint64_t max_block_threads = 0;   ///< of __launch_bounds__, if that is a number
};

/// In the order of the source, each name once.
std::vector<SourceKernel> list_source_kernels(std::string_view text);

/// The kernel with that name, or the only one whose name ends in it. Template arguments are
/// ignored. Null if there is none, or more than one.
const SourceKernel* find_source_kernel(const std::vector<SourceKernel>& kernels,
                                       std::string_view name);

/// "<float>" of "saxpy<float>", without blanks; empty if there are none.
std::string template_arguments(std::string_view name);

/// Replaces `extern __shared__ T name[];` by an equivalent for the host's compiler. Line numbers do
/// not change.
std::string with_dynamic_shared(std::string_view text);

/// A hint for a source that a compiler rejected with that output: that it contains host code, which
/// the first messages of compilers do not mention, or calls this_grid() on the processor; else
/// empty.
std::string hint_for_refused(std::string_view text, std::string_view output = {});

}  // namespace hiptool::user_kernel
