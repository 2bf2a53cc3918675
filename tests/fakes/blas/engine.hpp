// SPDX-License-Identifier: MIT
/// The products and convolutions of the fake libraries: plain loops on the host, and the faults
/// that a variable asks for.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "hip/blas.hpp"
#include "hip/dnn.hpp"

namespace hiptool::fake {

/// FAKE_<LIBRARY> ("FAKE_ROCBLAS"), else FAKE_BLAS, is one of these words:
/// error         each computing call answers an error and computes nothing
/// abort, hang   the process aborts, or the call never returns
/// abort-at-load the process aborts when the library is loaded
/// block         one 64 x 64 block of the last matrix is wrong
/// second        one element is wrong, in the second call only
/// f16           sums are rounded to halves
/// tf32          factors are rounded to TF32
/// saturate      sums of i32 stay at the largest and the smallest number instead of wrapping
/// no-i8         products of i8 are not supported
class Faults {
 public:
  explicit Faults(const char* library);  ///< "ROCBLAS"

  bool is(const char* word) const;

  /// Aborts or hangs if asked to; true if the call is to answer an error. Counts calls.
  bool enter();

  /// The next call is the first one.
  void restart() { calls_ = 0; }

  bool is_second_call() const { return calls_ == 2; }

 private:
  std::string variable_;
  int calls_ = 0;
};

/// FAKE_BLAS_MAJOR, or the library's own major version.
int reported_major(int own);

/// A product of column-major matrices as the vendors' calls state it.
struct Product {
  hip::BlasType first_type;
  hip::BlasType second_type;
  hip::BlasType out_type;
  hip::BlasCompute compute;
  bool transpose_first;
  bool transpose_second;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  const void* first;
  std::int64_t first_ld;
  std::int64_t first_stride;
  const void* second;
  std::int64_t second_ld;
  std::int64_t second_stride;
  void* out;
  std::int64_t out_ld;
  std::int64_t out_stride;
  std::int64_t batch;
  const void* alpha;  ///< in the type of the computation
  const void* beta;
};

/// Waits for the stream, where a fake runtime is in the process, and computes.
void multiply(const Product& product, void* stream, const Faults& faults);

/// The same for a convolution; pointers are those of the call.
void convolve(const hip::ConvCall& call, const Faults& faults);

/// The same for a pooling.
void pool(const hip::PoolCall& call, const Faults& faults);

}  // namespace hiptool::fake
