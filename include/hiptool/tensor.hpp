// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "hiptool/arena.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/caching_allocator.hpp"
#include "hiptool/dtype.hpp"
#include "hiptool/export.hpp"
#include "hiptool/layout.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// Where a new tensor's memory comes from, made from what is passed for it: `Tensor::empty(device,
/// ...)`, `Tensor::empty(arena, ...)`, `Tensor::empty({allocator, stream}, ...)`. Arena and
/// allocator must outlive it.
class HIPTOOL_API TensorMemory {
 public:
  TensorMemory(const Device& device) : device_(device) {}
  TensorMemory(Arena& arena) : arena_(&arena) {}
  /// The stream is the one that will use the tensor.
  TensorMemory(CachingAllocator& allocator, const StreamRef& stream)
      : allocator_(&allocator), stream_(stream) {}

  [[nodiscard]] Buffer allocate(std::size_t size_bytes) const;
  /// Absent unless one was given.
  [[nodiscard]] const std::optional<StreamRef>& stream() const noexcept { return stream_; }

 private:
  std::optional<Device> device_;
  Arena* arena_ = nullptr;
  CachingAllocator* allocator_ = nullptr;
  std::optional<StreamRef> stream_;
};

/// Device memory with a dtype and a layout. Copying a Tensor shares the memory.
///
/// Copies come in two forms. Without a stream they wait for all work that this process has queued
/// on the device, so that values which an operation has yet to write are right, and have happened
/// when the call returns; what earlier work failed with is thrown. With a stream they are queued
/// there after its earlier work and return at once; memory of the host must then live until the
/// stream has passed them. Sizes and offsets are in elements unless a name says bytes. Calls that
/// the runtime refuses throw Error(device); each function states its other errors.
class HIPTOOL_API Tensor {
 public:
  /// Wraps memory. Throws Error(invalid_argument) when it is on no device or not aligned to the
  /// dtype, Error(out_of_bounds) when it is smaller than the layout's extent.
  Tensor(Buffer buffer, DType dtype, const Layout& layout);

  /// New memory, contiguous, not initialised: the elements are undefined until they are written.
  /// Throws what the memory's source and Layout throw.
  [[nodiscard]] static Tensor empty(const TensorMemory& memory, DType dtype,
                                    std::span<const std::uint64_t> dims);
  [[nodiscard]] static Tensor empty(const TensorMemory& memory, DType dtype,
                                    std::initializer_list<std::uint64_t> dims);

  /// The same with all bytes zero. Waits for the fill, unless the memory came with a stream: then
  /// the fill is queued there.
  [[nodiscard]] static Tensor zeros(const TensorMemory& memory, DType dtype,
                                    std::span<const std::uint64_t> dims);
  [[nodiscard]] static Tensor zeros(const TensorMemory& memory, DType dtype,
                                    std::initializer_list<std::uint64_t> dims);

  /// New memory, contiguous, with these values; the values give the dtype. They have been
  /// copied when the call returns. Throws Error(invalid_argument) unless there are as many values
  /// as elements, before anything is allocated.
  template <class Value>
  [[nodiscard]] static Tensor from_host(const TensorMemory& memory, std::span<const Value> values,
                                        std::span<const std::uint64_t> dims) {
    return from_host_bytes(memory, std::as_bytes(values), dtype_of<Value>(), dims);
  }
  template <class Value>
  [[nodiscard]] static Tensor from_host(const TensorMemory& memory,
                                        const std::vector<Value>& values,
                                        std::initializer_list<std::uint64_t> dims) {
    return from_host_bytes(memory, std::as_bytes(std::span(values)), dtype_of<Value>(),
                           {dims.begin(), dims.size()});
  }
  [[nodiscard]] static Tensor from_host_bytes(const TensorMemory& memory,
                                              std::span<const std::byte> bytes, DType dtype,
                                              std::span<const std::uint64_t> dims);

