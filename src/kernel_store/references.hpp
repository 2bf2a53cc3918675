// SPDX-License-Identifier: MIT
/// Kernels written for the host: the cpu platform launches them in place of the compiled sources.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hiptool::kernel_store {

/// One argument of a launch, which comes as the address of its value.
template <class Value>
Value value_at(void* const* arguments, std::size_t index) {
  Value value{};
  std::memcpy(&value, arguments[index], sizeof(Value));
  return value;
}

/// Lowers a number that several streams may share to the value, if that is less.
inline void lower_to(std::uint64_t& shared, std::uint64_t value) {
  std::atomic_ref least(shared);
  for (std::uint64_t known = least.load(); known > value;) {
    if (least.compare_exchange_weak(known, value)) break;
  }
}

/// Registers all host functions with the cpu platform. Only the first call has an effect.
void register_references();

/// Those of bench_references.cpp, for register_references.
void register_bench_references();

}  // namespace hiptool::kernel_store
