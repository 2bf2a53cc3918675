// SPDX-License-Identifier: MIT
/// Matrix products, convolutions and poolings that are judged and rated, with our kernels and with
/// vendors' libraries.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hiptool/dtype.hpp"

namespace hiptool::measure {

/// What is computed and summed in.
enum class Compute { f64, f32, tf32, f16, i32 };
std::string_view to_string(Compute compute) noexcept;

/// What is computed in unless something else is asked for: f64 for f64, i32 for i8, else f32.
Compute usual_compute(DType dtype) noexcept;

/// i32 for i8, else the same.
DType usual_result(DType dtype) noexcept;

struct ProblemTypes {
  DType dtype = DType::f32;   ///< of both operands
  DType result = DType::f32;  ///< of C
  Compute compute = Compute::f32;
};

/// op(A) is m x k, op(B) k x n, all row-major and packed.
struct MatmulProblem : ProblemTypes {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint64_t batch = 1;
  bool transpose_a = false;  ///< A is stored as k x m
  bool transpose_b = false;

  std::uint64_t a_count() const noexcept { return batch * m * k; }
  std::uint64_t b_count() const noexcept { return batch * k * n; }
  std::uint64_t c_count() const noexcept { return batch * m * n; }
  std::uint64_t terms() const noexcept { return k; }  ///< of a sum
};

/// y = x * w, a cross-correlation of packed tensors: x is n x c x h x w, the weights are
/// k x c/groups x r x s. As a product of matrices, A are the weights, B is x, and C is y.
struct ConvProblem : ProblemTypes {
  std::uint64_t n = 1;
  std::uint64_t c = 1;
  std::uint64_t h = 1;
  std::uint64_t w = 1;
  std::uint64_t k = 1;
  std::uint64_t r = 1;                        ///< height of the filter
  std::uint64_t s = 1;                        ///< width of the filter
  std::array<std::uint64_t, 2> stride{1, 1};  ///< of the height and the width
  std::array<std::uint64_t, 2> padding{0, 0};
  std::array<std::uint64_t, 2> dilation{1, 1};
  std::uint64_t groups = 1;

  std::uint64_t out_height() const noexcept { return out_size(h, r, 0); }
  std::uint64_t out_width() const noexcept { return out_size(w, s, 1); }
  std::uint64_t a_count() const noexcept { return k * terms(); }
  std::uint64_t b_count() const noexcept { return n * c * h * w; }
  std::uint64_t c_count() const noexcept { return n * k * out_height() * out_width(); }
  std::uint64_t terms() const noexcept { return c / groups * r * s; }

 private:
  std::uint64_t out_size(std::uint64_t size, std::uint64_t filter, std::size_t i) const noexcept {
    return (size + 2 * padding[i] - dilation[i] * (filter - 1) - 1) / stride[i] + 1;
  }
};

/// The average or the largest element of each window that is inside an image: x, which is B, is
/// n x c x h x w, y is C, and there is no A.
struct PoolProblem : ProblemTypes {
  bool is_average = false;
  std::uint64_t n = 1;
  std::uint64_t c = 1;
  std::uint64_t h = 1;
  std::uint64_t w = 1;
  std::array<std::uint64_t, 2> window{1, 1};  ///< height and width
  std::array<std::uint64_t, 2> stride{1, 1};

