// SPDX-License-Identifier: MIT
/// Parses option values of run-kernel. All functions throw Error(invalid_argument) that names the
/// option.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/kernel.hpp"
#include "measure/ops/arrangement.hpp"
#include "results/run_kernel/report.hpp"

namespace hiptool::cli {

/// "X[,Y[,Z]]", each from 1 to 2^32 - 1.
Dim3 parse_dimensions(const std::string& text, const std::string& option);

/// "4096x4096": 1 to 8 numbers from 1; empty for an empty text.
std::vector<std::uint64_t> parse_shape(const std::string& text);

/// The layouts of --layout; `only_of_any_shape` refuses those that are shapes.
std::vector<measure::Arrangement> parse_layouts(const std::vector<std::string>& lists,
                                                bool only_of_any_shape);
std::vector<std::string> layout_names();

/// A whole number; 1 for an empty text.
std::uint64_t parse_seed(const std::string& text);

/// "I:print:N" or "I:FILE".
results::OutputWord parse_output(const std::string& text);

/// "I:FILE".
struct ExpectWord {
  std::size_t argument = 0;
  std::string file;
};
ExpectWord parse_expect(const std::string& text);

/// The file in "I:FILE", and that in "buf:TYPE:COUNT:file:PATH"; empty if there is none. These two
/// throw nothing.
std::string file_of_indexed(const std::string& text);
std::string file_of_argument(const std::string& text);

/// A number from 0, or "rtol=R,atol=A" with one or both in any order; absent for an empty text.
std::optional<user_kernel::Tolerance> parse_tolerance(const std::string& text);

}  // namespace hiptool::cli
