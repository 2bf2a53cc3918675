// SPDX-License-Identifier: MIT
#include "hip/dnn.hpp"

#include <limits>

#include "hip/conv_call.hpp"

namespace hiptool::hip {
namespace {

bool is_conv_type(const ConvCall& call) {
  const bool is_float = call.type == BlasType::f32;
  switch (call.compute) {
    case BlasCompute::f64: return call.type == BlasType::f64;
    case BlasCompute::f32:
      return is_float || call.type == BlasType::f16 || call.type == BlasType::bf16;
    case BlasCompute::f32_fast_tf32: return is_float;
    case BlasCompute::f16:
    case BlasCompute::i32: break;
  }
  return false;
}

}  // namespace

std::string_view to_string(DnnKind kind) noexcept {
  return kind == DnnKind::miopen ? "miopen" : "cudnn";
}

std::optional<DnnKind> dnn_of(Platform platform) {
  switch (platform) {
    case Platform::amd: return DnnKind::miopen;
    case Platform::nvidia: return DnnKind::cudnn;
    case Platform::cpu: break;
  }
  return std::nullopt;
}

const DnnLibrary& find_dnn(DnnKind kind) {
  if (kind == DnnKind::miopen) {
    static const DnnLibrary library = amd::open_miopen();
    return library;
  }
  static const DnnLibrary library = nvidia::open_cudnn();
  return library;
}

bool is_empty(const ConvCall& call) {
  return call.n == 0 || call.k == 0 || call.out_height() == 0 || call.out_width() == 0;
}

int check_conv(const ConvCall& call) {
  if (!is_conv_type(call)) return blas_types;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t size : {call.n, call.k, call.pad_h, call.pad_w}) {
    if (size < 0) return blas_invalid_call;
    if (size > most) return blas_too_large;
  }
  for (const std::int64_t size : {call.c, call.h, call.w, call.r, call.s, call.stride_h,
                                  call.stride_w, call.dilation_h, call.dilation_w, call.groups}) {
    if (size < 1) return blas_invalid_call;
    if (size > most) return blas_too_large;
  }
  const bool is_divided = call.c % call.groups == 0 && call.k % call.groups == 0;
  return is_divided ? 0 : blas_invalid_call;
}

int check_pool(const PoolCall& call) {
  if (call.type != BlasType::f32 && call.type != BlasType::f16) return blas_types;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t size :
       {call.n, call.c, call.h, call.w, call.r, call.s, call.stride_h, call.stride_w}) {
    if (size < 1) return blas_invalid_call;
    if (size > most) return blas_too_large;
  }
  return call.r <= call.h && call.s <= call.w ? 0 : blas_invalid_call;
}

ConvKey key_of(const ConvCall& call) {
  return {static_cast<int>(call.type),
          static_cast<int>(call.compute),
          {call.n, call.c, call.h, call.w, call.k, call.r, call.s, call.pad_h, call.pad_w,
           call.stride_h, call.stride_w, call.dilation_h, call.dilation_w, call.groups},
          call.workspace_bytes,
          call.measures};
}

}  // namespace hiptool::hip
