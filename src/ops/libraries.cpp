// SPDX-License-Identifier: MIT
#include "ops/libraries.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/contains.hpp"
#include "core/call.hpp"
#include "core/platform_state.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "ops/backend_state.hpp"
#include "ops/library_product.hpp"

namespace hiptool::ops {
namespace {

constexpr std::size_t product_workspace_bytes = std::size_t{32} << 20;
constexpr const char* product_operation = "matmul";
constexpr const char* conv_operation = "conv2d";
constexpr const char* pool_operation = "pool2d";

/// In the order in which they are tried.
std::vector<hip::BlasKind> kinds_to_try(Platform platform) {
  switch (platform) {
    case Platform::amd: return {hip::BlasKind::hipblaslt, hip::BlasKind::rocblas_tensile};
    case Platform::nvidia: return {hip::BlasKind::cublaslt, hip::BlasKind::cublas};
    case Platform::cpu: return {hip::BlasKind::openblas};
  }
  return {};
}

/// Why an AMD library would end the process, or find nothing, on that device; else empty.
std::string refuse_target(const Device& device, const hip::BlasLibrary& library) {
  if (device.platform() != Platform::amd) return {};
  std::string arch = device.info().arch;
  arch.erase(std::min(arch.find(':'), arch.size()));
  const auto& targets = library.targets;
  if (base::contains(targets, arch)) return {};
  return "no kernels for " + arch + " were found next to " + library.path;
}

/// Counts a call that this library did not compute.
void count_other(LibraryStatus& status, std::string reason) {
  ++status.other_calls;
  if (!reason.empty()) status.reason = std::move(reason);
}

/// Whether a library that has no TF32 is to be asked again without it.
bool take_back_tf32(hip::BlasCompute& compute, int result) {
  if (result != hip::blas_types || compute != hip::BlasCompute::f32_fast_tf32) return false;
  compute = hip::BlasCompute::f32;
  return true;
}

/// Before the library was called: it may still compute other calls.
bool is_refusal(int result) { return result < 0; }

hip::ConvCall library_conv_call(const Tensor& x, const Tensor& weights, const ConvOptions& options,
                                const StreamRef& stream) {
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  hip::ConvCall call;
  call.type = library_type(x.dtype());
  call.compute = library_compute(x.dtype(), options.allows_tf32);
  call.n = size(x.dims()[0]);
  call.c = size(x.dims()[1]);
  call.h = size(x.dims()[2]);
  call.w = size(x.dims()[3]);
  call.k = size(weights.dims()[0]);
  call.r = size(weights.dims()[2]);
  call.s = size(weights.dims()[3]);
  call.pad_h = size(options.padding[0]);
  call.pad_w = size(options.padding[1]);
  call.stride_h = size(options.stride[0]);
  call.stride_w = size(options.stride[1]);
  call.dilation_h = size(options.dilation[0]);
  call.dilation_w = size(options.dilation[1]);
  call.groups = size(options.groups);
  call.stream = core::native_of(stream);
  call.workspace_bytes = options.workspace_bytes;
  return call;
}

hip::PoolCall library_pool_call(const Tensor& x, const HeightWidth& window,
                                const HeightWidth& stride, const StreamRef& stream) {
  const auto size = [](std::uint64_t number) {
    // What is larger is refused by the library's table, as it is beyond 32 bits.
    return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
  };
  hip::PoolCall call;
  call.type = library_type(x.dtype());
  call.n = size(x.dims()[0]);
  call.c = size(x.dims()[1]);
  call.h = size(x.dims()[2]);
  call.w = size(x.dims()[3]);
  call.r = size(window[0]);
  call.s = size(window[1]);
  call.stride_h = size(stride[0]);
  call.stride_w = size(stride[1]);
  call.stream = static_cast<hip::hipStream_t>(stream.native_handle());
  return call;
}

}  // namespace

Libraries::Libraries(const Device& device, const StreamRef& stream)
    : device_(device), stream_(stream) {}

Libraries::~Libraries() {
  const auto has_handle = [](const auto& entry) { return entry.handle != nullptr; };
  const bool is_in_use = std::ranges::any_of(products_, has_handle) ||
                         std::ranges::any_of(convolutions_, has_handle) ||
                         std::ranges::any_of(poolings_, has_handle);
  if (!is_in_use) return;
  try {
    const DeviceGuard guard(device_);
    stream_.synchronize();
    for (const BlasEntry& entry : products_) {
      if (entry.handle != nullptr) entry.api->close(entry.handle);
    }
    for (const auto* entries : {&convolutions_, &poolings_}) {
      for (const DnnEntry& entry : *entries) {
        if (entry.handle != nullptr) entry.api->close(entry.handle);
      }
    }
  } catch (const Error& error) {
    // Closing could hang.
    core::state_of(device_).note(error.operation(), error.what());
  }
}

template <class Api, class Library>
void Libraries::open_entry(Entry<Api>& entry, const Library& library) {
  entry.status.library = library.name;
  entry.status.version = library.version;
  entry.status.path = library.path;
  entry.api = library.api;
  if (library.api == nullptr) {
    entry.status.reason = library.reason;
    return;
  }
  if (!entry.status.reason.empty()) return;
  const int result = library.api->open(entry.handle);
  entry.is_usable = result == 0;
  if (result != 0) {
    entry.status.reason = library.name + " could not be opened: " + library.api->error_text(result);
  }
}

void Libraries::open_products(const Backend& backend) {
  if (has_products_) return;
  has_products_ = true;
  for (const hip::BlasKind kind : kinds_to_try(device_.platform())) {
    BlasEntry& entry = products_.emplace_back();
    entry.status.operation = product_operation;
    const hip::BlasLibrary& library = hip::find_blas(kind);
    if (library.api != nullptr) entry.status.reason = refuse_target(device_, library);
    open_entry(entry, library);
  }
  const bool is_any =
      std::ranges::any_of(products_, [](const BlasEntry& entry) { return entry.is_usable; });
  if (!is_any || device_.is_host_memory()) return;
  try {
    workspace_ = backend.allocator().allocate(product_workspace_bytes, stream_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;  // libraries have less, or their own
  }
}

void Libraries::open_images(std::vector<DnnEntry>& entries, const char* operation) const {
  const auto kind = hip::dnn_of(device_.platform());
  if (!kind || !entries.empty()) return;
  DnnEntry& entry = entries.emplace_back();
  entry.status.operation = operation;
  open_entry(entry, hip::find_dnn(*kind));
}

bool Libraries::can_multiply(const Backend& backend) {
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard(device_);
  open_products(backend);
  const bool is_any =
      std::ranges::any_of(products_, [](const BlasEntry& entry) { return entry.is_usable; });
  if (!is_any) {
    for (BlasEntry& entry : products_) count_other(entry.status, "");
  }
  return is_any;
}

bool Libraries::multiply(const Backend& backend, MatrixProduct product,
                         const MatmulOptions& options) {
  constexpr std::uint64_t most_calls = 64;  // more cost more than they save
  if (options.alpha == 0 || product.a.columns.size == 0) return false;
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard(device_);
  open_products(backend);
  std::optional<LibraryProduct> work = library_product(std::move(product), options);
  if (work && work->call_count() > most_calls) work.reset();
  if (work) {
    work->call.stream = core::native_of(stream_);
    if (!workspace_.is_empty()) {
      work->call.workspace = workspace_.address();
      work->call.workspace_bytes = workspace_.size_bytes();
    }
  }
  for (BlasEntry& entry : products_) {
    LibraryStatus& status = entry.status;
    if (!entry.is_usable || !work) {
      count_other(status, entry.is_usable ? "libraries do not read the layout of a tensor" : "");
      continue;
    }
    int result = 0;
    std::uint64_t done = 0;
    const auto queue = [&] {
      for (result = 0, done = 0; done < work->call_count() && result == 0; ++done) {
        result = entry.api->gemm(entry.handle, work->call_at(done));
      }
    };
    queue();
    if (take_back_tf32(work->call.compute, result)) queue();
    if (result == 0) {
      ++status.calls;
      return true;
    }
    count_other(status, status.library + ": " + entry.api->error_text(result));
    if (is_refusal(result) && done == 1) continue;
    entry.is_usable = false;
    if (options.beta != 0) {
      throw Error(ErrorCode::device, product_operation,
                  status.reason + "; the old output, which the result needs, may be lost");
    }
  }
  return false;
}

bool Libraries::queue_convolution(const Backend& backend, DnnEntry& entry, hip::ConvCall& call) {
  LibraryStatus& status = entry.status;
  std::size_t needed = 0;
  Buffer workspace;
  int result = entry.api->plan(entry.handle, call, needed);
  if (take_back_tf32(call.compute, result)) result = entry.api->plan(entry.handle, call, needed);
  if (result == 0 && needed > 0) {
    try {
      workspace = backend.allocator().allocate(needed, stream_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      count_other(status, status.library + ": no memory for a workspace of " +
                              std::to_string(needed) + " bytes");
      return false;
    }
    call.workspace = workspace.address();
  }
  // The bound stays as it was for plan(), which keeps its choice by it.
  if (result == 0) result = entry.api->convolve(entry.handle, call);
  if (result == 0) {
    ++status.calls;
    return true;
  }
  count_other(status, status.library + ": " + entry.api->error_text(result));
  if (!is_refusal(result)) entry.is_usable = false;
  return false;
}

bool Libraries::copy_and_convolve(const Backend& backend, DnnEntry& entry, const Tensor& x,
                                  const Tensor& weights, const ConvOptions& options, Tensor& out) {
  hip::ConvCall call = library_conv_call(x, weights, options, stream_);
  // Copies live until the call is queued; the allocator keeps the order of the stream.
  const Tensor images = contiguous(backend, x);
  const Tensor filter = contiguous(backend, weights);
  const bool is_direct = out.layout().is_contiguous();
  Tensor results = is_direct ? out : backend.empty(out.dtype(), out.dims());
  call.x = images.address();
  call.filter = filter.address();
  call.y = results.address();
  if (!queue_convolution(backend, entry, call)) return false;
  if (!is_direct) copy_into(backend, out, results);
  return true;
}

bool Libraries::convolve(const Backend& backend, const Tensor& x, const Tensor& weights,
                         const ConvOptions& options, Tensor& out) {
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard(device_);
  open_images(convolutions_, conv_operation);
  return try_each(convolutions_, [&](DnnEntry& entry) {
    return copy_and_convolve(backend, entry, x, weights, options, out);
  });
}

template <class Function>
bool Libraries::try_each(std::vector<DnnEntry>& entries, const Function& function) {
  for (DnnEntry& entry : entries) {
    if (!entry.is_usable) {
      count_other(entry.status, "");
      continue;
    }
    try {
      if (function(entry)) return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      count_other(entry.status, entry.status.library + ": no memory for contiguous copies");
    }
  }
  return false;
}

bool Libraries::copy_and_pool(const Backend& backend, DnnEntry& entry, hip::PoolCall& call,
                              const Tensor& x, Tensor& out) {
  // Copies live until the call is queued; the allocator keeps the order of the stream.
  const Tensor images = contiguous(backend, x);
  const bool is_direct = out.layout().is_contiguous();
  Tensor results = is_direct ? out : backend.empty(out.dtype(), out.dims());
  call.x = images.address();
  call.y = results.address();
  const int result = entry.api->pool(entry.handle, call);
  if (result != 0) {
    count_other(entry.status, entry.status.library + ": " + entry.api->error_text(result));
    if (!is_refusal(result)) entry.is_usable = false;
    return false;
  }
  ++entry.status.calls;
  if (!is_direct) copy_into(backend, out, results);
  return true;
}

bool Libraries::pool(const Backend& backend, const Tensor& x, const HeightWidth& window,
                     const HeightWidth& stride, bool is_largest, Tensor& out) {
  hip::PoolCall call = library_pool_call(x, window, stride, stream_);
  call.is_largest = is_largest;
  const std::lock_guard lock(mutex_);
  const DeviceGuard guard(device_);
  open_images(poolings_, pool_operation);
  return try_each(poolings_,
                  [&](DnnEntry& entry) { return copy_and_pool(backend, entry, call, x, out); });
}

std::vector<LibraryStatus> Libraries::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<LibraryStatus> all;
  for (const BlasEntry& entry : products_) all.push_back(entry.status);
  for (const DnnEntry& entry : convolutions_) all.push_back(entry.status);
  for (const DnnEntry& entry : poolings_) all.push_back(entry.status);
  return all;
}

std::vector<LibraryStatus> library_status(const Backend& backend) {
  return state_of(backend).libraries.status();
}

}  // namespace hiptool::ops
