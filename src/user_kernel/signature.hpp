// SPDX-License-Identifier: MIT
/// The parameters of kernels as C++ writes them, in a source or in a mangled name.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "user_kernel/image_info.hpp"

namespace hiptool::user_kernel {

/// The parameters in a list without its parentheses: "float a, const float* __restrict__ x". Types
/// that are not known have no size.
std::vector<ArgumentInfo> parse_parameters(std::string_view list);

/// The same of a template's kernel, where names of `template_parameters` ("class T, int N") stand
/// for `arguments` ("<float, 4>"); of fewer arguments the other names stay.
std::vector<ArgumentInfo> parse_parameters(std::string_view list,
                                           std::string_view template_parameters,
                                           std::string_view arguments);

/// Arguments to try a template with: "<float, 32>" for "class T, int N"; empty for none.
std::string example_template_arguments(std::string_view template_parameters);

/// The parameters in a mangled name such as "_Z5saxpyfPKfPfj"; absent for other names.
std::optional<std::vector<ArgumentInfo>> parameters_of_symbol(const std::string& symbol);

/// Adds names and types to what an image contains, which is trusted where the two contradict each
/// other. Nothing is added if their numbers differ.
void add_types(std::vector<ArgumentInfo>& arguments, const std::vector<ArgumentInfo>& declared);

/// "float a", "const float* x", "4 bytes", "pointer": a parameter without its number.
std::string describe(const ArgumentInfo& info);

/// "float a, const float* x, u32 n"; "none" for no parameters.
std::string describe(const std::vector<ArgumentInfo>& arguments);

}  // namespace hiptool::user_kernel
