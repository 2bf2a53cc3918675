// SPDX-License-Identifier: MIT
#include "system/tcp_peers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "base/descriptor.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "system/tcp_connection.hpp"

namespace hiptool::system {
namespace {

using TcpWords = std::vector<std::uint32_t>;

constexpr std::size_t most_hosts = 65536;
constexpr std::uint32_t hello_mark = 0x48545450;  // another program on the port says other words
constexpr std::chrono::milliseconds retry_pause{100};
constexpr std::chrono::seconds hello_patience{2};  // whoever else connects to the port says nothing

[[noreturn]] void refuse_hosts(std::string_view list, const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, "hosts",
              "'" + std::string(list) + "' is not a list of hosts: " + reason,
              "write node1,node2 or node[1-4]");
}

/// "01" to "03" of "01-03".
void add_numbers(std::string_view list, std::string_view range, const std::string& prefix,
                 std::vector<std::string>& hosts) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto begin = base::parse_number<std::uint64_t>(first);
  const auto end = base::parse_number<std::uint64_t>(last);
  if (!begin || !end || *end < *begin) refuse_hosts(list, "invalid numbers in brackets");
  if (*end - *begin >= most_hosts) refuse_hosts(list, "too many hosts");
  for (std::uint64_t number = *begin; number <= *end; ++number) {
    std::string text = std::to_string(number);
    if (text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
    hosts.push_back(prefix + text);
  }
}

void add_host(std::string_view list, std::string_view item, std::vector<std::string>& hosts) {
  if (item.empty()) refuse_hosts(list, "an empty name");
  const std::size_t open = item.find('[');
  if (open == std::string_view::npos) {
    hosts.emplace_back(item);
  } else {
    const std::size_t close = item.find(']', open);
    if (close == std::string_view::npos) refuse_hosts(list, "a bracket is not closed");
    std::vector<std::string> prefixes;
    std::string_view ranges = item.substr(open + 1, close - open - 1);
    for (;;) {
      const std::size_t comma = ranges.find(',');
      add_numbers(list, ranges.substr(0, comma), std::string(item.substr(0, open)), prefixes);
      if (comma == std::string_view::npos) break;
      ranges.remove_prefix(comma + 1);
    }
    const std::string_view rest = item.substr(close + 1);
    for (const std::string& prefix : prefixes) {
      if (rest.find('[') == std::string_view::npos) {
        hosts.push_back(prefix + std::string(rest));
      } else {
        add_host(list, prefix + std::string(rest), hosts);
      }
    }
  }
  if (hosts.size() > most_hosts) refuse_hosts(list, "too many hosts");
}

/// The word at an index; a seed for each sender and direction.
std::uint32_t tcp_word(std::uint64_t index, std::uint32_t seed) {
  std::uint32_t x = static_cast<std::uint32_t>(index) * 0x9E3779B1u + seed * 0xC2B2AE3Du;
  x = (x ^ x >> 15) * 0x85EBCA77u;
  return x ^ x >> 13;
}

class TcpRun {
 public:
  explicit TcpRun(const TcpOptions& options)
      : options_(options),
        deadline_(TcpDeadline::after(options.timeout_s, options.cancel)),
        peers_(options.hosts.size()),
        count_(options.size_bytes / sizeof(std::uint32_t)) {
    for (std::size_t i = 0; i < peers_.size(); ++i) peers_[i].host = options.hosts[i];
  }

  std::vector<TcpPeer> run() {
    const base::Descriptor listener = listen_on(options_.hosts[options_.own], options_.port);
    {
      const std::jthread serving([&] { serve(listener); });
      for (std::size_t i = options_.own + 1; i < peers_.size(); ++i) connect_to(i);
    }
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("network");
    peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(options_.own));
    return std::move(peers_);
  }

