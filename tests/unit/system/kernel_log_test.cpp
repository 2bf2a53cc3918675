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

TEST_CASE("kernel log: records have their number, so that new ones can be told from old ones") {
  const SyntheticTree tree;
  tree.write("dev/kmsg", "6,339,5140900,-;NET: Registered\n SUBSYSTEM=pci\n4,340,1,c;a;b");
  const auto log = read_kernel_messages(tree.root());
  REQUIRE(log);
  REQUIRE(log->size() == 2);
  CHECK(log->at(0).sequence == 339);
  CHECK(log->at(1).sequence == 340);
  CHECK(log->at(1).text == "a;b");
}

TEST_CASE("kernel log: of a log of many megabytes the newest records are kept") {
  const SyntheticTree tree;
  std::string text;
  while (text.size() < (std::size_t{13} << 20)) text += "6,1,1,-;" + std::string(1000, 'x') + "\n";
  text += "6,2,1,-;the last";
  tree.write("dev/kmsg", text);
  const auto log = read_kernel_log(tree.root());
  REQUIRE(log);
  CHECK(log->size() > 4000);
  CHECK(log->size() < 4300);
  CHECK(log->back() == "the last");
  CHECK(log->front() == std::string(1000, 'x'));
}
