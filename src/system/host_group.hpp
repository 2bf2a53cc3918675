// SPDX-License-Identifier: MIT
/// Hosts of a job that tell each other short texts, through the first of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "system/tcp_connection.hpp"

namespace hiptool::system {

struct HostGroupOptions {
  std::vector<std::string> hosts;       ///< in the same order on each of them
  std::size_t own = 0;                  ///< which of them this is
  std::vector<bool> left_out;           ///< that the first one does not wait for; empty: none
  std::uint16_t port = 0;               ///< on which the first one listens
  double timeout_s = 20;                ///< until all are connected
  const CancelToken* cancel = nullptr;  ///< may be null
};

class HostGroup {
 public:
  /// Blocks until the first host has a connection of each other one, or the time is over: those
  /// that are late are left out. Throws Error(unavailable) if the first one cannot listen or be
  /// reached, Error(cancelled).
  explicit HostGroup(HostGroupOptions options);

  using Texts = std::vector<std::optional<std::string>>;
  /// The text of each host, none of one that is not there any more. Each host calls it as often as
  /// the others. Blocks until all have called it, the first one at most `timeout_s`, the others
  /// twice as long. Throws Error(unavailable) where the first host is not there, Error(cancelled).
  Texts share(const std::string& own, double timeout_s);

  /// The name of a host whose connection ended, on others than the first one that of the first one;
  /// empty if there is none. Does not block.
  std::string find_lost() const;

  const std::vector<std::string>& hosts() const noexcept { return options_.hosts; }

 private:
  bool is_first() const noexcept { return options_.own == 0; }
  void accept_all();
  void connect_to_first();
  Texts gather(const std::string& own, double timeout_s);

  HostGroupOptions options_;
  std::vector<std::optional<TcpConnection>> connections_;  ///< of other hosts, by their place
};

}  // namespace hiptool::system
