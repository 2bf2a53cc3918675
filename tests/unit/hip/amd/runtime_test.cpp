// SPDX-License-Identifier: MIT
#include "hip/amd/runtime.hpp"

#include <doctest/doctest.h>

namespace hiptool::hip::amd {

TEST_CASE("versions are written as the packages do") {
  CHECK(format_version(50221153) == "5.2.21153");
  CHECK(format_version(60443484) == "6.4.43484");
  CHECK(format_version(100100001) == "10.1.1");
  CHECK(format_version(0).empty());
  CHECK(major_of_version(50731921) == 5);
  CHECK(major_of_version(100100001) == 10);
}

TEST_CASE("HIP 5's memory types are renumbered") {
  CHECK(renumber_memory_type(0) == hipMemoryTypeHost);
  CHECK(renumber_memory_type(1) == hipMemoryTypeDevice);
  CHECK(renumber_memory_type(2) == 10);
  CHECK(renumber_memory_type(3) == 11);
  CHECK(renumber_memory_type(4) == hipMemoryTypeManaged);
  CHECK(renumber_memory_type(-1) == hipMemoryTypeUnregistered);
  CHECK(renumber_memory_type(5) == hipMemoryTypeUnregistered);
}

}  // namespace hiptool::hip::amd
