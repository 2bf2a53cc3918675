// SPDX-License-Identifier: MIT
/// HIP's device language for the host compiler (C++17): kernel sources include it through
/// <hip/hip_runtime.h>. The cpu platform runs the compiled kernels, one fiber for each thread that
/// has to wait. Names are HIP's own, so the rules for names do not apply here.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

// A block runs wholly on one system thread. Sanitizers cannot watch thread-local variables, so for
// them there is one block at a time in the process, and its shared memory is static.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define __shared__ static
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __shared__ static
#endif
#endif
#ifndef __shared__
#define __shared__ static thread_local
#endif

// Lanes join in one wait, but for the thread sanitizer: what orders that would hide races from it.
#define HIPTOOL_JOINS_LANES
#if defined(__SANITIZE_THREAD__)
#undef HIPTOOL_JOINS_LANES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef HIPTOOL_JOINS_LANES
#endif
#endif

/// Shared memory of the size that the launch asks for, aligned to 128 bytes.
#define HIP_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::hiptool_cpu::dynamic_shared())

/// Registers a kernel by its name; used at namespace scope after the kernel.
#define HIPTOOL_EXPORT(kernel)                                      \
  [[maybe_unused]] static const bool hiptool_is_exported_##kernel = \
      ::hiptool_cpu::export_kernel<&kernel>(#kernel)

namespace hiptool_cpu {

struct Index {
  unsigned x;
  unsigned y;
  unsigned z;
};

struct Argument {
  std::size_t offset_bytes;
  std::size_t size_bytes;
  bool is_pointer;
};

// Defined by the cpu platform. The variables belong to the thread that runs; __thread, because
// thread_local would call a function at each use.
extern __thread Index threadIdx;
extern __thread Index blockIdx;
extern __thread Index blockDim;
extern __thread Index gridDim;
extern __thread int warpSize;

void register_kernel(const char* name, const Argument* arguments, std::size_t count,
                     void (*run_thread)(void* const* arguments));
void wait_at_barrier(int line);
/// The value of another lane of the warp, which waits at the same line; else the own value.
std::uint64_t exchange(std::uint64_t value, unsigned source_lane, int line);
unsigned lane();
void* dynamic_shared();

/// Gets what 32 lanes gave the addresses of; null where no lane waits at the same line.
using JoinLanes = void (*)(void* const* of_lanes);
/// Returns after `join` was called once for the 32 lanes around this one.
void join_lanes(void* own, JoinLanes join, int line);
/// The caller, the first thread of its block, does the work of all that have not begun.
void work_alone();

/// What the C ABI says of a kernel's arguments, and a call with their addresses.
template <auto Kernel>
struct Thunk;

template <class... Values, void (*Kernel)(Values...)>
struct Thunk<Kernel> {
  static_assert((std::is_trivially_copyable_v<Values> && ...), "arguments are copied as bytes");
  static constexpr std::size_t count = sizeof...(Values);

  static constexpr auto make_table() {
    std::array<Argument, count == 0 ? 1 : count> places{};
    [[maybe_unused]] std::size_t end = 0;
    [[maybe_unused]] std::size_t next = 0;
    ((end = (end + alignof(Values) - 1) / alignof(Values) * alignof(Values),
      places[next++] = {end, sizeof(Values), std::is_pointer_v<Values>}, end += sizeof(Values)),
     ...);
    return places;
  }
  static constexpr auto table = make_table();

  template <class Value>
  static Value load(const void* from) {
    std::remove_cv_t<Value> value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }

  template <std::size_t... Places>
  static void call([[maybe_unused]] void* const* arguments, std::index_sequence<Places...>) {
    Kernel(load<Values>(arguments[Places])...);
  }

  static void run_thread(void* const* arguments) {
    call(arguments, std::index_sequence_for<Values...>{});
  }
};

template <auto Kernel>
bool export_kernel(const char* name) {
  using Own = Thunk<Kernel>;
  register_kernel(name, Own::table.data(), Own::count, &Own::run_thread);
  return true;
}

template <class Value>
Value exchange_value(Value value, unsigned source_lane, int line) {
  static_assert(std::is_arithmetic_v<Value> && (sizeof(Value) == 4 || sizeof(Value) == 8));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  bits = exchange(bits, source_lane, line);
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Joins each value with that of the lane whose number differs by `from`, then by half of it, and
/// so on until `to`: what as many exchanges would give, by one wait. The distances are below 32.
template <class Join, unsigned from, unsigned to, std::size_t count, class Value>
void join_across(Value* values, int line = __builtin_LINE()) {
  constexpr auto join_all = [](void* const* of_lanes) {
    for (unsigned distance = from; distance >= to; distance /= 2) {
      Value before[32][count];
      for (unsigned lane = 0; lane < 32; ++lane) {
        if (of_lanes[lane] != nullptr) std::memcpy(before[lane], of_lanes[lane], sizeof(*before));
      }
      for (unsigned lane = 0; lane < 32; ++lane) {
        if (of_lanes[lane] == nullptr) continue;
        const unsigned other = of_lanes[lane ^ distance] != nullptr ? lane ^ distance : lane;
        auto* const own = static_cast<Value*>(of_lanes[lane]);
        for (std::size_t i = 0; i < count; ++i) {
          own[i] = Join::join(before[lane][i], before[other][i]);
        }
      }
    }
  };
  join_lanes(values, join_all, line);
}

/// First lane of the part of the warp, `width` lanes wide (a power of 2), that the lane is in.
inline unsigned first_lane(unsigned lane, int width) {
  return lane & ~(static_cast<unsigned>(width) - 1);
}

/// Replaces *place by change(*place) atomically and returns the old value.
template <class Value, class Change>
Value atomic_change(Value* place, Change change) {
  Value old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  Value changed = change(old);
  while (
      !__atomic_compare_exchange(place, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    changed = change(old);
  }
  return old;
}

/// Keeps an argument out of type deduction: atomicAdd(&counter, 1) takes the counter's type.
template <class Value>
struct Same {
  using Type = Value;
};

}  // namespace hiptool_cpu

using hiptool_cpu::blockDim;
using hiptool_cpu::blockIdx;
using hiptool_cpu::gridDim;
using hiptool_cpu::threadIdx;
using hiptool_cpu::warpSize;

// Kernels read any buffer by these, whatever was written there.
struct __attribute__((may_alias, aligned(16))) uint4 {
  unsigned x, y, z, w;
};
struct __attribute__((may_alias, aligned(16))) float4 {
  float x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline void __syncthreads(int line = __builtin_LINE()) { hiptool_cpu::wait_at_barrier(line); }

template <class Value>
Value __shfl(Value value, int source_lane, int width = warpSize, int line = __builtin_LINE()) {
  const unsigned inside = static_cast<unsigned>(source_lane) & (static_cast<unsigned>(width) - 1);
  const unsigned first = hiptool_cpu::first_lane(hiptool_cpu::lane(), width);
  return hiptool_cpu::exchange_value(value, first + inside, line);
}

template <class Value>
Value __shfl_up(Value value, unsigned delta, int width = warpSize, int line = __builtin_LINE()) {
  const unsigned own = hiptool_cpu::lane();
  const bool has_source = delta <= own - hiptool_cpu::first_lane(own, width);
  return hiptool_cpu::exchange_value(value, has_source ? own - delta : own, line);
}

template <class Value>
Value __shfl_down(Value value, unsigned delta, int width = warpSize, int line = __builtin_LINE()) {
  const unsigned own = hiptool_cpu::lane();
  const unsigned after = hiptool_cpu::first_lane(own, width) + static_cast<unsigned>(width) - own;
  return hiptool_cpu::exchange_value(value, delta < after ? own + delta : own, line);
}

template <class Value>
Value __shfl_xor(Value value, int mask, int width = warpSize, int line = __builtin_LINE()) {
  const unsigned own = hiptool_cpu::lane();
  const unsigned end = hiptool_cpu::first_lane(own, width) + static_cast<unsigned>(width);
  const unsigned source = own ^ static_cast<unsigned>(mask);
  return hiptool_cpu::exchange_value(value, source < end ? source : own, line);
}

template <class Value>
Value atomicAdd(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  if constexpr (std::is_integral_v<Value>) {
    return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
  } else {
    return hiptool_cpu::atomic_change(place, [value](Value old) { return old + value; });
  }
}

template <class Value>
Value atomicMin(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return hiptool_cpu::atomic_change(place,
                                    [value](Value old) { return value < old ? value : old; });
}

template <class Value>
Value atomicMax(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return hiptool_cpu::atomic_change(place,
                                    [value](Value old) { return old < value ? value : old; });
}

template <class Value>
Value atomicOr(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return __atomic_fetch_or(place, value, __ATOMIC_RELAXED);
}

inline float __uint_as_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline std::uint32_t __float_as_uint(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline long long __double_as_longlong(double value) {
  long long bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline double __hiloint2double(int high, int low) {
  const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 |
                             static_cast<std::uint32_t>(low);
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
