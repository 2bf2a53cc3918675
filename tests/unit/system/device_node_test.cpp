// SPDX-License-Identifier: MIT
#include "system/device_node.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <cerrno>

#include "synthetic_tree.hpp"

using namespace hiptool::system;

TEST_CASE("nodes that are there and nodes that are not") {
  const SyntheticTree tree;
  tree.write("dev/kfd", "");
  CHECK(try_open(tree.root() / "dev/kfd") == 0);
  CHECK(check_access(tree.root() / "dev/kfd") == 0);
  CHECK(try_open(tree.root() / "dev/none") == ENOENT);
  CHECK(check_access(tree.root() / "dev/none") == ENOENT);
  CHECK(try_open(tree.root() / "dev") == EISDIR);
}

TEST_CASE("the owner's group has the name that the root's etc/group gives it") {
  const SyntheticTree tree;
  tree.write("dev/kfd", "");
  const auto node = tree.root() / "dev/kfd";
  REQUIRE(chmod(node.c_str(), 0660) == 0);
  const NodeOwner unnamed = read_owner(tree.root(), node);
  CHECK(unnamed.group.empty());
  CHECK(unnamed.group_id == getegid());
  CHECK(unnamed.is_member);
  CHECK(unnamed.is_open_to_group);
  tree.write("etc/group", "broken\nother:x:99999:\nrender:x:" + std::to_string(getegid()) + ":a,b");
  CHECK(read_owner(tree.root(), node).group == "render");
  REQUIRE(chmod(node.c_str(), 0640) == 0);
  CHECK_FALSE(read_owner(tree.root(), node).is_open_to_group);
  CHECK(read_owner(tree.root(), tree.root() / "dev/none").group.empty());
}
