// SPDX-License-Identifier: MIT
/// A HIP table around another one, for tests: it counts and traces calls, delays them, lets chosen
/// ones fail, damages copies and keeps account of what was not released.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hip/api.hpp"
#include "hip/binding.hpp"

namespace hiptool::test {

/// What was made through the table and is not released yet.
struct LiveCounts {
  std::int64_t device_memory = 0;  ///< hipMalloc and hipMallocManaged
  std::int64_t host_memory = 0;    ///< hipHostMalloc
  std::int64_t registrations = 0;  ///< hipHostRegister
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t modules = 0;
  std::int64_t graphs = 0;  ///< recorded and executable ones

  bool is_empty() const {
    return device_memory == 0 && host_memory == 0 && registrations == 0 && streams == 0 &&
           events == 0 && modules == 0 && graphs == 0;
  }
  friend LiveCounts operator-(const LiveCounts& left, const LiveCounts& right) {
    return {left.device_memory - right.device_memory,
            left.host_memory - right.host_memory,
            left.registrations - right.registrations,
            left.streams - right.streams,
            left.events - right.events,
            left.modules - right.modules,
            left.graphs - right.graphs};
  }
};

/// Wraps one table. Functions of a table have no context argument, so wrappers live in a small
/// fixed number of slots: at most `slot_count` at a time, each around a table of its own (a wrapper
/// of a wrapper counts too). Safe under threads. When a wrapper is gone its table still works, as a
/// plain detour to the inner one, until the slot is used again.
class WrapperTable {
 public:
  static constexpr int slot_count = 4;

  /// Throws std::logic_error when all slots are taken.
  explicit WrapperTable(const hip::Api& inner);
  ~WrapperTable();
  WrapperTable(const WrapperTable&) = delete;
  WrapperTable& operator=(const WrapperTable&) = delete;

  const hip::Api& api() const noexcept;

  /// Lets the n-th call from now (1: the next one) and the `times - 1` after it fail with the code;
  /// the inner call is not made. A failing release (hipFree, hipHostFree, hipHostUnregister, a
  /// destroy or unload, disabling peer access) is different: the inner release is made, counted as
  /// a release, and the code answered all the same, so a test that injects one still leaks nothing.
  /// So is the end of a recording, whose stream would record for ever.
  /// Throws std::invalid_argument for a name that no call has, as do the following.
  void fail(std::string_view call, hip::hipError_t code, std::uint64_t nth = 1,
            std::uint64_t times = 1);

  /// Runs the function before the n-th inner call from now (1: the next one), on the thread of the
  /// caller: to cancel in the middle, or to hold the call until an event.
  void run_before(std::string_view call, std::function<void()> function, std::uint64_t nth = 1);

  /// Sleeps before each inner call of that name.
  void delay(std::string_view call, std::chrono::microseconds time);

  /// From now on work that is queued on streams (copies, fills, launches, host functions) completes
  /// late, by a random time up to `longest` that depends on the stream: some streams are prompt,
  /// others slow, so they finish in another order than they were given work in. Nothing is delayed
  /// on the null stream. The order within a stream stays. A host function on the stream sleeps.
  void delay_streams(std::uint64_t seed, std::chrono::microseconds longest);

  /// Damages what the n-th copy from now (1: the next one, of any copy call) wrote: one byte at
  /// `offset` of the destination is inverted. The copy is waited for and the byte is changed
  /// through the inner table, so it works for host and device memory alike.
  void corrupt_copy(std::uint64_t nth = 1, std::uint64_t offset = 0);

  /// Writes to device memory at once, unnoticed by the layers above: waits until all work of the
  /// memory's device is done, then inverts the byte at `offset` of the largest allocation there is.
  /// From any thread, such as when the last copy of a load was queued. Throws std::logic_error
  /// where nothing so large was allocated through the table.
  void damage_largest(std::uint64_t offset);

  /// Calls so far (injected failures included).
  std::uint64_t count(std::string_view call) const;
  std::uint64_t total_count() const;

  /// Names of the calls in the order of their start.
  std::vector<std::string_view> trace() const;
  LiveCounts live() const;

  /// Forgets counts, trace, pending failures, functions, delays and corruption; keeps the live
  /// counts.
  void reset();

 private:
  int slot_;
};

/// Wraps whatever an inner binder binds.
class WrapperBinder final : public hip::Binder {
 public:
  explicit WrapperBinder(std::shared_ptr<hip::Binder> inner);
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override;

  /// The wrapper around a platform's table; null until that platform was bound with one.
  WrapperTable* table(Platform platform) const;

 private:
  std::shared_ptr<hip::Binder> inner_;
  mutable std::mutex mutex_;
  std::map<Platform, std::unique_ptr<WrapperTable>> tables_;
};

}  // namespace hiptool::test
