// SPDX-License-Identifier: MIT
#include "model/name_index.hpp"

#include <sys/random.h>
#include <xxhash.h>

namespace hiptool::model {

std::uint64_t wide_hash_of_name(std::string_view name) noexcept {
  static const std::uint64_t seed = [] {
    std::uint64_t random = 0;
    // Without random bytes a fixed seed; only crafted files make it slow.
    if (::getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) return std::uint64_t{0};
    return random;
  }();
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

}  // namespace hiptool::model
