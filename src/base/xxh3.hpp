// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hiptool::base {

/// Instructions that XXH3 is computed with; the digest is the same with all.
enum class Xxh3Path {
  library,  ///< those that the installed libxxhash was compiled for, on x86 SSE2
  avx2,
  avx512,
};

inline constexpr std::array xxh3_paths{Xxh3Path::library, Xxh3Path::avx2, Xxh3Path::avx512};

/// "library", "AVX2", "AVX-512".
std::string_view to_string(Xxh3Path path) noexcept;

/// Whether this build and this processor have the path.
bool has_xxh3_path(Xxh3Path path) noexcept;

/// The path in use: the last available one of the list.
Xxh3Path xxh3_path() noexcept;

/// For tests and benches, in the whole process. Throws Error(unsupported) for an unavailable
/// path.
void set_xxh3_path(Xxh3Path path);

/// XXH3-64 with seed 0. Any alignment; `data` may be null where `size_bytes` is 0.
std::uint64_t xxh3_64(const void* data, std::size_t size_bytes) noexcept;

}  // namespace hiptool::base
