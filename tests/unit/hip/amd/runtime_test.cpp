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

}  // namespace hiptool::hip::amd
