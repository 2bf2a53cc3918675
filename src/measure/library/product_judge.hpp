// SPDX-License-Identifier: MIT
/// Data of matrix products and convolutions, and the judgement of results by sums in double (long
/// double for f64). A convolution is judged as the products that it is: for each image and group of
/// channels, weights times the elements under the filter, one column for each pixel of the result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/library/problem.hpp"
#include "measure/ops/operation.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

/// Operands as they are stored.
struct ProblemData {
  DataKind kind = DataKind::whole;
  std::uint64_t most = 8;  ///< largest magnitude of whole numbers
  std::vector<std::byte> a;
  std::vector<std::byte> b;
};

/// The same for the same seed on every machine. Random numbers are from -1 to 1; of i8 all 256,
/// with -128 in the first row of A and column of B, whose sum leaves 32 bits from 131072 terms on.
/// Whole numbers are from -8 to 8, or fewer where otherwise sums would not be exact in the type of
/// the result, or, of convolutions, where the bound would be so wide that it hides a missing term.
ProblemData make_data(const Problem& problem, DataKind kind, std::uint64_t seed);

/// How convolutions by libraries may be computed.
enum class Transforms {
  none,
  /// Winograd and Fourier transforms have factors such as 1/6: sums of whole numbers are then
  /// within the bound of real ones, and not exact.
  allowed
};

/// The bound of an error as a multiple of the root of the sum of the squared products, which a sum
/// of that many terms may have in the type that is summed in: 8 sqrt(k) u for products of f32 and
/// f64, whose sums are rounded to nearest, and (8 sqrt(k) + k / 4) u for all others, as matrix
/// units truncate theirs. Convolutions of f32 and f64 by transforms: 64 sqrt(k) u, but at most 8192
/// u where that is more than 8 sqrt(k) u. For terms of both signs: docs/kernels.md has the measured
/// errors. 0 for i8, whose sums are exact modulo 2^32.
double bound_units_of(const Problem& problem, Transforms transforms = Transforms::none);

/// Terms of sums, a product each, that this host computes in a second, with all its processors;
/// measured once for each kind of sum.
double reference_terms_per_s(DType dtype);

struct Judgement {
  std::uint64_t checked = 0;  ///< elements
  double share = 1;           ///< of all elements
  bool is_by_sums = false;    ///< whole numbers: by checksums of every row and column
  double max_error = 0;       ///< as a share of the bound
  std::optional<report::WrongData> wrong;
  bool counts_all = true;  ///< else at least that many are wrong
  std::string where;       ///< of the wrong elements: "64x64 block at [128,64]"
};

/// Judges a result. Every element is compared where that takes less than `budget_s`; else whole
/// numbers are judged by sums of all rows and columns with random weights, which are exact, and
/// random numbers in 64 rows and 64 columns and at the edges (of up to 12 matrices, or images). A
/// result is right if it is within bound_units_of() times the root of the sum of the squares of the
/// products, and half a unit of its own type; for whole numbers whose sums are exact, if it is that
/// sum.
Judgement judge_problem(const Problem& problem, const ProblemData& data,
                        std::span<const std::byte> result, double budget_s,
                        Transforms transforms = Transforms::none);

/// What rows and columns are called.
struct PlaceNames {
  std::string row = "row";
  std::string column = "column";
};

/// Where wrong elements are, from the rows and columns that have some. `count` of `judged` elements
/// in the rectangle that encloses them are wrong.
std::string describe_places(const std::vector<bool>& rows, const std::vector<bool>& columns,
                            std::uint64_t count, std::uint64_t judged,
                            const PlaceNames& names = {});

/// Calls the function for 0 to count - 1 on all processors. Passes on the first exception.
void for_each_in_threads(std::uint64_t count, const std::function<void(std::uint64_t)>& function);

}  // namespace hiptool::measure
