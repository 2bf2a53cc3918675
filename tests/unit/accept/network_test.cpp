// SPDX-License-Identifier: MIT
// The network stage on trees of sysfs.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "accept/stages.hpp"
#include "unit/system/synthetic_tree.hpp"

using namespace hiptool;
using hiptool::system::SyntheticTree;

namespace {

const std::string ports_of = "sys/class/infiniband/";

void add_port(const SyntheticTree& tree, const std::string& name, const std::string& state,
              const std::string& physical, const std::string& rate) {
  const std::string device = ports_of + name + "/";
  tree.write(device + "hca_type", "MT4129");
  tree.write(device + "ports/1/link_layer", "InfiniBand");
  tree.write(device + "ports/1/state", state);
  tree.write(device + "ports/1/phys_state", physical);
  tree.write(device + "ports/1/rate", rate);
  tree.write(device + "ports/1/counters/link_downed", "1");
  tree.write(device + "ports/1/counters/symbol_error", "5");
}

std::vector<accept::Fault> faults_of(const SyntheticTree& tree, accept::CheckJob job) {
  static CancelToken cancel;
  auto context = std::make_shared<accept::StageContext>();
  context->root = tree.root();
  context->cancel = &cancel;
  context->job = std::move(job);
  context->job.has_others = true;
  const auto work = std::make_shared<accept::StageWork>();
  accept::network_stage({}, context, 60, {work}, {});
  return work->take().faults;
}

accept::CheckJob without_peers() {
  accept::CheckJob job;
  job.why_no_peers = "a test";
  return job;
}

}  // namespace

TEST_CASE("network stage: ports that stand out among those of their model") {
  const SyntheticTree tree;
  add_port(tree, "mlx5_0", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)");
  CHECK(faults_of(tree, without_peers()).empty());
  add_port(tree, "mlx5_1", "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)");
  add_port(tree, "mlx5_2", "2: INIT", "5: LinkUp", "400 Gb/sec (4X NDR)");
  add_port(tree, "mlx5_3", "1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)");
  const auto faults = faults_of(tree, without_peers());
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].code == machine::codes::net_rate);
  CHECK(faults[0].reason ==
        "mlx5_1/1: InfiniBand link runs at 200 Gbit/s, others of its model at 400 Gbit/s");
  CHECK(faults[1].code == machine::codes::net_port);
  CHECK(faults[1].reason == "mlx5_2/1: InfiniBand has a link, but the port is INIT");
  CHECK(faults[1].severity == machine::Severity::fail);
  CHECK(faults[2].code == machine::codes::net_port);
  CHECK(faults[2].severity == machine::Severity::warn);
}

TEST_CASE("network stage: counters that grow while data is exchanged") {
  const SyntheticTree tree;
  add_port(tree, "mlx5_0", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)");
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.2", &name.sin_addr);
  REQUIRE(bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
  REQUIRE(listen(listener, 1) == 0);
  socklen_t size = sizeof(name);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size) == 0);
  accept::CheckJob job;
  job.hosts = {"127.0.0.1", "127.0.0.2"};
  job.port = ntohs(name.sin_port);
  std::vector<accept::Fault> faults;
  {
    // The link fails: the connection ends, and the counters say why.
    const std::jthread failing([&] {
      const int accepted = ::accept(listener, nullptr, nullptr);
      tree.write(ports_of + "mlx5_0/ports/1/counters/link_downed", "2");
      tree.write(ports_of + "mlx5_0/ports/1/counters/symbol_error", "9");
      close(accepted);
    });
    faults = faults_of(tree, job);
  }
  close(listener);
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].code == machine::codes::net_unreached);
  CHECK(faults[1].code == machine::codes::net_errors);
  CHECK(faults[1].reason == "mlx5_0/1: link_downed grew by 1 during the stage");
  CHECK(faults[1].severity == machine::Severity::fail);
  CHECK(faults[2].reason == "mlx5_0/1: symbol_error grew by 4 during the stage");
  CHECK(faults[2].severity == machine::Severity::warn);
}
