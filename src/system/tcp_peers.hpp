// SPDX-License-Identifier: MIT
/// Data between the hosts of a job over TCP, checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"

namespace hiptool::system {

/// The hosts of a list as Slurm writes it, "node[01-03,7],login": commas, and numbers in brackets,
/// of which leading zeros are kept (scontrol(1), "show hostnames"). Throws Error(invalid_argument)
/// for a bracket that is not closed, a range that goes backwards, and more than 65536 hosts.
std::vector<std::string> expand_hosts(std::string_view list);

struct TcpOptions {
  std::vector<std::string> hosts;        ///< of the job, in the same order on each of them
  std::size_t own = 0;                   ///< which of them this is
  std::uint16_t port = 0;                ///< on which each listens
  std::uint64_t size_bytes = 16u << 20;  ///< that goes each way between two hosts
  double timeout_s = 20;                 ///< for all of it: others may start later
  const CancelToken* cancel = nullptr;   ///< may be null
};

/// What became of the data between this host and another one.
struct TcpPeer {
  std::string host;
  std::string error;              ///< why there was none: "Connection refused"; empty: there was
  std::uint64_t wrong_words = 0;  ///< that arrived here, or at the other one
  std::optional<double> bytes_per_s;  ///< both ways
};

/// Each host listens; of two the one that is earlier in the list connects, sends a pattern and gets
/// another one back. Blocks. A host that cannot be reached until the time is over is in the result.
/// Throws Error(unavailable) if this host cannot listen, Error(cancelled).
std::vector<TcpPeer> exchange_with_peers(const TcpOptions& options);

}  // namespace hiptool::system
