// SPDX-License-Identifier: MIT
#include "base/xxh3_functions.hpp"

#define XXH_INLINE_ALL  // every function of it static
#define XXH_VECTOR 3    // XXH_AVX512
#include <xxhash.h>

namespace hiptool::base {

uint64_t xxh3_64_avx512(const void* data, size_t size_bytes) noexcept {
  return XXH3_64bits(data, size_bytes);
}

}  // namespace hiptool::base
