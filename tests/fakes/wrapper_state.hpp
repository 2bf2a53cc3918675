// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>
#include <random>
#include <set>

#include "fakes/wrapper_table.hpp"

namespace hiptool::test {

/// What one slot knows. It outlives its wrapper, because devices may still hold the table.
struct WrapperState {
  struct Failure {
    std::string_view call;
    std::uint64_t calls_before;  ///< calls that still pass
    std::uint64_t times;
    hip::hipError_t code;
  };

  struct Hook {
    std::string_view call;
    std::uint64_t calls_before;
    std::function<void()> function;
  };

  struct Memory {
    int device = 0;
    std::size_t size_bytes = 0;
  };

  mutable std::mutex mutex;
  hip::Api inner{};
  bool is_taken = false;
  bool is_recording = false;
  std::map<std::string_view, std::uint64_t> counts;
  std::map<std::string_view, std::chrono::microseconds> delays;
  std::vector<std::string_view> trace;
  std::vector<Failure> failures;
  std::vector<Hook> hooks;
  std::uint64_t copies_before_damage = 0;  ///< 0: none is to be damaged
  std::uint64_t damage_offset = 0;
  std::chrono::microseconds longest_delay{0};  ///< of work on a stream; 0: none is delayed
  std::mt19937_64 generator;
  std::map<hip::hipStream_t, std::chrono::microseconds> paces;  ///< the longest delay of a stream
  std::set<hip::hipStream_t> recording;  ///< nothing may be put in front of what they record
  LiveCounts live;
  std::map<void*, Memory> memory;  ///< of hipMalloc, by its start

  /// Notes the call, sleeps if told to, and says which failure it is to answer (hipSuccess: none).
  hip::hipError_t begin(std::string_view call);
  /// Puts a delay on the stream, in front of the work that is about to be queued.
  void hold_back(hip::hipStream_t stream);
  void change_recording(hip::hipStream_t stream, bool records);
  void change_live(std::int64_t LiveCounts::*count, int change);
  void add_memory(void* start, std::size_t size_bytes);
  void remove_memory(void* start);
  void invert(void* address) const;
  void end_copy(void* destination, hip::hipStream_t stream);
  void forget();

 private:
  std::chrono::microseconds draw_delay(hip::hipStream_t stream);
};

WrapperState& wrapper_state(int slot) noexcept;

}  // namespace hiptool::test
