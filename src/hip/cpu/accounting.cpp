// SPDX-License-Identifier: MIT
#include "hip/cpu/accounting.hpp"

#include "hip/cpu/allocations.hpp"

namespace hiptool::hip::cpu {

Accounting live_objects() {
  const Allocations::Counts memory = Allocations::instance().counts();
  return {memory.device,      memory.host,         memory.registered, live_stream_count(),
          live_event_count(), live_module_count(), live_graph_count()};
}

}  // namespace hiptool::hip::cpu
