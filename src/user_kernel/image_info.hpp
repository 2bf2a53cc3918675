// SPDX-License-Identifier: MIT
/// The kernels and targets of kernel images, read without any runtime.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/image_check.hpp"
#include "user_kernel/element_type.hpp"

namespace hiptool::user_kernel {

enum class ArgumentKind {
  unknown,  ///< the image contains only the size
  value,
  pointer,
};

struct ArgumentInfo {
  std::uint64_t size_bytes = 0;  ///< 0: unknown
  ArgumentKind kind = ArgumentKind::unknown;
  std::string name = {};  ///< "x"; empty if unknown, as the type
  std::string type = {};  ///< "const float*" of C++, "f32" of PTX
  /// The number that it is, or that a pointer points to; absent for others and if unknown.
  std::optional<ElementType> element = {};
  bool is_const = false;  ///< what a pointer points to
};

struct KernelInfo {
  std::string name;
  std::vector<ArgumentInfo> arguments;  ///< those that a launch passes, in order
  std::uint64_t max_block_threads = 0;  ///< that it was compiled for; 0: unknown
};

struct ImageInfo {
  core::ImageKind kind = core::ImageKind::unknown;
  std::string target;  ///< "gfx90a", "sm_75"; empty if unknown
  /// Absent if the kernels cannot be read: fat binaries, compressed bundles.
  std::optional<std::vector<KernelInfo>> kernels;
};

/// Reads an AMD code object (its NT_AMDGPU_METADATA note: LLVM, "User Guide for AMDGPU Backend",
/// code object V3 and later), PTX (its .entry directives: PTX ISA, "Kernel and Function
/// Directives") or a cubin (EIATTR_KPARAM_INFO of its .nv.info sections, as nvcc 13 writes them).
/// For other kinds only the kind is set. Throws Error(corrupt_data) for a damaged image and reads
/// nothing beyond its end.
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

// The readers that read_image_info uses, for one kind each.
ImageInfo read_amd_object(std::span<const std::byte> image);
ImageInfo read_cubin(std::span<const std::byte> image);
ImageInfo read_ptx(std::string_view text);

}  // namespace hiptool::user_kernel
