// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "hiptool/buffer.hpp"
#include "hiptool/caching_allocator.hpp"
#include "hiptool/device.hpp"
#include "hiptool/dtype.hpp"
#include "hiptool/export.hpp"
#include "hiptool/platform.hpp"
#include "hiptool/retry.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool {

namespace ops {
struct BackendState;
}

/// One device with what operations need: a stream, an allocator that keeps freed memory, and the
/// kernels loaded so far. Copying a Backend shares all of that. Operations queue work on its stream
/// and return; synchronize() waits. Safe to use from several threads, whose work then runs in the
/// order in which the calls came.
class HIPTOOL_API Backend {
 public:
  struct Options {
    /// Division of integers by zero is Error(invalid_argument) at the next synchronize(), in place
    /// of the results that hiptool/ops.hpp states.
    bool checks_division = false;
  };

  // A move copies, so that a moved-from Backend can be used on.
  Backend(const Backend&) = default;
  Backend& operator=(const Backend&) = default;

  /// Makes a stream of its own. Throws what Stream and CachingAllocator throw. Loads no kernel yet.
  explicit Backend(const Device& device);
  Backend(const Device& device, const Options& options);

  /// Works on a stream of the caller, which must outlive the Backend and its copies.
  [[nodiscard]] static Backend borrow_stream(const StreamRef& stream);
  [[nodiscard]] static Backend borrow_stream(const StreamRef& stream, const Options& options);

  /// The one Backend of the process for a device, made by the first call that succeeds.
  [[nodiscard]] static Backend shared(const Device& device);

  /// Whether one of the platforms has a usable GPU; opens them, which blocks, and never throws.
  [[nodiscard]] static bool gpu_available(Platforms& platforms) noexcept;

  [[nodiscard]] const Device& device() const noexcept;
  [[nodiscard]] const StreamRef& stream() const noexcept;
  [[nodiscard]] CachingAllocator& allocator() const noexcept;

  /// New contiguous tensors for work on the stream: uninitialised, and all bytes zero. Do not
  /// block. Throw what Tensor::empty throws.
  [[nodiscard]] Tensor empty(DType dtype, std::span<const std::uint64_t> dims) const;
  [[nodiscard]] Tensor empty(DType dtype, std::initializer_list<std::uint64_t> dims) const;
  [[nodiscard]] Tensor zeros(DType dtype, std::span<const std::uint64_t> dims) const;
  [[nodiscard]] Tensor zeros(DType dtype, std::initializer_list<std::uint64_t> dims) const;

  /// Whether an allocation of that size stays within a share of the memory that the device has
  /// free, which includes what the allocator keeps for the next allocation. The default leaves 30 %
  /// to other programs: a GPU that also draws the screen stalls without. Throws
  /// Error(invalid_argument) unless 0 < share <= 1, and what Device::memory() throws.
  [[nodiscard]] bool can_allocate(std::uint64_t size_bytes, double share = usual_share) const;
  /// New memory for work on the stream if can_allocate(), else Error(out_of_memory) with four
  /// numbers: the size, what the share allows, free and total memory. First gives memory that the
  /// allocator keeps back to the runtime where that is needed, which blocks. Other programs may
  /// take memory in between: then it throws what the allocator throws.
  [[nodiscard]] Buffer allocate_within(std::uint64_t size_bytes, double share = usual_share);
  static constexpr double usual_share = 0.7;

  /// The seed of the device's random numbers, which all copies of a Backend share; 0 at first.
  void set_seed(std::uint64_t seed);
  /// A seed for the next operation that takes one, such as ops::rand_normal: the numbers of
  /// SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014) that
  /// begin with set_seed(), so that a program repeats its random numbers on any device.
  [[nodiscard]] std::uint64_t next_seed();

  /// Blocks until all queued work is done. Throws what that work failed with, and
  /// Error(out_of_bounds) or Error(invalid_argument), naming the operation, for an index or a
  /// divisor that an operation since the last call found on the device.
  void synchronize() const;

  /// Calls the function; while it throws a recoverable Error, gives cached memory back to the
  /// runtime and calls it again, as hiptool::with_retry does.
  template <class Function>
  decltype(auto) with_retry(Function&& function) const {
    RetryPolicy policy;
    policy.before_retry = [this](const Error&) { allocator().release_cached(); };
    return hiptool::with_retry(std::forward<Function>(function), policy);
  }

 private:
  friend struct ops::BackendState;
  explicit Backend(std::shared_ptr<ops::BackendState> state) : state_(std::move(state)) {}
  std::shared_ptr<ops::BackendState> state_;
};

}  // namespace hiptool
