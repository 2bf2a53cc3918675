// SPDX-License-Identifier: MIT
/// The implementations that are compared: our kernels and vendors' libraries.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/platform.hpp"
#include "hiptool/stream.hpp"
#include "measure/library/problem.hpp"

namespace hiptool::measure {

/// "own", and of products "own-exact", and the libraries of all platforms: what --lib takes besides
/// "all". Of poolings there are only own, miopen and cudnn. "openblas" of convolutions is our way,
/// with products by OpenBLAS.
std::vector<std::string> implementations_of(ProblemKind kind);
/// Ours and the platform's libraries, for "all".
std::vector<std::string> implementations_of(ProblemKind kind, Platform platform);
/// Whether it is code of a vendor, which may abort or hang: then it runs in a child process.
bool is_library(std::string_view implementation);

/// One problem with one implementation, on a stream.
class Computation {
 public:
  virtual ~Computation() = default;
  /// Chooses what runs; blocks, with MIOpen for seconds.
  virtual void prepare() {}
  /// Whether Winograd or Fourier transforms may be used, by which sums of whole numbers are
  /// inexact.
  virtual bool may_transform() const { return false; }
  /// Queues the problem on operands A and B, with results C.
  virtual void queue(const Buffer& a, const Buffer& b, const Buffer& c) = 0;
};

/// The library that was found, or refused.
struct LibraryFile {
  std::string version;
  std::string path;
};

/// Opens an implementation; `file` is set also where this throws. Device memory that a library may
/// use is 32 MiB for products and at most 256 MiB for convolutions. Throws Error(unsupported) for a
/// missing library and for a problem that the implementation does not compute, and Error(device)
/// for one that failed; so do the calls.
std::unique_ptr<Computation> open_computation(const StreamRef& stream, const Problem& problem,
                                              const std::string& implementation, LibraryFile& file);

}  // namespace hiptool::measure
