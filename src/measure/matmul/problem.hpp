// SPDX-License-Identifier: MIT
/// Products of matrices that are judged and rated, with our kernels and with vendors' libraries.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/dtype.hpp"

namespace hiptool::measure {

/// What a product is computed and summed in.
enum class MatmulCompute { f64, f32, tf32, f16 };
std::string_view to_string(MatmulCompute compute) noexcept;

/// op(A) is m x k, op(B) k x n, all row-major and packed.
struct MatmulProblem {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint64_t batch = 1;
  bool transpose_a = false;  ///< A is stored as k x m
  bool transpose_b = false;
  DType dtype = DType::f32;   ///< of A and B
  DType result = DType::f32;  ///< of C
  MatmulCompute compute = MatmulCompute::f32;

  std::uint64_t a_count() const noexcept { return batch * m * k; }
  std::uint64_t b_count() const noexcept { return batch * k * n; }
  std::uint64_t c_count() const noexcept { return batch * m * n; }
  std::uint64_t bytes() const noexcept {
    return (a_count() + b_count()) * element_size_bytes(dtype) +
           c_count() * element_size_bytes(result);
  }
  /// A multiplication and an addition for each term.
  double flops() const noexcept {
    return 2 * static_cast<double>(c_count()) * static_cast<double>(k);
  }
};

/// "4096x4096x4096": m, n and k.
std::string shape_word(const MatmulProblem& problem);
/// "nn", "tn": A first.
std::string transpose_word(const MatmulProblem& problem);
/// Parts of the id, each only where it is not the usual one: "tn", "batch8", "tf32", "to-f32".
std::vector<std::string> unusual_words(const MatmulProblem& problem);

/// What is computed in unless something else is asked for: f64 for f64, else f32.
MatmulCompute usual_compute(DType dtype) noexcept;

/// Sets m, n and k of "MxNxK". Throws Error(invalid_argument) with the accepted form.
void set_shape(MatmulProblem& problem, std::string_view text);
/// Sets the transposes of "tn".
void set_transposes(MatmulProblem& problem, std::string_view text);

/// A shape on which a library was publicly reported wrong.
struct MatmulTrap {
  std::string report;  ///< "ROCm/rocBLAS#1680"
  std::string what;    ///< library, machine and fault as reported
  MatmulProblem problem;
};
const std::vector<MatmulTrap>& matmul_traps();

/// The largest dimension is halved until the matrices fit into so many bytes. The reason if it was
/// changed, else empty.
std::string shrink_to_fit(MatmulProblem& problem, std::uint64_t free_bytes);

/// The shapes of a file, one a line: "MxNxK", then in any order "tn", "bf16", "batch=8"; blank
/// lines and "#" comments are skipped. What a line leaves out is as in `usual`; `dtypes` are those
/// that lines without a type are run with. Throws Error(invalid_argument) that names the line.
std::vector<MatmulProblem> parse_shapes(std::string_view text, const std::string& path,
                                        const MatmulProblem& usual,
                                        const std::vector<DType>& dtypes);

}  // namespace hiptool::measure
