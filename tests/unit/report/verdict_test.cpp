// SPDX-License-Identifier: MIT
#include "report/verdict.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace hiptool;

TEST_CASE("severity: wrong data before devices, the host, files, absent devices, usage, checks") {
  // The order of docs/check.md and of the design of the command line.
  const int codes[] = {130, 5, 6, 7, 4, 3, 2, 1, 0};
  for (std::size_t i = 1; i < std::size(codes); ++i) {
    CAPTURE(codes[i]);
    CHECK(report::severity_of(codes[i - 1]) > report::severity_of(codes[i]));
  }
  CHECK(report::severity_of(128 + SIGTERM) == report::severity_of(128 + SIGINT));
  CHECK(report::severity_of(0) == 0);
  CHECK(report::order_of_severity() == "5, 6, 7, 4, 3, 2, 1");
}