  std::uint64_t out_height() const noexcept { return (h - window[0]) / stride[0] + 1; }
  std::uint64_t out_width() const noexcept { return (w - window[1]) / stride[1] + 1; }
  std::uint64_t a_count() const noexcept { return 0; }
  std::uint64_t b_count() const noexcept { return n * c * h * w; }
  std::uint64_t c_count() const noexcept { return n * c * out_height() * out_width(); }
  std::uint64_t terms() const noexcept { return window[0] * window[1]; }  ///< elements of a window
};

using Problem = std::variant<MatmulProblem, ConvProblem, PoolProblem>;

/// "matmul", "conv2d", "avg_pool2d", "max_pool2d".
enum class ProblemKind { matmul, conv2d, avg_pool2d, max_pool2d };
inline constexpr std::array problem_kinds{ProblemKind::matmul, ProblemKind::conv2d,
                                          ProblemKind::avg_pool2d, ProblemKind::max_pool2d};
ProblemKind kind_of(const Problem& problem) noexcept;
std::string_view to_string(ProblemKind kind) noexcept;
bool is_pooling(ProblemKind kind) noexcept;
/// "matrix product", "convolution", "pooling".
std::string_view noun_of(ProblemKind kind) noexcept;

const ProblemTypes& types_of(const Problem& problem) noexcept;
ProblemTypes& types_of(Problem& problem) noexcept;
/// A matrix product's own, or null.
const MatmulProblem* matmul_of(const Problem& problem) noexcept;

std::uint64_t a_count(const Problem& problem) noexcept;
std::uint64_t b_count(const Problem& problem) noexcept;
std::uint64_t c_count(const Problem& problem) noexcept;
/// Products of a sum, elements of a window.
std::uint64_t term_count(const Problem& problem) noexcept;
std::uint64_t bytes_of(const Problem& problem) noexcept;
/// A multiplication and an addition for each term; of a pooling one addition or comparison.
double flops_of(const Problem& problem) noexcept;

/// "4096x4096x4096": m, n and k; "n8c64h56w56:k64r3s3u2p1"; of a pooling "n8c64h56w56:r3s3u2".
std::string shape_word(const Problem& problem);
/// "nn", "tn": A first.
std::string transpose_word(const MatmulProblem& problem);
/// Parts of the id, each only where it is not the usual one: "tn", "batch8", "in-tf32", "to-f32".
std::vector<std::string> unusual_words(const Problem& problem);
/// Element `index` of C in words: "[3,5] of matrix 1, C", "image 0, channel 3, row 5, column 7".
std::string place_word(const Problem& problem, std::uint64_t index);

/// Sets sizes from "MxNxK", or "n8c64h56w56:k64r3s3" and after that in any order u (stride),
/// p (padding), d (dilation), each one number or two as in "u2x1", and g (groups). Of a pooling
/// "n8c64h56w56:r3s3", and u, without which windows do not overlap. Throws Error(invalid_argument)
/// with the accepted form.
void set_shape(Problem& problem, std::string_view text);
/// Sets the transposes of "tn".
void set_transposes(MatmulProblem& problem, std::string_view text);
/// Sets operands' and results' type, and the type of sums where the old one is not for it.
void set_dtype(Problem& problem, DType dtype);

/// One of that kind with the least sizes.
Problem empty_problem(ProblemKind kind);

/// The shape that is run where none is given.
Problem default_problem(ProblemKind kind, bool is_host);

/// A shape on which a library was publicly reported wrong; none is known of poolings.
struct Trap {
  std::string report;  ///< "ROCm/rocBLAS#1680"
  std::string what;    ///< library, machine and fault as reported
  Problem problem;
};
const std::vector<Trap>& traps_of(ProblemKind kind);

/// The largest dimension (of convolutions: images, then height or width) is halved until the data
/// fit into that many bytes. The reason if it was changed, else empty.
std::string shrink_to_fit(Problem& problem, std::uint64_t free_bytes);

/// The same for the shape of a trap. One of is_large_product() stays as it is on a GPU, since a
/// smaller one shows nothing, and is cut to 64 MiB on a host.
std::string fit_trap(Problem& problem, bool is_host, std::uint64_t free_bytes);

/// The shapes of a file, one a line: a shape, then in any order types and, of products, "tn" and
/// "batch=8"; blank lines and "#" comments are skipped. What a line leaves out is as in `usual`;
/// `dtypes` are those that lines without a type are run with. Throws Error(invalid_argument) that
/// names the line.
std::vector<Problem> parse_shapes(std::string_view text, const std::string& path,
                                  const Problem& usual, const std::vector<DType>& dtypes);

}  // namespace hiptool::measure
