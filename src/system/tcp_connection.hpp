// SPDX-License-Identifier: MIT
/// TCP connections between the hosts of a job, whose calls end with a deadline.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::system {

/// What ends the waiting.
struct TcpDeadline {
  using Clock = std::chrono::steady_clock;

  Clock::time_point at;
  const CancelToken* cancel = nullptr;  ///< may be null

  static TcpDeadline after(double time_s, const CancelToken* cancel);
  bool is_over() const;
};

/// Failures are texts, empty for none.
class TcpConnection {
 public:
  TcpConnection(base::Descriptor descriptor, TcpDeadline deadline);

  void extend(const TcpDeadline& deadline) { deadline_ = deadline; }
  std::string send_all(std::span<const std::byte> bytes);
  std::string receive_all(std::span<std::byte> bytes);
  /// Whether the other end was closed, and all that it sent was received. Does not block.
  bool is_closed() const;

 private:
  bool wait(short events) const;

  base::Descriptor descriptor_;
  TcpDeadline deadline_;
};

/// Listens on all addresses, or where the host is named by a number on that one, so that several
/// may be on one machine. Throws Error(unavailable).
base::Descriptor listen_on(const std::string& host, std::uint16_t port);

/// A connection that was made within 0.1 s, or none.
base::Descriptor accept_soon(const base::Descriptor& listener);

/// Tries once; without a connection `error` says why.
base::Descriptor connect_to_host(const std::string& host, std::uint16_t port,
                                 const TcpDeadline& deadline, std::string& error);

}  // namespace hiptool::system
