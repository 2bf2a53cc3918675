// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/platform.hpp"

namespace hiptool::kernel_store {

/// One embedded image of one kernel source ("digest", "fill"), or a header.
struct Image {
  std::string_view source;  ///< the .hip file's stem; the name of a header
  /// "gfx90a", "sm_60" or "sm_90a" of PTX, "sm_90" of a cubin, "cpu"; "source" is the source
  /// itself, "header" what kernel sources include, "cpu-header" what they need on the processor
  /// besides
  std::string_view target;
  /// PTX and texts end in NUL, counted. Empty where the image is packed: see unpacked().
  std::span<const std::byte> bytes;
  std::span<const std::byte> packed = {};  ///< an .xz file
  std::uint64_t unpacked_bytes = 0;        ///< of a packed image
  bool is_cubin = false;                   ///< of a packed image
  /// u32 place and u32 value of each byte that is not as in what is packed.
  std::span<const std::byte> changes = {};

  /// A source or header, which no device can load.
  bool is_text() const {
    return target == "source" || target == "header" || target == "cpu-header";
  }
  std::string_view text() const {  ///< without the NUL
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return all.substr(0, all.find('\0'));
  }
};

/// The image with its bytes, which live to the end of the process. Unpacks each image once; blocks
/// for 12 ms per MiB of it then. Throws Error(internal) for damaged bytes.
Image unpacked(const Image& image);

/// All that this build embeds; without any device compiler only texts and "cpu". What devices load
/// is packed.
std::span<const Image> embedded_images();

/// The images for an arch, unpacked, best first; a later one is for a driver that refuses the one
/// before it. For amd the equal gfx name (up to ':'), for cpu its table; for nvidia those for its
/// architecture alone ("sm_90a" on 9.0), then the highest cubin that the device runs, then the PTX
/// of the highest sm_ that is not above the device's.
std::vector<Image> choose_images(std::string_view source, Platform platform, std::string_view arch);

/// The first of them; absent when there is none.
std::optional<Image> choose_image(std::string_view source, Platform platform,
                                  std::string_view arch);

/// Whether there is one; unpacks nothing.
bool has_image(std::string_view source, Platform platform, std::string_view arch);

/// Stem of the source that exports the kernel (`HIPTOOL_EXPORT(name);`); empty where none does.
std::string_view source_of_kernel(std::string_view name);

/// Targets of the build, for --version and summaries: "gfx900", ..., "sm_60", "cpu".
std::vector<std::string_view> embedded_targets();

}  // namespace hiptool::kernel_store
