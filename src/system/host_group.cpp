// SPDX-License-Identifier: MIT
#include "system/host_group.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "hiptool/error.hpp"

namespace hiptool::system {
namespace {

constexpr std::uint32_t group_mark = 0x48544752;  // another program on the port says other words
constexpr std::uint32_t no_text = 0xFFFFFFFF;
constexpr std::uint32_t most_text_bytes = 1u << 20;
constexpr std::chrono::milliseconds group_retry_pause{100};
constexpr double group_hello_patience_s = 2;  // whoever else connects to the port says nothing

std::string send_text(TcpConnection& to, const std::optional<std::string>& text) {
  const std::array<std::uint32_t, 1> size{text ? static_cast<std::uint32_t>(text->size())
                                               : no_text};
  const std::string error = to.send_all(std::as_bytes(std::span(size)));
  if (!error.empty() || !text) return error;
  return to.send_all(std::as_bytes(std::span(*text)));
}

std::string receive_text(TcpConnection& from, std::optional<std::string>& text) {
  std::array<std::uint32_t, 1> size{};
  const std::string error = from.receive_all(std::as_writable_bytes(std::span(size)));
  if (!error.empty() || size[0] == no_text) return error;
  if (size[0] > most_text_bytes) return "a text of the other host is too long";
  text.emplace(size[0], '\0');
  return from.receive_all(std::as_writable_bytes(std::span(*text)));
}

}  // namespace

HostGroup::HostGroup(HostGroupOptions options)
    : options_(std::move(options)), connections_(options_.hosts.size()) {
  options_.left_out.resize(options_.hosts.size(), false);
  if (is_first()) {
    accept_all();
  } else {
    connect_to_first();
  }
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("network");
}

void HostGroup::accept_all() {
  const TcpDeadline deadline = TcpDeadline::after(options_.timeout_s, options_.cancel);
  const base::Descriptor listener = listen_on(options_.hosts[0], options_.port);
  auto left = std::count(options_.left_out.begin() + 1, options_.left_out.end(), false);
  while (left > 0 && !deadline.is_over()) {
    base::Descriptor accepted = accept_soon(listener);
    if (!accepted.is_open()) continue;
    const TcpDeadline soon = TcpDeadline::after(group_hello_patience_s, options_.cancel);
    TcpConnection connection(std::move(accepted), soon);
    std::array<std::uint32_t, 2> hello{};
    const std::string error = connection.receive_all(std::as_writable_bytes(std::span(hello)));
    const bool is_right = error.empty() && hello[0] == group_mark && hello[1] > 0 &&
                          hello[1] < connections_.size() && !options_.left_out[hello[1]];
    if (!is_right || !connection.send_all(std::as_bytes(std::span(hello))).empty()) continue;
    if (!connections_[hello[1]]) --left;
    connections_[hello[1]].emplace(std::move(connection));
  }
}

/// The answer shows that it is this group that listens, and not what used the port before.
void HostGroup::connect_to_first() {
  const TcpDeadline deadline = TcpDeadline::after(options_.timeout_s, options_.cancel);
  const std::string& first = options_.hosts[0];
  std::string error;
  do {
    base::Descriptor opened = connect_to_host(first, options_.port, deadline, error);
    if (opened.is_open()) {
      TcpConnection connection(std::move(opened), deadline);
      const std::array<std::uint32_t, 2> hello{group_mark,
                                               static_cast<std::uint32_t>(options_.own)};
      std::array<std::uint32_t, 2> answer{};
      error = connection.send_all(std::as_bytes(std::span(hello)));
      if (error.empty()) error = connection.receive_all(std::as_writable_bytes(std::span(answer)));
      if (error.empty() && answer == hello) {
        connections_[0].emplace(std::move(connection));
        return;
      }
    }
    std::this_thread::sleep_for(group_retry_pause);  // the first host may not listen yet
  } while (!deadline.is_over());
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("network");
  throw Error(ErrorCode::unavailable, "network", first + ": " + error);
}

HostGroup::Texts HostGroup::share(const std::string& own, double timeout_s) {
  if (is_first()) {
    Texts texts = gather(own, timeout_s);
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("network");
    return texts;
  }
  TcpConnection& first = *connections_[0];
  first.extend(TcpDeadline::after(2 * timeout_s, options_.cancel));
  Texts texts(options_.hosts.size());
  std::string error = send_text(first, own);
  for (std::size_t i = 0; i < texts.size() && error.empty(); ++i)
    error = receive_text(first, texts[i]);
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("network");
  if (!error.empty())
    throw Error(ErrorCode::unavailable, "network", options_.hosts[0] + ": " + error);
  return texts;
}

HostGroup::Texts HostGroup::gather(const std::string& own, double timeout_s) {
  Texts texts(options_.hosts.size());
  texts[0] = own;
  const TcpDeadline deadline = TcpDeadline::after(timeout_s, options_.cancel);
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (!connections_[i]) continue;
    connections_[i]->extend(deadline);
    if (receive_text(*connections_[i], texts[i]).empty()) continue;
    texts[i].reset();
    connections_[i].reset();
  }
  const TcpDeadline soon = TcpDeadline::after(timeout_s, options_.cancel);
  for (std::optional<TcpConnection>& connection : connections_) {
    if (!connection) continue;
    connection->extend(soon);
    std::string error;
    for (std::size_t i = 0; i < texts.size() && error.empty(); ++i)
      error = send_text(*connection, texts[i]);
    if (!error.empty()) connection.reset();
  }
  return texts;
}

std::string HostGroup::find_lost() const {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i] && connections_[i]->is_closed()) return options_.hosts[i];
  }
  return {};
}

}  // namespace hiptool::system
