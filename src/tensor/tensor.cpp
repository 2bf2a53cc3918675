// SPDX-License-Identifier: MIT
#include "hiptool/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"

namespace hiptool {
namespace {

[[noreturn]] void throw_argument(const char* operation, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, operation, std::string(operation) + ": " + why);
}

std::size_t bytes_of(std::uint64_t count, DType dtype) {
  std::size_t size_bytes = 0;
  if (__builtin_mul_overflow(count, element_size_bytes(dtype), &size_bytes)) {
    throw_argument("tensor", std::to_string(count) + " elements are more bytes than fit 64 bits");
  }
  return size_bytes;
}

void require_dtype(const char* operation, DType dtype) {
  if (element_size_bytes(dtype) != 0) return;
  throw_argument(operation, std::to_string(static_cast<int>(dtype)) + " is not a DType");
}

// Also when the work fails it must not use the caller's memory any more.
void run_and_wait(const StreamRef& stream, const std::function<void()>& work) {
  try {
    work();
    stream.synchronize();
  } catch (...) {
    core::settle(stream);
    throw;
  }
}

}  // namespace

Buffer TensorMemory::allocate(std::size_t size_bytes) const {
  if (arena_ != nullptr) return arena_->allocate(size_bytes);
  if (allocator_ != nullptr) return allocator_->allocate(size_bytes, *stream_);
  return Buffer(*device_, size_bytes);
}

Tensor::Tensor(Buffer buffer, DType dtype, const Layout& layout)
    : buffer_(std::move(buffer)), dtype_(dtype), layout_(layout) {
  if (!buffer_.has_device()) throw_argument("make tensor", "the buffer is on no device");
  require_dtype("make tensor", dtype_);
  const std::size_t needed_bytes = bytes_of(layout_.extent(), dtype_);
  if (needed_bytes > buffer_.size_bytes()) {
    throw Error(ErrorCode::out_of_bounds, "make tensor",
                "make tensor: the layout takes " + base::plain_count_of(needed_bytes, "byte") +
                    ", the buffer has " + std::to_string(buffer_.size_bytes()));
  }
  if (reinterpret_cast<std::uintptr_t>(buffer_.address()) % element_size_bytes(dtype_) != 0) {
    throw_argument("make tensor", "the buffer is not aligned to " + std::string(to_string(dtype_)));
  }
}

Tensor Tensor::empty(const TensorMemory& memory, DType dtype, std::span<const std::uint64_t> dims) {
  require_dtype("make tensor", dtype);
  const Layout layout(dims);
  return Tensor(memory.allocate(bytes_of(layout.element_count(), dtype)), dtype, layout);
}

Tensor Tensor::empty(const TensorMemory& memory, DType dtype,
                     std::initializer_list<std::uint64_t> dims) {
  return empty(memory, dtype, {dims.begin(), dims.size()});
}

Tensor Tensor::zeros(const TensorMemory& memory, DType dtype, std::span<const std::uint64_t> dims) {
  Tensor tensor = empty(memory, dtype, dims);
  if (memory.stream()) {
    fill(tensor.buffer_, std::byte{0}, *memory.stream());
  } else if (!tensor.buffer().is_empty()) {
    const Stream stream(tensor.device());
    run_and_wait(stream, [&] { fill(tensor.buffer_, std::byte{0}, stream); });
  }
  return tensor;
}

Tensor Tensor::zeros(const TensorMemory& memory, DType dtype,
                     std::initializer_list<std::uint64_t> dims) {
  return zeros(memory, dtype, {dims.begin(), dims.size()});
}

Tensor Tensor::from_host_bytes(const TensorMemory& memory, std::span<const std::byte> bytes,
                               DType dtype, std::span<const std::uint64_t> dims) {
  require_dtype("tensor from host", dtype);
  const Layout layout(dims);
  const std::size_t size_bytes = bytes_of(layout.element_count(), dtype);
  if (bytes.size() != size_bytes) {
    throw_argument("tensor from host", base::plain_count_of(bytes.size(), "byte") +
                                           " were given for " + std::to_string(size_bytes));
  }
  Tensor tensor(memory.allocate(size_bytes), dtype, layout);
  if (memory.stream()) {
    run_and_wait(*memory.stream(), [&] { copy_h2d(tensor.buffer_, bytes, *memory.stream()); });
  } else {
    copy_h2d_and_wait(tensor.buffer_, bytes);
  }
  return tensor;
}

std::size_t Tensor::size_bytes() const { return bytes_of(element_count(), dtype_); }

void* Tensor::address() const noexcept {
  if (element_count() == 0 || buffer_.is_empty()) return nullptr;
  const std::size_t offset_bytes = layout_.start_offset() * element_size_bytes(dtype_);
  return static_cast<std::byte*>(buffer_.address()) + offset_bytes;
}

Tensor Tensor::with_layout(const Layout& layout) const { return Tensor(buffer_, dtype_, layout); }

void Tensor::copy_to_host(std::span<std::byte> bytes) const {
  const Buffer elements = elements_of_size(bytes.size(), "copy tensor to host");
  wait_for_device();
  copy_d2h_and_wait(bytes, elements);
}

void Tensor::copy_to_host(std::span<std::byte> bytes, const StreamRef& stream) const {
  require_stream(stream);
  copy_d2h(bytes, elements_of_size(bytes.size(), "copy tensor to host"), stream);
}

void Tensor::copy_from_host_bytes(std::span<const std::byte> bytes) {
  Buffer elements = elements_of_size(bytes.size(), "copy tensor from host");
  wait_for_device();
  copy_h2d_and_wait(elements, bytes);
}

