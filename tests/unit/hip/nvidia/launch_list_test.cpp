// SPDX-License-Identifier: MIT
#include "hip/nvidia/launch_list.hpp"

#include <doctest/doctest.h>

#include <array>

namespace hiptool::hip::nvidia {
namespace {

void* marker(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

}  // namespace

TEST_CASE("the end marker becomes CUDA's and the caller's list stays as it was") {
  int buffer = 0;
  std::size_t size = sizeof(buffer);
  std::array<void*, 5> extra{marker(1), &buffer, marker(2), &size, marker(3)};
  LaunchList list;
  list.fill(&list);
  REQUIRE(translate_launch_list(extra.data(), list));
  CHECK(list == LaunchList{marker(1), &buffer, marker(2), &size, nullptr});
  CHECK(extra[4] == marker(3));
}

TEST_CASE("the order is free and the list may be short") {
  std::size_t size = 0;
  LaunchList list{};
  std::array<void*, 5> turned{marker(2), &size, marker(1), &size, marker(3)};
  CHECK(translate_launch_list(turned.data(), list));
  CHECK(list[0] == marker(2));
  std::array<void*, 2> empty{marker(3)};
  list.fill(&list);
  CHECK(translate_launch_list(empty.data(), list));
  CHECK(list[0] == nullptr);
}

TEST_CASE("a value that equals the end marker is not taken for it") {
  LaunchList list{};
  std::array<void*, 5> extra{marker(1), marker(3), marker(2), marker(3), marker(3)};
  REQUIRE(translate_launch_list(extra.data(), list));
  CHECK(list == LaunchList{marker(1), marker(3), marker(2), marker(3), nullptr});
}

TEST_CASE("anything else is refused before it is read past its end") {
  std::size_t size = 0;
  LaunchList list{};
  std::array<void*, 2> cuda_end{};
  CHECK_FALSE(translate_launch_list(cuda_end.data(), list));
  std::array<void*, 2> unknown{marker(4)};
  CHECK_FALSE(translate_launch_list(unknown.data(), list));
  std::array<void*, 5> twice{marker(1), &size, marker(1), &size, marker(3)};
  CHECK_FALSE(translate_launch_list(twice.data(), list));
  std::array<void*, 5> endless{marker(1), &size, marker(2), &size, marker(1)};
  CHECK_FALSE(translate_launch_list(endless.data(), list));
}

}  // namespace hiptool::hip::nvidia
