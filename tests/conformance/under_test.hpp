// SPDX-License-Identifier: MIT
/// The platform this run is about, and owners for its objects. Every wait is bounded.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hip/api.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::conformance {

using hip::Api;
using std::chrono::milliseconds;

/// Long enough for a busy machine, short enough to end a run that hangs.
inline constexpr milliseconds patience{60000};

struct UnderTest {
  Platform platform = Platform::cpu;
  const Api* api = nullptr;
  int device_count = 0;
};

UnderTest& under_test();
inline const Api& api() { return *under_test().api; }

/// Whether there is only one device; the running case then skips what needs two.
bool lacks_second_device();

using Bytes = std::vector<std::uint8_t>;

/// The same bytes for the same seed.
Bytes random_bytes(std::size_t count, std::uint32_t seed);

/// Device memory of the current device; a failure to allocate fails the test.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::uint8_t* at(std::size_t offset = 0) const { return base_ + offset; }
  std::size_t size() const { return bytes_; }
  void fill(int value) const;
  void write(const Bytes& bytes, std::size_t offset = 0) const;
  Bytes read() const { return read(0, bytes_); }
  Bytes read(std::size_t offset, std::size_t count) const;

 private:
  std::uint8_t* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Pinned host memory, filled with zeros.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::uint8_t* data() const { return base_; }
  void write(const Bytes& bytes) const;
  Bytes read(std::size_t count) const { return Bytes(base_, base_ + count); }

 private:
  std::uint8_t* base_ = nullptr;
};

class Stream {
 public:
  explicit Stream(unsigned flags = hip::hipStreamNonBlocking);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  hip::hipStream_t get() const { return handle_; }

 private:
  hip::hipStream_t handle_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = hip::hipEventDefault);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  hip::hipEvent_t get() const { return handle_; }

 private:
  hip::hipEvent_t handle_ = nullptr;
};

/// Holds up a stream by a host function until it is opened. It opens by itself after `patience`,
/// and when it goes; declare it after everything that its stream uses.
class Gate {
 public:
  Gate() = default;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void block(hip::hipStream_t stream);
  void open() { open_ = true; }
  /// Whether it still holds the stream because nobody has opened it.
  bool holds() const { return entered_ && !left_; }

 private:
  static void pass(void* self);

  std::atomic<bool> blocks_{false};
  std::atomic<bool> entered_{false};
  std::atomic<bool> open_{false};
  std::atomic<bool> left_{false};
};

/// Waits until the stream or event is done; false after `patience` or on an error.
bool finishes(hip::hipStream_t stream);
bool finishes(hip::hipEvent_t event);

/// Whether it is not ready now and still not after a while.
bool stays_busy(hip::hipStream_t stream);
bool stays_busy(hip::hipEvent_t event);

}  // namespace hiptool::conformance
