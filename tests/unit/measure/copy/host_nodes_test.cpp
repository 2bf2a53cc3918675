// SPDX-License-Identifier: MIT
#include "measure/copy/host_nodes.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

struct Nodes {
  test::TemporaryFolder folder;

  void write(const std::string& name, const std::string& text) const {
    const auto path = folder.path() / "sys/devices/system/node" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
};

}  // namespace

TEST_CASE_FIXTURE(Nodes, "host nodes: those with CPUs; memory alone is no place to copy from") {
  const int cpu = system::allowed_cpus().front();
  write("online", "0-2");
  write("node0/cpulist", std::to_string(cpu));
  write("node1/cpulist", "60000");
  write("node2/cpulist", "");
  const auto nodes = read_host_nodes(folder.path());
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].number == 0);
  CHECK(nodes[0].is_usable);
  CHECK(nodes[1].number == 1);
  CHECK_FALSE(nodes[1].is_usable);
}

TEST_CASE_FIXTURE(Nodes, "host nodes: with one there is nothing to choose") {
  CHECK(read_host_nodes(folder.path()).empty());
  write("online", "0-1");
  write("node0/cpulist", "0-3");
  write("node1/cpulist", "");
  CHECK(read_host_nodes(folder.path()).empty());
}

TEST_CASE("host nodes: a binding holds for its scope") {
  const std::vector<int> before = system::allowed_cpus();
  {
    const NodeBinding binding({0, {before.back()}, true});
    CHECK(system::allowed_cpus() == std::vector<int>{before.back()});
  }
  CHECK(system::allowed_cpus() == before);
}
