// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "accept/stages.hpp"
#include "system/tcp_peers.hpp"

namespace hiptool::accept {

/// Sums of NCCL or RCCL over the GPUs of all hosts of the job, which call it after they exchanged
/// data. Each host reports what went wrong on any of them. Throws Error(unavailable) where the
/// first host went away, Error(cancelled).
void reduce_over_hosts(const std::vector<Device>& devices, const StageContext& context,
                       const std::vector<system::TcpPeer>& peers, double patience_s,
                       Heartbeat& heart, StageWork& work);

}  // namespace hiptool::accept
