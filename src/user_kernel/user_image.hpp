// SPDX-License-Identifier: MIT
/// The user's kernels: a file with an image or with source, prepared for one device.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/compile.hpp"
#include "user_kernel/image_info.hpp"

namespace hiptool::user_kernel {

/// The compilers of kernel sources.
struct UserCompilers {
  kernel_store::Compile compile;   ///< for GPUs
  std::filesystem::path for_host;  ///< for the processor; empty: there is none
  const CancelToken* cancel = nullptr;
};

/// The file as it will be loaded: an image of the device's kind, or for the processor source.
struct UserImage {
  std::filesystem::path path;
  std::string description;       ///< "PTX source", "compiled for sm_90"
  std::string contents;          ///< all entries of a fat binary, else empty
  std::vector<std::byte> bytes;  ///< empty for source on the processor
  /// Its kernels; absent if they cannot be read from the image.
  std::optional<std::vector<KernelInfo>> kernels;
  /// The kernel that will be loaded as its source declares it; of images without a name.
  KernelInfo declared;
};

/// Reads the file and detects its kind by its content; takes the device's code object out of a
/// bundle; compiles source for a GPU. `name` is the kernel that will be loaded, if it is known: of
/// a template the instance "saxpy<float>" is compiled. Blocks.
///
/// Throws Error(input_failed) for a file that cannot be read, is neither an image nor kernel
/// source, is made for another platform or arch, or is rejected by the compiler;
/// Error(corrupt_data) for a damaged image; Error(unsupported) for source without a compiler;
/// Error(invalid_argument) for a template without its types; Error(cancelled).
UserImage read_user_image(const Device& device, const std::filesystem::path& path,
                          const UserCompilers& compilers, const std::string& name = {});

struct UserKernel {
  Kernel kernel;
  std::optional<std::vector<ArgumentInfo>> arguments;  ///< absent if unknown
};

/// Loads the image and looks the kernel up; compiles source for the processor. A C++ name without
/// types or namespaces ("saxpy") finds the only function with that name. Throws Error(not_found)
/// for an unknown kernel, else as compile_for_cpu, Module and Kernel.
UserKernel load_user_kernel(const Device& device, const UserImage& image, const std::string& name,
                            const UserCompilers& compilers);

/// A file's kernels, read without a device.
struct ModuleListing {
  std::string description;  ///< "kernel source", "an AMD code object bundle for gfx90a, gfx942"
  /// With C++ names; of a template one for each instance in the source, else an example. Sizes are
  /// 0 where a source alone does not tell them.
  std::vector<KernelInfo> kernels;
};

/// Lists the kernels of source, PTX, a cubin, a fat binary, or an AMD code object or bundle (of its
/// first target). Blocks while it reads the file. Throws Error(input_failed) for a file that cannot
/// be read or is of another kind, Error(corrupt_data) for a damaged one, and Error(unsupported)
/// where the kernels are compressed.
ModuleListing list_module(const std::filesystem::path& path);

/// The name of the kernel in the image: the same, or the only mangled C++ name of that function;
/// empty if there is none.
std::string find_user_kernel(const std::vector<KernelInfo>& kernels, const std::string& name);

/// "saxpy" of "_Z5saxpyfPf", "blas::dot<float>" of a template; other names unchanged.
std::string plain_name(const std::string& name);

}  // namespace hiptool::user_kernel