 private:
  void serve(const base::Descriptor& listener) {
    std::size_t left = options_.own;
    for (std::size_t i = 0; i < options_.own; ++i) peers_[i].error = "did not connect in time";
    while (left > 0 && !deadline_.is_over()) {
      base::Descriptor accepted = accept_soon(listener);
      if (!accepted.is_open()) continue;
      TcpConnection connection(
          std::move(accepted),
          {std::min(deadline_.at, TcpDeadline::Clock::now() + hello_patience), options_.cancel});
      std::array<std::uint32_t, 2> hello{};
      const std::string error = connection.receive_all(std::as_writable_bytes(std::span(hello)));
      if (!error.empty() || hello[0] != hello_mark || hello[1] >= options_.own) continue;
      connection.extend(deadline_);
      exchange(connection, hello[1], false);
      --left;
    }
  }

  void connect_to(std::size_t index) {
    TcpPeer& peer = peers_[index];
    do {
      base::Descriptor opened = connect_to_host(peer.host, options_.port, deadline_, peer.error);
      if (!opened.is_open()) {
        std::this_thread::sleep_for(retry_pause);  // the other host may not listen yet
        continue;
      }
      TcpConnection connection(std::move(opened), deadline_);
      const std::array<std::uint32_t, 2> hello{hello_mark,
                                               static_cast<std::uint32_t>(options_.own)};
      peer.error = connection.send_all(std::as_bytes(std::span(hello)));
      if (peer.error.empty()) exchange(connection, index, true);
      return;
    } while (!deadline_.is_over());
  }

  std::uint32_t seed_of(std::size_t sender, std::size_t receiver) const {
    return static_cast<std::uint32_t>(sender * peers_.size() + receiver);
  }

  /// The one that connected sends first. At last each reports to the other how much was wrong.
  void exchange(TcpConnection& connection, std::size_t index, bool is_first) {
    TcpPeer& peer = peers_[index];
    TcpWords sent(count_);
    for (std::uint64_t i = 0; i < count_; ++i) sent[i] = tcp_word(i, seed_of(options_.own, index));
    TcpWords got(count_);
    const auto start = TcpDeadline::Clock::now();
    const auto send_words = [&] { return connection.send_all(std::as_bytes(std::span(sent))); };
    const auto get_words = [&] {
      return connection.receive_all(std::as_writable_bytes(std::span(got)));
    };
    std::string error = is_first ? send_words() : get_words();
    if (error.empty()) error = is_first ? get_words() : send_words();
    const double time_s = std::chrono::duration<double>(TcpDeadline::Clock::now() - start).count();
    std::array<std::uint64_t, 1> wrong{};
    for (std::uint64_t i = 0; i < count_ && error.empty(); ++i)
      wrong[0] += got[i] != tcp_word(i, seed_of(index, options_.own)) ? 1u : 0u;
    std::array<std::uint64_t, 1> theirs{};
    if (error.empty()) error = connection.send_all(std::as_bytes(std::span(wrong)));
    if (error.empty()) error = connection.receive_all(std::as_writable_bytes(std::span(theirs)));
    peer.error = error;
    peer.wrong_words = wrong[0] + theirs[0];
    if (error.empty() && time_s > 0)
      peer.bytes_per_s = 2 * static_cast<double>(options_.size_bytes) / time_s;
  }

  const TcpOptions& options_;
  TcpDeadline deadline_;
  std::vector<TcpPeer> peers_;
  std::uint64_t count_;
};

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char sign = i < list.size() ? list[i] : ',';
    if (sign == '[') ++depth;
    if (sign == ']') --depth;
    if (i == list.size() && depth != 0) refuse_hosts(list, "a bracket is not closed");
    if (sign != ',' || depth > 0) continue;
    add_host(list, list.substr(begin, i - begin), hosts);
    begin = i + 1;
  }
  return hosts;
}

std::vector<TcpPeer> exchange_with_peers(const TcpOptions& options) {
  return TcpRun(options).run();
}

}  // namespace hiptool::system
