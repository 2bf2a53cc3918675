// SPDX-License-Identifier: MIT
/// Comparisons of our declarations of BLAS and DNN libraries with the vendors' headers; all of it
/// happens while compiling.
#pragma once
#include "interop/same_abi.hpp"

namespace hiptool::test {

/// Number for number; the compiler's message shows both.
template <long Ours, long Theirs>
constexpr void check_blas_number() {
  static_assert(Ours == Theirs);
}

template <class Ours, class Theirs>
constexpr void check_blas_call() {
  static_assert(same_abi<Ours, Theirs>());
}

}  // namespace hiptool::test
