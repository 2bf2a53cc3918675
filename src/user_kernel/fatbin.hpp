// SPDX-License-Identifier: MIT
/// CUDA's fat binaries: several images of the same kernels in one file.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "user_kernel/image_info.hpp"

namespace hiptool::user_kernel {

enum class FatbinKind {
  ptx,
  cubin,
  other,  ///< a kind that no driver loads by itself
};

struct FatbinEntry {
  FatbinKind kind = FatbinKind::other;
  unsigned arch = 0;           ///< compute capability: 90 for 9.0
  char feature = ' ';          ///< 'a': for that arch alone, 'f': for its family, else a blank
  bool is_compressed = false;  ///< LZ4 or zstd; only the driver reads it
  std::span<const std::byte> bytes;
};

/// The entries in their order. NVIDIA publishes no layout; nvcc 12 and 13 write: a
/// header of magic, version, its own size and the size of all entries; each entry a header of kind,
/// own size, size of the image, ..., arch and flags. Throws Error(corrupt_data) for an entry that
/// reaches beyond the image.
std::vector<FatbinEntry> read_fatbin(std::span<const std::byte> image);

/// The entry that a driver takes for a device: a cubin of the same major compute capability and no
/// newer minor one, the nearest; else the newest PTX that is no newer than the device (CUDA C++
/// Programming Guide, "Application Compatibility"). Null if there is none. `arch` is "sm_90".
const FatbinEntry* choose_entry(const std::vector<FatbinEntry>& entries, std::string_view arch);

/// The kernels of that entry and of those that are for the same arch; absent if one of them is
/// compressed. Throws as read_image_info.
std::optional<std::vector<KernelInfo>> kernels_of(const std::vector<FatbinEntry>& entries,
                                                  const FatbinEntry& chosen);

/// "cubin for sm_90a", "PTX for compute_75, compressed".
std::string describe(const FatbinEntry& entry);
/// All of them: "cubin for sm_75; PTX for compute_75, compressed"; "nothing".
std::string describe(const std::vector<FatbinEntry>& entries);

}  // namespace hiptool::user_kernel
