// SPDX-License-Identifier: MIT
#include "hiptool/copy.hpp"

#include <string>

#include "base/text.hpp"
#include "core/call.hpp"

namespace hiptool {
namespace {

using core::call;
using hip::Api;

hip::hipStream_t native(const StreamRef& stream) { return core::native_of(stream); }

[[noreturn]] void throw_bounds(const char* operation, std::size_t wanted, std::size_t present) {
  throw Error(ErrorCode::out_of_bounds, operation,
              std::string(operation) + ": " + std::to_string(wanted) +
                  " bytes do not fit a buffer of " + base::plain_count_of(present, "byte"));
}

[[noreturn]] void throw_argument(const char* operation, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, operation, std::string(operation) + ": " + why);
}

// Bytes from the first to past the last byte of a rectangle; false if that overflows.
bool extent_of(std::size_t pitch, std::size_t width, std::size_t height, std::size_t& extent) {
  std::size_t rows = 0;
  return !__builtin_mul_overflow(pitch, height - 1, &rows) &&
         !__builtin_add_overflow(rows, width, &extent);
}

void require_rectangle(const char* operation, const Buffer& buffer, Rectangle rectangle,
                       std::size_t width, std::size_t height) {
  if (rectangle.pitch_bytes < width) {
    throw_argument(operation, "a pitch of " + std::to_string(rectangle.pitch_bytes) +
                                  " bytes is below the width of " + std::to_string(width));
  }
  std::size_t extent = 0;
  if (!extent_of(rectangle.pitch_bytes, width, height, extent) ||
      rectangle.offset_bytes > buffer.size_bytes() ||
      extent > buffer.size_bytes() - rectangle.offset_bytes) {
    throw_bounds(operation, extent, buffer.size_bytes());
  }
}

// The copy uses memory of the caller, who may free it after the exception.
void synchronize_or_settle(const Stream& stream) {
  try {
    stream.synchronize();
  } catch (...) {
    core::settle(stream);
    throw;
  }
}

bool overlap(const Buffer& left, const Buffer& right) {
  const auto left_start = reinterpret_cast<std::uintptr_t>(left.address());
  const auto right_start = reinterpret_cast<std::uintptr_t>(right.address());
  return left_start < right_start + right.size_bytes() &&
         right_start < left_start + left.size_bytes();
}

void copy_async(std::string_view subject, void* destination, const void* source,
                std::size_t size_bytes, hip::hipMemcpyKind kind, const StreamRef& stream) {
  const DeviceGuard guard(stream.device());
  call<&Api::hipMemcpyAsync>(stream.device(), subject, destination, source, size_bytes, kind,
                             native(stream));
}

}  // namespace

void copy_h2d(Buffer& destination, std::span<const std::byte> source, const StreamRef& stream) {
  if (source.size() > destination.size_bytes()) {
    throw_bounds("copy h2d", source.size(), destination.size_bytes());
  }
  if (source.empty()) return;
  copy_async("a host-to-device copy", destination.address(), source.data(), source.size(),
             hip::hipMemcpyHostToDevice, stream);
}

void copy_d2h(std::span<std::byte> destination, const Buffer& source, const StreamRef& stream) {
  if (destination.size() > source.size_bytes()) {
    throw_bounds("copy d2h", destination.size(), source.size_bytes());
  }
  if (destination.empty()) return;
  copy_async("a device-to-host copy", destination.data(), source.address(), destination.size(),
             hip::hipMemcpyDeviceToHost, stream);
}

void copy_d2d(Buffer& destination, const Buffer& source, const StreamRef& stream) {
  if (destination.size_bytes() != source.size_bytes()) {
    throw_bounds("copy d2d", source.size_bytes(), destination.size_bytes());
  }
  if (source.is_empty()) return;
  if (overlap(destination, source)) throw_argument("copy d2d", "source and destination overlap");
  copy_async("a device-to-device copy", destination.address(), source.address(),
             source.size_bytes(), hip::hipMemcpyDeviceToDevice, stream);
}

void copy_d2d_2d(Buffer& destination, Rectangle destination_rectangle, const Buffer& source,
                 Rectangle source_rectangle, std::size_t width_bytes, std::size_t height,
                 const StreamRef& stream) {
  if (width_bytes == 0 || height == 0) return;
  require_rectangle("copy d2d 2d", destination, destination_rectangle, width_bytes, height);
  require_rectangle("copy d2d 2d", source, source_rectangle, width_bytes, height);
  const auto part_of = [&](const Buffer& buffer, Rectangle rectangle) {
    std::size_t extent = 0;
    extent_of(rectangle.pitch_bytes, width_bytes, height, extent);
    return buffer.view(rectangle.offset_bytes, extent);
  };
  const Buffer to = part_of(destination, destination_rectangle);
  const Buffer from = part_of(source, source_rectangle);
  if (overlap(to, from)) throw_argument("copy d2d 2d", "source and destination overlap");
  const DeviceGuard guard(stream.device());
  call<&Api::hipMemcpy2DAsync>(
      stream.device(), "a device-to-device copy", to.address(), destination_rectangle.pitch_bytes,
      static_cast<const void*>(from.address()), source_rectangle.pitch_bytes, width_bytes, height,
      hip::hipMemcpyDeviceToDevice, native(stream));
}

void copy_peer(Buffer& destination, const Buffer& source, const StreamRef& stream) {
  if (destination.size_bytes() != source.size_bytes()) {
    throw_bounds("copy peer", source.size_bytes(), destination.size_bytes());
  }
  if (source.is_empty()) return;
  if (destination.device().platform() != source.device().platform()) {
    throw_argument("copy peer", source.device().id() + " and " + destination.device().id() +
                                    " are of different platforms");
  }
  const DeviceGuard guard(stream.device());
  call<&Api::hipMemcpyPeerAsync>(
      stream.device(), "a peer copy", destination.address(), destination.device().native_handle(),
      static_cast<const void*>(source.address()), source.device().native_handle(),
      source.size_bytes(), native(stream));
}

void fill(Buffer& destination, std::byte value, const StreamRef& stream) {
  if (destination.is_empty()) return;
  const DeviceGuard guard(stream.device());
  call<&Api::hipMemsetAsync>(stream.device(), {}, destination.address(), static_cast<int>(value),
                             destination.size_bytes(), native(stream));
}

void copy_h2d_and_wait(Buffer& destination, std::span<const std::byte> source) {
  if (source.empty()) return;
  const Stream stream(destination.device());
  copy_h2d(destination, source, stream);
  synchronize_or_settle(stream);
}

void copy_d2h_and_wait(std::span<std::byte> destination, const Buffer& source) {
  if (destination.empty()) return;
  const Stream stream(source.device());
  copy_d2h(destination, source, stream);
  synchronize_or_settle(stream);
}

}  // namespace hiptool
