// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"

/// Vendors' libraries for matrix products, convolutions and poolings.
namespace hiptool::ops {

/// Whether a vendor's library may compute.
enum class Library {
  none,  ///< our kernels
  /// The platform's library where one is found, first next to the bound runtime and then by its
  /// name, and computes such types and shapes; else our kernels. Tried in this order: hipBLASLt and
  /// rocBLAS, cuBLASLt and cuBLAS, or OpenBLAS (f32, f64) for products; MIOpen or cuDNN for
  /// convolutions and poolings (f32, f16). An AMD library for products is used only if its folder
  /// has kernels for the device: without them rocBLAS ends the process.
  ///
  /// Sums are as in our kernels in type and bound, in TF32 only where options allow it and never
  /// in halves (MIOpen's Winograd algorithms of halves transform in halves); their order, and so
  /// the bits, and the bits of NaN are the library's. A library that answers an error is not asked
  /// again by this Backend, and our kernels compute; library_status() has its message. No result is
  /// compared: `hiptool run-kernel matmul --lib all` does that.
  automatic
};

/// One library that calls with Library::automatic have asked for.
struct LibraryStatus {
  std::string operation;          ///< "matmul", "conv2d" or "pool2d"
  std::string library;            ///< "cuBLASLt"
  std::string version;            ///< "13.1.0"; empty if it is missing, or reports none
  std::string path;               ///< of the file; empty if none was found
  std::uint64_t calls = 0;        ///< that it computed
  std::uint64_t other_calls = 0;  ///< that the next library or our kernels took over
  std::string reason;             ///< of the last call taken over; empty if there was none
};

/// The libraries that were tried, in that order; empty before the first call that allowed one.
/// Does not block, and opens none.
[[nodiscard]] HIPTOOL_API std::vector<LibraryStatus> library_status(const Backend& backend);

}  // namespace hiptool::ops
