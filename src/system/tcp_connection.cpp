// SPDX-License-Identifier: MIT
#include "system/tcp_connection.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::system {
namespace {

constexpr int poll_ms = 100;
constexpr const char* late_text = "no answer in time";

std::string system_text(int number) { return std::generic_category().message(number); }

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses find_addresses(const std::string& host, std::uint16_t port, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result != 0) error = gai_strerror(result);
  return Addresses(result == 0 ? found : nullptr);
}

}  // namespace

TcpDeadline TcpDeadline::after(double time_s, const CancelToken* cancel) {
  const std::chrono::duration<double> time(time_s);
  return {Clock::now() + std::chrono::duration_cast<Clock::duration>(time), cancel};
}

bool TcpDeadline::is_over() const {
  return Clock::now() > at || (cancel != nullptr && cancel->is_cancelled());
}

TcpConnection::TcpConnection(base::Descriptor descriptor, TcpDeadline deadline)
    : descriptor_(std::move(descriptor)), deadline_(deadline) {}

std::string TcpConnection::send_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return late_text;
    const ssize_t sent =
        send(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return system_text(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

std::string TcpConnection::receive_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLIN)) return late_text;
    const ssize_t got = recv(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return system_text(errno);
    if (got == 0) return "the other host closed the connection";
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

bool TcpConnection::is_closed() const {
  char byte = 0;
  const ssize_t got = recv(descriptor_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

bool TcpConnection::wait(short events) const {
  while (!deadline_.is_over()) {
    pollfd one{descriptor_.get(), events, 0};
    if (poll(&one, 1, poll_ms) > 0) return true;
  }
  return false;
}

base::Descriptor listen_on(const std::string& host, std::uint16_t port) {
  std::string error;
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  for (const std::string& address :
       is_number ? std::vector{host} : std::vector<std::string>{"::", "0.0.0.0"}) {
    const Addresses found = find_addresses(address, port, error);
    if (!found) continue;
    base::Descriptor listener(
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, found->ai_protocol));
    const int yes = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const bool is_open = listener.is_open() &&
                         bind(listener.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                         listen(listener.get(), SOMAXCONN) == 0;
    if (is_open) return listener;
    error = system_text(errno);
  }
  throw Error(ErrorCode::unavailable, "network",
              "cannot listen on port " + std::to_string(port) + ": " + error,
              "choose another port with --peer-port");
}

base::Descriptor accept_soon(const base::Descriptor& listener) {
  pollfd one{listener.get(), POLLIN, 0};
  if (poll(&one, 1, poll_ms) <= 0) return base::Descriptor(-1);
  return base::Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

base::Descriptor connect_to_host(const std::string& host, std::uint16_t port,
                                 const TcpDeadline& deadline, std::string& error) {
  const Addresses found = find_addresses(host, port, error);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    base::Descriptor opened(
        socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (connect(opened.get(), one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
      error = system_text(errno);
      continue;
    }
    while (!deadline.is_over()) {
      pollfd waiting{opened.get(), POLLOUT, 0};
      if (poll(&waiting, 1, poll_ms) > 0) break;
    }
    int number = ETIMEDOUT;
    socklen_t size = sizeof(number);
    if (!deadline.is_over()) getsockopt(opened.get(), SOL_SOCKET, SO_ERROR, &number, &size);
    if (number == 0) return opened;
    error = system_text(number);
  }
  return base::Descriptor(-1);
}

}  // namespace hiptool::system