  [[nodiscard]] const Buffer& buffer() const noexcept { return buffer_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const Device& device() const { return buffer_.device(); }
  [[nodiscard]] std::span<const std::uint64_t> dims() const noexcept { return layout_.dims(); }
  [[nodiscard]] std::uint64_t element_count() const noexcept { return layout_.element_count(); }
  /// Bytes of all elements, each counted once per place in the layout. Never wraps for a contiguous
  /// layout; Error(invalid_argument) where it would.
  [[nodiscard]] std::size_t size_bytes() const;
  /// Device address of the element at the layout's start; null without elements.
  [[nodiscard]] void* address() const noexcept;

  /// The same memory and dtype with another layout, such as `layout().transpose(0, 1)`. Throws as
  /// the constructor does.
  [[nodiscard]] Tensor with_layout(const Layout& layout) const;

  /// All elements in row-major order, whatever the strides are. Waits: without a stream for all
  /// work on the device, with one only for its earlier work. Throws Error(invalid_argument) when
  /// the dtype is another one, Error(host_out_of_memory).
  template <class Value>
  [[nodiscard]] std::vector<Value> to_host() const {
    return to_host_behind<Value>(nullptr);
  }
  template <class Value>
  [[nodiscard]] std::vector<Value> to_host(const StreamRef& stream) const {
    return to_host_behind<Value>(&stream);
  }

  /// Reads the elements into memory of the host, which must have exactly their size
  /// (Error(invalid_argument)). The tensor must be contiguous (Error(unsupported)).
  void copy_to_host(std::span<std::byte> bytes) const;
  void copy_to_host(std::span<std::byte> bytes, const StreamRef& stream) const;

  /// Overwrites all elements. Throws Error(invalid_argument) when the dtype or the number of values
  /// is another one, Error(unsupported) unless the tensor is contiguous.
  template <class Value>
  void copy_from_host(std::span<const Value> values) {
    element_count_as(dtype_of<Value>());
    copy_from_host_bytes(std::as_bytes(values));
  }
  template <class Value>
  void copy_from_host(std::span<const Value> values, const StreamRef& stream) {
    element_count_as(dtype_of<Value>());
    copy_from_host_bytes(std::as_bytes(values), stream);
  }
  void copy_from_host_bytes(std::span<const std::byte> bytes);
  void copy_from_host_bytes(std::span<const std::byte> bytes, const StreamRef& stream);

  /// Part of a copy between tensors: `count` elements from `source_offset` of the source to
  /// `offset` of this one, both counted from a tensor's first element in row-major order.
  struct Region {
    std::uint64_t offset = 0;
    std::uint64_t source_offset = 0;
    std::uint64_t count = 0;
  };

  /// Copies elements of another tensor of the same device and dtype (Error(invalid_argument)); both
  /// must be contiguous (Error(unsupported)). Throws Error(out_of_bounds) when the region does not
  /// fit either, Error(invalid_argument) when source and destination overlap.
  void copy_region(const Tensor& source, const Region& region);
  void copy_region(const Tensor& source, const Region& region, const StreamRef& stream);

  /// The whole of another tensor of the same dimensions (Error(invalid_argument)), otherwise as
  /// copy_region.
  void copy_from(const Tensor& source);
  void copy_from(const Tensor& source, const StreamRef& stream);

 private:
  template <class Value>
  [[nodiscard]] std::vector<Value> to_host_behind(const StreamRef* stream) const {
    const std::size_t count = element_count_as(dtype_of<Value>());
    std::vector<Value> values;
    try {
      values.resize(count);
    } catch (const std::exception&) {
      throw_no_host_memory(count);
    }
    read_elements(std::as_writable_bytes(std::span(values)), stream);
    return values;
  }
  std::size_t element_count_as(DType dtype) const;  // throws unless that is the tensor's
  [[noreturn]] void throw_no_host_memory(std::size_t count) const;
  void wait_for_device() const;
  void read_elements(std::span<std::byte> bytes, const StreamRef* stream) const;
  [[nodiscard]] Buffer elements(const char* operation) const;  // of a contiguous tensor
  [[nodiscard]] Buffer elements_of_size(std::size_t size_bytes, const char* operation) const;
  void require_stream(const StreamRef& stream) const;
  void require_region(const Tensor& source, const Region& region) const;
  [[nodiscard]] Region whole_of(const Tensor& source) const;

  Buffer buffer_;
  DType dtype_;
  Layout layout_;
};

}  // namespace hiptool
