// SPDX-License-Identifier: MIT
#include "system/tcp_peers.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "hiptool/error.hpp"

using hiptool::Error;
using hiptool::system::exchange_with_peers;
using hiptool::system::expand_hosts;
using hiptool::system::TcpOptions;
using hiptool::system::TcpPeer;

namespace {

using Names = std::vector<std::string>;

/// Listens on an address of this machine; port 0 takes a free one.
struct Listener {
  Listener(const char* address, std::uint16_t number) : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(number);
    inet_pton(AF_INET, address, &name.sin_addr);
    REQUIRE(bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
    REQUIRE(listen(socket, 1) == 0);
    socklen_t size = sizeof(name);
    REQUIRE(getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) == 0);
    port = ntohs(name.sin_port);
  }
  ~Listener() { close(socket); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket;
  std::uint16_t port = 0;
};

std::uint16_t free_port() { return Listener("127.0.0.1", 0).port; }

void read_bytes(int socket, std::size_t count) {
  std::vector<char> bytes(count);
  REQUIRE(recv(socket, bytes.data(), count, MSG_WAITALL) == static_cast<ssize_t>(count));
}

}  // namespace

TEST_CASE("hosts of Slurm's lists") {
  CHECK(expand_hosts("a") == Names{"a"});
  CHECK(expand_hosts("a,b.example") == Names{"a", "b.example"});
  CHECK(expand_hosts("n[08-10,3],login") == Names{"n08", "n09", "n10", "n3", "login"});
  CHECK(expand_hosts("r[1-2]n[1-2]") == Names{"r1n1", "r1n2", "r2n1", "r2n2"});
  CHECK(expand_hosts("a[1]-ib") == Names{"a1-ib"});
  for (const char* wrong : {"", "a,,b", "a,", "n[1", "n[2-1]", "n[x]", "n[]", "n[1-99999999]",
                            "n[1-999]m[1-999]", "n]"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(expand_hosts(wrong), Error);
  }
}

TEST_CASE("TCP between hosts: all words of all pairs arrive") {
  const Names hosts{"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  const std::uint16_t port = free_port();
  std::vector<std::vector<TcpPeer>> results(hosts.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t own = 0; own < hosts.size(); ++own) {
      threads.emplace_back([&, own] {
        TcpOptions options;
        options.hosts = hosts;
        options.own = own;
        options.port = port;
        options.size_bytes = 1 << 20;
        options.timeout_s = 60;
        results[own] = exchange_with_peers(options);
      });
    }
  }
  for (const auto& peers : results) {
    REQUIRE(peers.size() == 2);
    for (const TcpPeer& peer : peers) {
      CHECK(peer.error.empty());
      CHECK(peer.wrong_words == 0);
      CHECK(peer.bytes_per_s.value_or(0) > 0);
    }
  }
}

TEST_CASE("TCP between hosts: words that arrive changed are counted") {
  const Listener other("127.0.0.2", 0);
  constexpr std::size_t bytes = 4096;
  const std::jthread wrong([&] {
    const int accepted = accept(other.socket, nullptr, nullptr);
    read_bytes(accepted, 8 + bytes);
    const std::vector<char> zeros(bytes);
    send(accepted, zeros.data(), zeros.size(), MSG_NOSIGNAL);
    const std::uint64_t none = 0;
    send(accepted, &none, sizeof(none), MSG_NOSIGNAL);
    read_bytes(accepted, sizeof(none));
    close(accepted);
  });
  TcpOptions options;
  options.hosts = {"127.0.0.1", "127.0.0.2"};
  options.port = other.port;
  options.size_bytes = bytes;
  options.timeout_s = 60;
  const auto peers = exchange_with_peers(options);
  REQUIRE(peers.size() == 1);
  CHECK(peers[0].error.empty());
  CHECK(peers[0].wrong_words == bytes / 4);
}

TEST_CASE("TCP between hosts: one that is not there, and one that never connects") {
  TcpOptions options;
  options.hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  options.own = 1;
  options.port = free_port();
  options.timeout_s = 0.5;
  const auto peers = exchange_with_peers(options);
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].error == "did not connect in time");
  CHECK(peers[1].error == "Connection refused");
}

TEST_CASE("TCP between hosts: a port that is taken") {
  const Listener other("127.0.0.1", 0);
  TcpOptions options;
  options.hosts = {"127.0.0.1", "127.0.0.2"};
  options.port = other.port;
  CHECK_THROWS_WITH_AS(exchange_with_peers(options), doctest::Contains("cannot listen on port"),
                       Error);
}
