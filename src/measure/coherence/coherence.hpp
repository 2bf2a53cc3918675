// SPDX-License-Identifier: MIT
/// Host memory that a device reads and writes in place, while the host does the same.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

enum class SharedMemoryKind {
  pinned,      ///< allocated by the runtime, used by the host's address
  registered,  ///< the host's pages, registered
  mapped,      ///< allocated by the runtime, used by the address that it has for the device
  managed      ///< hipMallocManaged
};

/// "pinned", "registered", "mapped", "managed".
std::string_view to_string(SharedMemoryKind kind) noexcept;
const std::vector<SharedMemoryKind>& all_shared_memory_kinds();

struct CoherenceOptions {
  std::uint64_t size_bytes = 64u << 10;                  ///< that host and kernel use alternately
  std::uint64_t phase_bytes = 4u << 20;                  ///< that they use one after the other
  std::uint32_t rounds = 64;                             ///< turns of one launch
  std::uint32_t phases = 4;                              ///< rewritings of the memory
  double timeout_s = 5;                                  ///< for the next turn
  const CancelToken* cancel = nullptr;                   ///< may be null
  std::function<void(const std::string& step)> on_step;  ///< before what may hang; may be empty
};

struct CoherenceResult : report::Measurement {
  SharedMemoryKind memory = SharedMemoryKind::pinned;
  std::uint32_t rounds = 0;        ///< turns and phases that were right
  bool has_turns = false;          ///< host and kernel used it at the same time
  bool is_stale = false;           ///< an earlier value was read
  bool has_timed_out = false;      ///< the error: the other side's turn never came
  std::uint64_t offset_bytes = 0;  ///< of the first wrong word
};

/// The result with what only this has in its details.
report::Measurement measurement_of(const CoherenceResult& result);

/// First a resident kernel and the host take turns by words in pinned memory: each reads what the
/// other has written and writes lines of its own in the same pages, while the other one works on
/// the next ones. Then the host rewrites all of the memory and a kernel reads it, ordered by an
/// event: its bits must equal a copy by the runtime; then a kernel writes it for the host.
/// Memory that the device lacks is skipped. Blocks. Failed calls and wrong data set the status;
/// throws Error(cancelled) only.
CoherenceResult measure_coherence(const Device& device, SharedMemoryKind kind,
                                  const CoherenceOptions& options);

}  // namespace hiptool::measure
