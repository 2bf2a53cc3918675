// SPDX-License-Identifier: MIT
#include "system/host_group.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hiptool/error.hpp"
#include "waiting.hpp"

using hiptool::CancelToken;
using hiptool::Error;
using hiptool::ErrorCode;
using hiptool::system::HostGroup;
using hiptool::system::HostGroupOptions;

namespace {

std::uint16_t unused_port() {
  const int opened = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  socklen_t size = sizeof(name);
  REQUIRE(bind(opened, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
  REQUIRE(getsockname(opened, reinterpret_cast<sockaddr*>(&name), &size) == 0);
  close(opened);
  return ntohs(name.sin_port);
}

HostGroupOptions group_of(std::size_t own, std::uint16_t port) {
  HostGroupOptions options;
  options.hosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  options.own = own;
  options.port = port;
  options.timeout_s = 60;
  return options;
}

}  // namespace

TEST_CASE("every host gets the texts of all") {
  const std::uint16_t port = unused_port();
  std::vector<HostGroup::Texts> seen(3);
  {
    std::vector<std::jthread> hosts;
    for (std::size_t own = 0; own < 3; ++own) {
      hosts.emplace_back([&, own] {
        HostGroup group(group_of(own, port));
        group.share(std::string(200000, 'x'), 60);
        seen[own] = group.share(own == 1 ? "" : "host " + std::to_string(own), 60);
      });
    }
  }
  for (const HostGroup::Texts& texts : seen)
    CHECK(texts == HostGroup::Texts{"host 0", "", "host 2"});
}

TEST_CASE("a host that goes away has no text, and is named") {
  const std::uint16_t port = unused_port();
  HostGroup::Texts seen;
  std::jthread second([&] {
    HostGroup group(group_of(1, port));
    seen = group.share("second", 60);
  });
  const std::jthread third([&] { const HostGroup group(group_of(2, port)); });
  HostGroup first(group_of(0, port));
  CHECK(hiptool::test::comes_true([&] { return first.find_lost() == "127.0.0.3"; }));
  const HostGroup::Texts expected{"first", "second", std::nullopt};
  CHECK(first.share("first", 60) == expected);
  second.join();
  CHECK(first.find_lost() == "127.0.0.2");
  CHECK(seen == expected);
}

TEST_CASE("the first host does not wait for those that are left out") {
  HostGroupOptions options = group_of(0, unused_port());
  options.left_out = {false, true, true};
  HostGroup first(options);
  CHECK(first.share("alone", 60) == HostGroup::Texts{"alone", std::nullopt, std::nullopt});
  CHECK(first.find_lost().empty());
}

TEST_CASE("a first host that is not there") {
  HostGroupOptions options = group_of(1, unused_port());
  options.timeout_s = 0.2;
  try {
    const HostGroup group(options);
    FAIL("it was there");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unavailable);
    CHECK(std::string(error.what()).find("127.0.0.1: Connection refused") != std::string::npos);
  }
}

TEST_CASE("a group that is cancelled") {
  CancelToken cancel;
  cancel.cancel();
  HostGroupOptions options = group_of(0, unused_port());
  options.cancel = &cancel;
  try {
    const HostGroup group(options);
    FAIL("it waited");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}
