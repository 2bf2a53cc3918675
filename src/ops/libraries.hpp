// SPDX-License-Identifier: MIT
/// The vendors' libraries of one Backend: their handles, workspace, and what became of calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "hip/blas.hpp"
#include "hip/dnn.hpp"
#include "hiptool/conv.hpp"
#include "hiptool/libraries.hpp"
#include "ops/matmul_launch.hpp"

namespace hiptool::ops {

class Libraries {
 public:
  Libraries(const Device& device, const StreamRef& stream);
  /// Waits for the stream if a library was opened, as its handle may be in use.
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  /// Whether a library is usable, which multiply() then asks; if not, that counts as a call.
  bool can_multiply(const Backend& backend);

  /// True if a library has queued the product, which has results; else our kernels are to compute
  /// it. Throws Error(device) where a library failed and the old output, which is a part of the
  /// result, may be lost.
  bool multiply(const Backend& backend, MatrixProduct product, const MatmulOptions& options);

  /// The same for a convolution of checked tensors that have elements. May block for seconds at the
  /// first call with a shape. Throws what copies and memory for them throw.
  bool convolve(const Backend& backend, const Tensor& x, const Tensor& weights,
                const ConvOptions& options, Tensor& out);

  /// The same for a pooling of a checked tensor that has results, in [images, channels, height,
  /// width].
  bool pool(const Backend& backend, const Tensor& x, const HeightWidth& window,
            const HeightWidth& stride, bool is_largest, Tensor& out);

  std::vector<LibraryStatus> status() const;

 private:
  template <class Api>
  struct Entry {
    LibraryStatus status;
    const Api* api = nullptr;
    void* handle = nullptr;
    bool is_usable = false;
  };
  using BlasEntry = Entry<hip::BlasApi>;
  using DnnEntry = Entry<hip::DnnApi>;

  void open_products(const Backend& backend);
  void open_images(std::vector<DnnEntry>& entries, const char* operation) const;
  template <class Api, class Library>
  static void open_entry(Entry<Api>& entry, const Library& library);
  /// Calls the function with each library that is usable until it returns true; without memory for
  /// its copies the next one, or our kernels, compute.
  template <class Function>
  bool try_each(std::vector<DnnEntry>& entries, const Function& function);
  bool copy_and_pool(const Backend& backend, DnnEntry& entry, hip::PoolCall& call, const Tensor& x,
                     Tensor& out);
  bool queue_convolution(const Backend& backend, DnnEntry& entry, hip::ConvCall& call);
  bool copy_and_convolve(const Backend& backend, DnnEntry& entry, const Tensor& x,
                         const Tensor& weights, const ConvOptions& options, Tensor& out);

  const Device device_;
  const StreamRef stream_;
  mutable std::mutex mutex_;  // of all below; a handle serves one thread at a time
  bool has_products_ = false;
  std::vector<BlasEntry> products_;
  std::vector<DnnEntry> convolutions_;
  std::vector<DnnEntry> poolings_;  // with a handle of their own: an error there ends only these
  Buffer workspace_;                // of products
};

}  // namespace hiptool::ops
