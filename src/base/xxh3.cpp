// SPDX-License-Identifier: MIT
#include "base/xxh3.hpp"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/xxh3_functions.hpp"
#include "hiptool/error.hpp"

namespace hiptool::base {
namespace {

using Function = std::uint64_t (*)(const void* data, std::size_t size_bytes) noexcept;

std::uint64_t by_library(const void* data, std::size_t size_bytes) noexcept {
  return XXH3_64bits(data, size_bytes);
}

// Null where there is none.
Function function_of(Xxh3Path path) noexcept {
  switch (path) {
    case Xxh3Path::library: return by_library;
#ifdef HIPTOOL_XXH3_X86
    // Both also check that the system saves the registers.
    case Xxh3Path::avx2: return __builtin_cpu_supports("avx2") != 0 ? xxh3_64_avx2 : nullptr;
    case Xxh3Path::avx512: return __builtin_cpu_supports("avx512f") != 0 ? xxh3_64_avx512 : nullptr;
#else
    case Xxh3Path::avx2:
    case Xxh3Path::avx512: return nullptr;
#endif
  }
  return nullptr;
}

Xxh3Path best_path() noexcept {
  return *std::find_if(xxh3_paths.rbegin(), xxh3_paths.rend(), has_xxh3_path);
}

std::atomic<Function>& chosen() noexcept {
  static std::atomic<Function> function{function_of(best_path())};
  return function;
}

}  // namespace

std::string_view to_string(Xxh3Path path) noexcept {
  switch (path) {
    case Xxh3Path::library: return "library";
    case Xxh3Path::avx2: return "AVX2";
    case Xxh3Path::avx512: return "AVX-512";
  }
  return "library";
}

bool has_xxh3_path(Xxh3Path path) noexcept { return function_of(path) != nullptr; }

Xxh3Path xxh3_path() noexcept {
  const Function function = chosen().load(std::memory_order_relaxed);
  return *std::ranges::find_if(xxh3_paths,
                               [&](Xxh3Path path) { return function_of(path) == function; });
}

void set_xxh3_path(Xxh3Path path) {
  const Function function = function_of(path);
  if (function == nullptr) {
    throw Error(ErrorCode::unsupported, "choose XXH3",
                "this processor or build has no XXH3 with " + std::string(to_string(path)));
  }
  chosen().store(function, std::memory_order_relaxed);
}

std::uint64_t xxh3_64(const void* data, std::size_t size_bytes) noexcept {
  return chosen().load(std::memory_order_relaxed)(data, size_bytes);
}

}  // namespace hiptool::base
