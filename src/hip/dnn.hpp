// SPDX-License-Identifier: MIT
/// Vendors' convolutions as tables of their own: MIOpen in immediate mode and cuDNN (its graph
/// interface, or the older one) behind one call. A library is loaded at its first use and stays for
/// the process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hip/abi.hpp"
#include "hip/blas.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

/// y = x * w, a cross-correlation of packed tensors: x is n x c x h x w, w is k x c/groups x r x s,
/// y is n x k x out_height() x out_width().
struct ConvCall {
  BlasType type = BlasType::f32;  ///< f64, f32, f16 or bf16; of all three tensors
  /// Sums are in f32 (f64 for f64). TF32 only with f32_fast_tf32; MIOpen has none. Some algorithms
  /// for halves (Winograd) transform in halves whatever is asked for.
  BlasCompute compute = BlasCompute::f32;
  std::int64_t n = 1;
  std::int64_t c = 1;
  std::int64_t h = 1;
  std::int64_t w = 1;
  std::int64_t k = 1;
  std::int64_t r = 1;  ///< height of the filter
  std::int64_t s = 1;  ///< width of the filter
  std::int64_t pad_h = 0;
  std::int64_t pad_w = 0;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t groups = 1;
  const void* x = nullptr;  ///< device memory
  const void* filter = nullptr;
  void* y = nullptr;
  hipStream_t stream = nullptr;
  void* workspace = nullptr;        ///< device memory, used until the stream has passed this call
  std::size_t workspace_bytes = 0;  ///< the bound of plan() and the size for convolve()
  /// plan() runs the library's algorithms, in memory of its own, and takes the fastest; where a
  /// library cannot do that, or has not the memory, it estimates as without.
  bool measures = false;

  std::int64_t out_height() const { return out_size(h, pad_h, dilation_h, r, stride_h); }
  std::int64_t out_width() const { return out_size(w, pad_w, dilation_w, s, stride_w); }

 private:
  static std::int64_t out_size(std::int64_t size, std::int64_t pad, std::int64_t dilation,
                               std::int64_t filter, std::int64_t stride) {
    const std::int64_t free = size + 2 * pad - dilation * (filter - 1) - 1;
    return free < 0 ? 0 : free / stride + 1;
  }
};

/// y is the average, or the largest element, of each window of x that is inside the image: packed
/// tensors, x is n x c x h x w, y is n x c x out_height() x out_width().
struct PoolCall {
  BlasType type = BlasType::f32;  ///< f32 or f16
  bool is_largest = false;
  std::int64_t n = 1;
  std::int64_t c = 1;
  std::int64_t h = 1;
  std::int64_t w = 1;
  std::int64_t r = 1;  ///< height of the window
  std::int64_t s = 1;  ///< width of the window
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  const void* x = nullptr;  ///< device memory
  void* y = nullptr;
  hipStream_t stream = nullptr;

  std::int64_t out_height() const { return (h - r) / stride_h + 1; }
  std::int64_t out_width() const { return (w - s) / stride_w + 1; }
};

/// Results below zero are BlasRefusal, before the library was called; 0 is success; those above are
/// the library's own.
class DnnApi {
 public:
  virtual ~DnnApi() = default;

  /// A handle for the calling thread's device; null in `handle` unless the result is 0.
  virtual int open(void*& handle) const = 0;

  /// Chooses the library's first proposal that needs at most call.workspace_bytes and sets
  /// `workspace_bytes` to what it needs. The choice is kept in the handle for types, shape and
  /// bound. Blocks, for seconds where kernels must be compiled. Pointers are not used.
  virtual int plan(void* handle, const ConvCall& call, std::size_t& workspace_bytes) const = 0;

  /// Queues the convolution on the call's stream, with the kept choice or after plan(). Empty ones
  /// queue nothing.
  virtual int convolve(void* handle, const ConvCall& call) const = 0;

  /// Queues the pooling on the call's stream.
  virtual int pool(void* handle, const PoolCall& call) const = 0;

  /// "miopenStatusBadParm (3)", or the reason of a refusal.
  virtual std::string error_text(int result) const = 0;

  virtual void close(void* handle) const noexcept = 0;
};

enum class DnnKind { miopen, cudnn };

/// "miopen", "cudnn".
std::string_view to_string(DnnKind kind) noexcept;

/// The library of a platform; cpu has none.
std::optional<DnnKind> dnn_of(Platform platform);

/// A library, or the reason why it is missing.
struct DnnLibrary {
  std::string name;  ///< "MIOpen", "cuDNN"
  std::string path;  ///< of the file; also of a refused library
  std::string version;
  std::string reason;           ///< why it is missing
  const DnnApi* api = nullptr;  ///< null without a library
};

/// Loads the library at the first call, which may take a second. Never throws for a missing one.
/// Safe to use from several threads.
const DnnLibrary& find_dnn(DnnKind kind);

namespace amd {
DnnLibrary open_miopen();
}
namespace nvidia {
DnnLibrary open_cudnn();
}

}  // namespace hiptool::hip
