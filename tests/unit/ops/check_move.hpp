// SPDX-License-Identifier: MIT
/// Tensors whose elements are compared as bits, whatever their dtype is.
#pragma once
#include <algorithm>

#include "unit/ops/check_operation.hpp"

namespace hiptool::test {

/// A whole type of the same size.
inline DType bits_dtype(DType dtype) {
  switch (element_size_bytes(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::i32;
    default: return DType::i64;
  }
}

/// The same memory as a tensor of the dtype and as one of whole numbers.
struct Bits {
  Bits(const Backend& of, DType dtype, std::span<const std::uint64_t> dims, Placement placement,
       const reference::Values* values = nullptr)
      : backend(of),
        bits(place(of, bits_dtype(dtype), dims, placement)),
        tensor(bits.buffer(), dtype, bits.layout()) {
    if (values != nullptr) write(backend, bits, *values);
  }

  /// Also that nothing around the elements has changed.
  void check(const reference::Values& wanted) const {
    check_result(bits.dtype(), read(backend, bits), {wanted, {}});
  }

  Backend backend;
  Tensor bits;
  Tensor tensor;
};

/// Elements of a tensor that has its memory for itself.
inline void check_bits(const Backend& backend, const Tensor& tensor,
                       const reference::Values& wanted) {
  REQUIRE(std::ranges::equal(tensor.dims(), wanted.dims));
  const Tensor bits(tensor.buffer(), bits_dtype(tensor.dtype()), tensor.layout());
  std::vector<std::byte> bytes(tensor.size_bytes());
  backend.synchronize();
  bits.copy_to_host(bytes);
  check_result(bits.dtype(), bytes, {wanted, {}});
}

/// The code of the Error that the function throws; internal when it throws none.
template <class Function>
ErrorCode code_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

inline Tensor placed(const Backend& backend, DType dtype, const reference::Values& values,
                     Placement placement) {
  const Tensor tensor = place(backend, dtype, values.dims, placement);
  write(backend, tensor, values);
  return tensor;
}

}  // namespace hiptool::test
