// SPDX-License-Identifier: MIT
/// Kernels of the user: a file that holds an image or a kernel text, made fit for one device.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/kernel.hpp"
#include "kernels/compile.hpp"
#include "measure/kernel/image_info.hpp"

namespace hiptool::measure {

/// What to compile texts with.
struct UserCompilers {
  kernels::Compile compile;        ///< for GPUs
  std::filesystem::path for_host;  ///< for the processor; empty: there is none
  const CancelToken* cancel = nullptr;
};

/// The file as it will be loaded: an image of the device's kind, or for the processor a text.
struct UserImage {
  std::filesystem::path path;
  std::string description;       ///< "a PTX text", "compiled for sm_90"
  std::string contents;          ///< all that a fat binary has, else empty
  std::vector<std::byte> bytes;  ///< empty for a text on the processor
  /// Kernels in it, absent where the image does not tell them.
  std::optional<std::vector<KernelInfo>> kernels;
};

/// Reads the file, whose content decides what it is; takes the device's code object out of a
/// bundle; compiles a text for a GPU. `name` is the kernel that will be asked for, if that is
/// known: of a template in a text, "saxpy<float>" is compiled. Blocks.
///
/// Throws Error(input_failed) for a file that cannot be read, is neither an image nor a kernel
/// text, is made for another platform or arch, or is refused by the compiler; Error(corrupt_data)
/// for a damaged image; Error(unsupported) where a text needs a compiler that is not there;
/// Error(invalid_argument) for a template without its types; Error(cancelled).
UserImage read_user_image(const Device& device, const std::filesystem::path& path,
                          const UserCompilers& compilers, const std::string& name = {});

struct UserKernel {
  Kernel kernel;
  std::optional<std::vector<ArgumentInfo>> arguments;  ///< absent where they are not known
};

/// Loads it and looks the kernel up; on the processor a text is compiled now. A C++ name without
/// its types or namespaces ("saxpy") finds the one function that is called so. Throws
/// Error(not_found) for one that is not there, else as compile_for_cpu, Module and Kernel.
UserKernel load_user_kernel(const Device& device, const UserImage& image, const std::string& name,
                            const UserCompilers& compilers);

/// The image's own name of the kernel: the same, or the only mangled C++ name that means it; empty
/// when there is none.
std::string find_user_kernel(const std::vector<KernelInfo>& kernels, const std::string& name);

/// "saxpy" of "_Z5saxpyfPf", "blas::dot<float>" of a template's; a name that is not mangled as it
/// is.
std::string plain_name(const std::string& name);

}  // namespace hiptool::measure
