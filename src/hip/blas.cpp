// SPDX-License-Identifier: MIT
#include "hip/blas.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hip/gemm_call.hpp"

namespace hiptool::hip {
namespace {

/// The combinations that at least one library computes.
bool is_known_product(const GemmCall& call) {
  if (call.a_type != call.b_type) return false;
  const BlasType in = call.a_type;
  const BlasType out = call.c_type;
  switch (call.compute) {
    case BlasCompute::f64: return in == BlasType::f64 && out == BlasType::f64;
    case BlasCompute::f32:
      return (in == BlasType::f32 && out == BlasType::f32) ||
             (is_half(in) && (out == in || out == BlasType::f32));
    case BlasCompute::f32_fast_tf32: return in == BlasType::f32 && out == BlasType::f32;
    case BlasCompute::f16: return in == BlasType::f16 && out == BlasType::f16;
    case BlasCompute::i32:
      return in == BlasType::i8 && out == BlasType::i32 && std::trunc(call.alpha) == call.alpha &&
             std::trunc(call.beta) == call.beta;
  }
  return false;
}

/// IEEE half of a number, rounded to nearest even. Only for alpha and beta.
std::uint16_t to_half(double value) {
  if (value != value) return 0x7e00;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  constexpr double overflow = 65520;
  if (magnitude == 0) return sign;
  if (magnitude >= overflow) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  constexpr int least_exponent = -13;  // of the smallest normal number, 2^-14
  constexpr int mantissa_bits = 11;
  exponent = std::max(exponent, least_exponent);
  const double scaled = std::ldexp(magnitude, mantissa_bits - exponent);
  const auto mantissa = static_cast<std::uint32_t>(std::nearbyint(scaled));
  // The hidden bit adds one to the exponent's field, a carry of the rounding another.
  const auto field = static_cast<std::uint32_t>(exponent - least_exponent) << 10;
  return static_cast<std::uint16_t>(sign | (field + mantissa));
}

template <class Number>
void store(unsigned char* bits, Number number) {
  std::memcpy(bits, &number, sizeof(number));
}

}  // namespace

bool is_half(BlasType type) { return type == BlasType::f16 || type == BlasType::bf16; }

std::string_view to_string(BlasType type) noexcept {
  switch (type) {
    case BlasType::f64: return "f64";
    case BlasType::f32: return "f32";
    case BlasType::f16: return "f16";
    case BlasType::bf16: return "bf16";
    case BlasType::i8: return "i8";
    case BlasType::i32: return "i32";
  }
  return "?";
}

std::size_t size_of(BlasType type) noexcept {
  switch (type) {
    case BlasType::f64: return 8;
    case BlasType::f32:
    case BlasType::i32: return 4;
    case BlasType::f16:
    case BlasType::bf16: return 2;
    case BlasType::i8: return 1;
  }
  return 0;
}

std::string_view to_string(BlasCompute compute) noexcept {
  switch (compute) {
    case BlasCompute::f64: return "f64";
    case BlasCompute::f32: return "f32";
    case BlasCompute::f32_fast_tf32: return "tf32";
    case BlasCompute::f16: return "f16";
    case BlasCompute::i32: return "i32";
  }
  return "?";
}

std::string_view to_string(BlasKind kind) noexcept {
  switch (kind) {
    case BlasKind::rocblas_tensile: return "rocblas";
    case BlasKind::rocblas_hipblaslt: return "rocblas-hipblaslt";
    case BlasKind::hipblaslt: return "hipblaslt";
    case BlasKind::cublas: return "cublas";
    case BlasKind::cublaslt: return "cublaslt";
    case BlasKind::openblas: return "openblas";
  }
  return "?";
}

std::vector<BlasKind> list_blas(Platform platform) {
  switch (platform) {
    case Platform::amd:
      return {BlasKind::rocblas_tensile, BlasKind::rocblas_hipblaslt, BlasKind::hipblaslt};
    case Platform::nvidia: return {BlasKind::cublas, BlasKind::cublaslt};
    case Platform::cpu: return {BlasKind::openblas};
  }
  return {};
}

const BlasLibrary& find_blas(BlasKind kind) {
  switch (kind) {
    case BlasKind::rocblas_tensile: {
      static const BlasLibrary library = amd::open_rocblas(false);
      return library;
    }
    case BlasKind::rocblas_hipblaslt: {
      static const BlasLibrary library = amd::open_rocblas(true);
      return library;
    }
    case BlasKind::hipblaslt: {
      static const BlasLibrary library = amd::open_hipblaslt();
      return library;
    }
    case BlasKind::cublas: {
      static const BlasLibrary library = nvidia::open_cublas();
      return library;
    }
    case BlasKind::cublaslt: {
      static const BlasLibrary library = nvidia::open_cublaslt();
      return library;
    }
    case BlasKind::openblas: break;
  }
  static const BlasLibrary library = cpu::open_openblas();
  return library;
}

ColumnMajorGemm to_column_major(const GemmCall& call) {
  return {call.transpose_b, call.transpose_a, call.n,       call.m,      call.k,
          call.b,           call.a,           call.b_type,  call.a_type, call.ldb,
          call.lda,         call.stride_b,    call.stride_a};
}

bool is_empty(const GemmCall& call) { return call.m == 0 || call.n == 0 || call.batch == 0; }

int check_gemm(const GemmCall& call) {
  if (!is_known_product(call)) return blas_types;
  if (call.m < 0 || call.n < 0 || call.batch < 0) return blas_invalid_call;
  if (is_empty(call)) return 0;
  if (call.k < 1 || call.a == nullptr || call.b == nullptr || call.c == nullptr) {
    return blas_invalid_call;
  }
  const bool is_wide = call.lda >= (call.transpose_a ? call.m : call.k) &&
                       call.ldb >= (call.transpose_b ? call.k : call.n) && call.ldc >= call.n;
  if (!is_wide || call.stride_a < 0 || call.stride_b < 0) return blas_invalid_call;
  // Two products in one place would have no order.
  const bool is_apart = call.batch == 1 || (call.stride_c >= call.n &&
                                            (call.stride_c - call.n) / call.ldc >= call.m - 1);
  return is_apart ? 0 : blas_invalid_call;
}

bool fits_32_bits(const GemmCall& call) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t number :
       {call.m, call.n, call.k, call.lda, call.ldb, call.ldc, call.batch}) {
    if (number > most) return false;
  }
  return true;
}

