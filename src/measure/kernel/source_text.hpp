// SPDX-License-Identifier: MIT
/// Kernel texts as text: which kernels they have, and the few words that the host's compiler does
/// not take as they are. Nothing here knows what the preprocessor would do.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::measure {

/// A function that a text marks __global__.
struct SourceKernel {
  std::string name;  ///< with its namespaces: "blas::saxpy"
  bool is_template = false;
  std::vector<std::string> instances;  ///< that the text itself makes: "<float>"
};

/// In the text's order, each name once.
std::vector<SourceKernel> list_source_kernels(std::string_view text);

/// The kernel that a name means: its whole name, or the only one whose last part it is. Template
/// arguments of the name are left out of account. Null if there is none, or more than one.
const SourceKernel* find_source_kernel(const std::vector<SourceKernel>& kernels,
                                       std::string_view name);

/// "<float>" of "saxpy<float>", without blanks; empty where there are none.
std::string template_arguments(std::string_view name);

/// `extern __shared__ T name[];` turned into what means the same to the host's compiler. Lines stay
/// where they are.
std::string with_dynamic_shared(std::string_view text);

/// What may be wrong with a text that a compiler refused; empty if nothing is seen. A text with a
/// whole program in it is told so: what compilers say first is about something else.
std::string hint_for_refused(std::string_view text);

}  // namespace hiptool::measure