void Tensor::copy_from_host_bytes(std::span<const std::byte> bytes, const StreamRef& stream) {
  require_stream(stream);
  Buffer elements = elements_of_size(bytes.size(), "copy tensor from host");
  copy_h2d(elements, bytes, stream);
}

void Tensor::copy_region(const Tensor& source, const Region& region) {
  require_region(source, region);
  wait_for_device();
  const Stream stream(device());
  run_and_wait(stream, [&] { copy_region(source, region, stream); });
}

void Tensor::copy_region(const Tensor& source, const Region& region, const StreamRef& stream) {
  require_stream(stream);
  require_region(source, region);
  const std::size_t element_bytes = element_size_bytes(dtype_);
  const auto part = [&](const Tensor& tensor, std::uint64_t offset) {
    return tensor.elements("copy region")
        .view(offset * element_bytes, region.count * element_bytes);
  };
  Buffer destination = part(*this, region.offset);
  copy_d2d(destination, part(source, region.source_offset), stream);
}

void Tensor::copy_from(const Tensor& source) { copy_region(source, whole_of(source)); }

void Tensor::copy_from(const Tensor& source, const StreamRef& stream) {
  copy_region(source, whole_of(source), stream);
}

void Tensor::wait_for_device() const {
  const DeviceGuard guard(device());
  core::call<&hip::Api::hipDeviceSynchronize>(device(), {});
}

void Tensor::throw_no_host_memory(std::size_t count) const {
  throw Error(ErrorCode::host_out_of_memory, "copy tensor to host",
              "no host memory for " + base::plain_count_of(count, "element") + " of " +
                  std::string(to_string(dtype_)));
}

std::size_t Tensor::element_count_as(DType dtype) const {
  if (dtype != dtype_) {
    throw_argument("copy tensor", "the tensor is of " + std::string(to_string(dtype_)) +
                                      ", the values of " + std::string(to_string(dtype)));
  }
  static_cast<void>(size_bytes());  // refuses counts whose bytes would wrap
  // No host has memory for that many; an allocator that ends the process is not asked.
  constexpr std::uint64_t most_elements = std::uint64_t{1} << 44;
  if (element_count() > most_elements) throw_no_host_memory(element_count());
  return element_count();
}

void Tensor::read_elements(std::span<std::byte> bytes, const StreamRef* stream) const {
  if (bytes.empty()) return;
  if (stream != nullptr) {
    require_stream(*stream);
  } else {
    wait_for_device();
  }
  const auto read = [&](std::span<std::byte> to, const Buffer& from) {
    if (stream == nullptr) {
      copy_d2h_and_wait(to, from);
    } else {
      run_and_wait(*stream, [&] { copy_d2h(to, from, *stream); });
    }
  };
  if (layout_.is_contiguous()) {
    read(bytes, elements("copy tensor to host"));
    return;
  }
  const std::size_t element_bytes = element_size_bytes(dtype_);
  const std::uint64_t start = layout_.start_offset();
  std::vector<std::byte> all((layout_.extent() - start) * element_bytes);
  read(all, buffer_.view(start * element_bytes, all.size()));
  for (std::uint64_t i = 0; i < element_count(); ++i) {
    std::memcpy(&bytes[i * element_bytes], &all[(layout_.offset_at(i) - start) * element_bytes],
                element_bytes);
  }
}

Buffer Tensor::elements(const char* operation) const {
  if (!layout_.is_contiguous()) {
    throw Error(ErrorCode::unsupported, operation,
                std::string(operation) + ": the tensor is not contiguous",
                "copy them to a contiguous tensor first");
  }
  if (element_count() == 0) return buffer_.view(0, 0);
  return buffer_.view(layout_.start_offset() * element_size_bytes(dtype_), size_bytes());
}

Buffer Tensor::elements_of_size(std::size_t size_bytes, const char* operation) const {
  Buffer part = elements(operation);
  if (part.size_bytes() != size_bytes) {
    throw_argument(operation, "the tensor has " + base::plain_count_of(part.size_bytes(), "byte") +
                                  ", the host's memory " + std::to_string(size_bytes));
  }
  return part;
}

void Tensor::require_stream(const StreamRef& stream) const {
  if (stream.device() == device()) return;
  throw_argument("copy tensor",
                 "the tensor is on " + device().id() + ", the stream on " + stream.device().id());
}

void Tensor::require_region(const Tensor& source, const Region& region) const {
  if (source.dtype_ != dtype_) {
    throw_argument("copy region", "the source is of " + std::string(to_string(source.dtype_)) +
                                      ", the tensor of " + std::string(to_string(dtype_)));
  }
  if (!(source.device() == device())) {
    throw_argument("copy region",
                   "the source is on " + source.device().id() + ", the tensor on " + device().id());
  }
  const auto require = [&](const char* name, const Tensor& tensor, std::uint64_t offset) {
    if (offset <= tensor.element_count() && region.count <= tensor.element_count() - offset) return;
    throw Error(ErrorCode::out_of_bounds, "copy region",
                "copy region: " + base::plain_count_of(region.count, "element") + " at " +
                    std::to_string(offset) + " do not fit the " + name + " of " +
                    std::to_string(tensor.element_count()));
  };
  require("tensor", *this, region.offset);
  require("source", source, region.source_offset);
}

Tensor::Region Tensor::whole_of(const Tensor& source) const {
  if (!std::ranges::equal(source.dims(), dims())) {
    throw_argument("copy tensor", "source and tensor have different dimensions");
  }
  return {0, 0, element_count()};
}

}  // namespace hiptool