GemmScalar::GemmScalar(double value, BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f64: store(bits_, value); return;
    case BlasCompute::f32:
    case BlasCompute::f32_fast_tf32: store(bits_, static_cast<float>(value)); return;
    case BlasCompute::f16: store(bits_, to_half(value)); return;
    case BlasCompute::i32: store(bits_, static_cast<std::int32_t>(value)); return;
  }
}

BlasType scalar_type(BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f64: return BlasType::f64;
    case BlasCompute::f32:
    case BlasCompute::f32_fast_tf32: return BlasType::f32;
    case BlasCompute::f16: return BlasType::f16;
    case BlasCompute::i32: return BlasType::i32;
  }
  return BlasType::f32;
}

std::string refusal_text(int result, const std::string& library) {
  switch (result) {
    case blas_invalid_call:
      return "invalid sizes for " + library +
             ": each must be at least 1, and a leading dimension at least the width of a row";
    case blas_too_large:
      return "a size is beyond 32 bits, and this " + library + " has no 64-bit call";
    case blas_types: return library + " does not compute this combination of types";
    case blas_no_algorithm: return library + " has no algorithm for this call and workspace";
    case blas_other_backend:
      return library +
             " already runs with its other backend: it reads ROCBLAS_USE_HIPBLASLT once per "
             "process; use another process";
    case blas_old_library:
      return "this " + library + " is too old: its numbers for types are different";
    case blas_no_device: return library + " was not started: its runtime reports no device";
    case blas_alignment: return library + " multiplies i8 whose rows begin at multiples of 4 bytes";
    default: return {};
  }
}

bool has_i8_alignment(const GemmCall& call) {
  constexpr std::uint64_t line = 4;
  const auto is_aligned = [](std::int64_t stride) {
    return static_cast<std::uint64_t>(stride) % line == 0;
  };
  return reinterpret_cast<std::uintptr_t>(call.a) % line == 0 &&
         reinterpret_cast<std::uintptr_t>(call.b) % line == 0 && is_aligned(call.lda) &&
         is_aligned(call.ldb) &&
         (call.batch == 1 || (is_aligned(call.stride_a) && is_aligned(call.stride_b)));
}

}  // namespace hiptool::hip
