// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace hiptool::hip::cpu {

/// Live objects of this process, for tests that check for leaks.
struct Accounting {
  std::size_t device_allocations = 0;  ///< including those that a stream has yet to free
  std::size_t host_allocations = 0;
  std::size_t registrations = 0;
  std::size_t streams = 0;
  std::size_t events = 0;
  std::size_t modules = 0;
  std::size_t graphs = 0;  ///< recorded and executable ones

  bool operator==(const Accounting&) const = default;
};

Accounting live_objects();

std::size_t live_stream_count();
std::size_t live_event_count();
std::size_t live_module_count();
std::size_t live_graph_count();

}  // namespace hiptool::hip::cpu
