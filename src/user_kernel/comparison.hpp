// SPDX-License-Identifier: MIT
/// Compares the contents of a buffer with what they should be.
#pragma once
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

#include "report/measurement.hpp"
#include "user_kernel/element_type.hpp"

namespace hiptool::user_kernel {

using report::WrongData;

/// How far reals may be from the expected ones: |got - expected| <= absolute + relative *
/// |expected|, or with `of_larger` <= of_larger * max(1, |expected|).
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  std::optional<double> of_larger;

  Tolerance() = default;
  Tolerance(double larger) : of_larger(larger) {}  // NOLINT: a number alone is of_larger
  Tolerance(double rtol, double atol) : relative(rtol), absolute(atol) {}

  double slack(double expected) const {
    const double size = std::abs(expected);
    return of_larger ? *of_larger * (size > 1 ? size : 1) : absolute + relative * size;
  }
};

struct BufferComparison {
  std::optional<double> max_error;  ///< of reals: the greatest |got - expected|
  std::optional<WrongData> wrong;   ///< without `reread_agrees`
  /// Wrong ones that are zero and within the tolerance: see compare_buffer().
  std::uint64_t refused_zeros = 0;
};

/// Compares every element. Reals may differ by the tolerance, two NaN agree, whole numbers and,
/// without a tolerance, reals must be equal bit by bit. A zero for an expected value that is at
/// least 1/1000 of the root mean square of all expected ones is wrong whatever the tolerance: one
/// that accepts it could not tell the result from a kernel that writes nothing (KernelBench issue
/// 165: a softmax over 393216 has outputs of 4e-6).
BufferComparison compare_buffer(ElementType type, std::span<const std::byte> got,
                                std::span<const std::byte> expected,
                                const std::optional<Tolerance>& tolerance);

}  // namespace hiptool::user_kernel
