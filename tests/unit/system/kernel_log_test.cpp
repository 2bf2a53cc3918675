// SPDX-License-Identifier: MIT
#include "system/kernel_log.hpp"

#include <doctest/doctest.h>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

TEST_CASE("kernel log: messages without their prefix, in order") {
  const SyntheticTree tree;
  tree.write("dev/kmsg",
             "6,339,5140900,-;NET: Registered\n SUBSYSTEM=pci\nnoise\n4,340,1,c;a;b\n;x");
  const auto log = read_kernel_log(tree.root());
  REQUIRE(log);
  CHECK(*log == std::vector<std::string>{"NET: Registered", "a;b"});
}

TEST_CASE("kernel log: absent is not the same as empty") {
  const SyntheticTree tree;
  CHECK_FALSE(read_kernel_log(tree.root()));
  tree.write("dev/kmsg", "");
  REQUIRE(read_kernel_log(tree.root()));
  CHECK(read_kernel_log(tree.root())->empty());
  std::filesystem::remove(tree.root() / "dev/kmsg");
  std::filesystem::create_directory(tree.root() / "dev/kmsg");
  CHECK_FALSE(read_kernel_log(tree.root()));
}

TEST_CASE("kernel log: a log of many megabytes is cut, not refused") {
  const SyntheticTree tree;
  std::string text;
  while (text.size() < (std::size_t{5} << 20)) text += "6,1,1,-;" + std::string(1000, 'x') + "\n";
  tree.write("dev/kmsg", text);
  const auto log = read_kernel_log(tree.root());
  REQUIRE(log);
  CHECK(log->size() > 4000);
  CHECK(log->size() < 4300);
}
