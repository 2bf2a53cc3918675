// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <map>

#include "harness.hpp"

using namespace hiptool;
using namespace hiptool::cli;

TEST_CASE("every error code has its exit code") {
  const std::map<ErrorCode, int> expected{{ErrorCode::invalid_argument, 2},
                                          {ErrorCode::out_of_bounds, 2},
                                          {ErrorCode::not_found, 2},
                                          {ErrorCode::unsupported, 2},
                                          {ErrorCode::unavailable, 3},
                                          {ErrorCode::out_of_memory, 3},
                                          {ErrorCode::input_failed, 4},
                                          {ErrorCode::corrupt_data, 4},
                                          {ErrorCode::manifest_mismatch, 4},
                                          {ErrorCode::data_mismatch, 5},
                                          {ErrorCode::device, 6},
                                          {ErrorCode::device_lost, 6},
                                          {ErrorCode::timed_out, 6},
                                          {ErrorCode::output_failed, 7},
                                          {ErrorCode::host_out_of_memory, 7},
                                          {ErrorCode::host_failed, 7},
                                          {ErrorCode::internal, 7}};
  for (int i = 0; i <= static_cast<int>(ErrorCode::host_failed); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CAPTURE(to_string(code));
    if (code == ErrorCode::cancelled) continue;
    REQUIRE(expected.count(code) == 1);
    CHECK(exit_code_of(code) == expected.at(code));
  }
}

TEST_CASE("an interrupted run ends with 128 and the signal") {
  CHECK(exit_code_of(ErrorCode::cancelled, SIGINT) == 130);
  CHECK(exit_code_of(ErrorCode::cancelled, SIGTERM) == 143);
  CHECK(exit_code_of(ErrorCode::cancelled) == 130);
  CHECK(exit_code_of(ErrorCode::device, SIGINT) == 6);
}

TEST_CASE("the help names every code") {
  const std::string text = exit_codes_text();
  for (int i = 0; i <= static_cast<int>(ErrorCode::host_failed); ++i) {
    CHECK(testing::contains(text, to_string(static_cast<ErrorCode>(i))));
  }
  for (const char* code : {"  0  ", "  1  ", "  7  ", "130  ", "143  ",
                           "the first of 5, 6, 7, 4, 3, 2, 1", "hiptool_exit_code"}) {
    CHECK(testing::contains(text, code));
  }
  CHECK(testing::widest_line(text) <= 80);
}
