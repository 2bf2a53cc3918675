// SPDX-License-Identifier: MIT
/// What kernel images say of themselves, read without any runtime.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/image_check.hpp"

namespace hiptool::measure {

enum class ArgumentKind {
  unknown,  ///< the image tells the size only
  value,
  pointer,
};

struct ArgumentInfo {
  std::uint64_t size_bytes = 0;
  ArgumentKind kind = ArgumentKind::unknown;
};

struct KernelInfo {
  std::string name;
  std::vector<ArgumentInfo> arguments;  ///< those that a launch gives, in order
};

struct ImageInfo {
  core::ImageKind kind = core::ImageKind::unknown;
  std::string target;  ///< "gfx90a", "sm_75"; empty where it is not told
  /// Absent where the image's kernels cannot be told: fat binaries, compressed bundles.
  std::optional<std::vector<KernelInfo>> kernels;
};

/// Reads an AMD code object (its NT_AMDGPU_METADATA note: LLVM, "User Guide for AMDGPU Backend",
/// code object V3 and later), a PTX text (its .entry directives: PTX ISA, "Kernel and Function
/// Directives") or a cubin (EIATTR_KPARAM_INFO of its .nv.info sections, as nvcc 13 writes them).
/// Of other kinds only the kind is told. Throws Error(corrupt_data) for one that contradicts
/// itself. Nothing is read beyond the image.
ImageInfo read_image_info(std::span<const std::byte> image);

/// One entry of clang's bundle of code objects.
struct BundleEntry {
  std::string_view target;  ///< "hipv4-amdgcn-amd-amdhsa--gfx90a"
  std::span<const std::byte> bytes;
};

/// Throws Error(corrupt_data) for entries that reach beyond the image.
std::vector<BundleEntry> read_bundle(std::span<const std::byte> bundle);

/// The processor of a target id: "gfx90a" of "amdgcn-amd-amdhsa--gfx90a:xnack+".
std::string_view processor_of(std::string_view target);

// The readers behind read_image_info, for one kind each.
ImageInfo read_amd_object(std::span<const std::byte> image);
ImageInfo read_cubin(std::span<const std::byte> image);
ImageInfo read_ptx(std::string_view text);

}  // namespace hiptool::measure
