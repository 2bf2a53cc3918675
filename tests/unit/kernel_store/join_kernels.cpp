// SPDX-License-Identifier: MIT
// Kernels that join values of threads by hiptool_device.h.
#include "hiptool_device.h"

#include "unit/kernel_store/join_kernels.hpp"

using namespace hiptool_device;

namespace {

struct LargestAt {
  static __device__ Place join(Place a, Place b) {
    const bool is_first = a.value > b.value || (a.value == b.value && a.index < b.index);
    return is_first ? a : b;
  }
};

template <class Value>
Value* shared_values() {
  return reinterpret_cast<Value*>(dynamic_shared());
}

}  // namespace

extern "C" __global__ void test_join_32(const float* in, float* out) {
  const uint64_t i = first_unit();
  out[i] = join_32<Sum>(in[i]);
}

extern "C" __global__ void test_join_f32(const float* in, float* out) {
  const uint64_t i = first_unit();
  out[i] = join_block<Sum>(in[i], shared_values<float>());
}

extern "C" __global__ void test_join_f64(const double* in, double* out) {
  const uint64_t i = first_unit();
  out[i] = join_block<Sum, 256>(in[i], shared_values<double>());
}

// Twice, as the second one uses the same shared memory.
extern "C" __global__ void test_join_places(const float* in, Place* out) {
  const uint64_t i = first_unit();
  const Place first =
      join_block<LargestAt>(Place{in[i], static_cast<uint32_t>(i)}, shared_values<Place>());
  const Place own{in[i] == first.value ? -1.0F : in[i], static_cast<uint32_t>(i)};
  out[2 * i] = first;
  out[2 * i + 1] = join_block<LargestAt>(own, shared_values<Place>());
}

HIPTOOL_EXPORT(test_join_32);
HIPTOOL_EXPORT(test_join_f32);
HIPTOOL_EXPORT(test_join_f64);
HIPTOOL_EXPORT(test_join_places);

void keep_join_kernels() {}
