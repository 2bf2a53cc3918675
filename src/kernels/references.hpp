// SPDX-License-Identifier: MIT
/// Kernels written for the host: the cpu platform launches them in place of the compiled sources.
#pragma once
#include <cstddef>
#include <cstring>

namespace hiptool::kernels {

/// One argument of a launch, which comes as the address of its value.
template <class Value>
Value value_at(void* const* arguments, std::size_t index) {
  Value value{};
  std::memcpy(&value, arguments[index], sizeof(Value));
  return value;
}

/// Registers the host functions of the library's kernels with the cpu platform. Only the first call
/// has an effect.
void register_references();

}  // namespace hiptool::kernels
