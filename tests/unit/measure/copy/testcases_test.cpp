// SPDX-License-Identifier: MIT
#include "measure/copy/plan.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hiptool::measure;

using Texts = std::vector<std::string>;

TEST_CASE("test cases: every single-node name of nvbandwidth 0.8 is known") {
  Texts expected;
  for (const std::string engine : {"_ce", "_sm"}) {
    for (const char* name :
         {"host_to_device_memcpy", "device_to_host_memcpy", "host_to_device_bidirectional_memcpy",
          "device_to_host_bidirectional_memcpy", "device_to_device_memcpy_read",
          "device_to_device_memcpy_write", "device_to_device_bidirectional_memcpy_read",
          "device_to_device_bidirectional_memcpy_write", "all_to_host_memcpy",
          "all_to_host_bidirectional_memcpy", "host_to_all_memcpy",
          "host_to_all_bidirectional_memcpy", "all_to_one_write", "all_to_one_read",
          "one_to_all_write", "one_to_all_read"}) {
      expected.push_back(name + engine);
    }
  }
  for (const char* name :
       {"host_device_latency_sm", "device_to_device_latency_sm", "device_local_copy"}) {
    expected.emplace_back(name);
  }
  CHECK(testcase_names() == expected);
  CHECK(expected.size() == 35);
  for (const std::string& name : expected) {
    CAPTURE(name);
    const auto templates = testcase_templates(name);
    REQUIRE(templates.size() == 1);
    const bool by_kernel = name.find("_sm") != std::string::npos;
    CHECK((templates[0].engine == CopyEngine::kernel) == by_kernel);
    const bool is_latency = name.find("latency") != std::string::npos;
    CHECK(templates[0].is_latency == is_latency);
    CHECK(templates[0].is_chase == is_latency);
    // It times the first copy while others run (USE_FIRST_BW), or adds the rates of both.
    const bool is_of_host = name.starts_with("all_to_host") || name.starts_with("host_to_all") ||
                            name.starts_with("host_to_device_bi") ||
                            name.starts_with("device_to_host_bi");
    CHECK((templates[0].beside != Beside::nothing) == is_of_host);
    CHECK(templates[0].sums_copies == name.starts_with("device_to_device_bi"));
    // testcases_sm.cpp copies both ways between host and device by one kernel (SplitWarp).
    const bool is_both_ways = is_of_host && name.find("bidirectional") != std::string::npos;
    CHECK(is_split(templates[0].engine, templates[0].beside) == (is_both_ways && by_kernel));
  }
  // testcase.cpp exchanges both sides of its reading cases: all read from one, and one from all.
  CHECK(testcase_templates("all_to_one_read_ce").at(0).reads);
  CHECK(testcase_templates("all_to_one_read_ce").at(0).kind == CopyKind::one_to_all);
  CHECK(testcase_templates("one_to_all_read_ce").at(0).reads);
  CHECK(testcase_templates("one_to_all_read_ce").at(0).kind == CopyKind::all_to_one);
  // Those of testcases_sm.cpp prefer the context of the source, where testcases_ce.cpp prefers that
  // of the destination: they write.
  CHECK_FALSE(testcase_templates("all_to_one_read_sm").at(0).reads);
  CHECK(testcase_templates("all_to_one_read_sm").at(0).kind == CopyKind::one_to_all);
  CHECK_FALSE(testcase_templates("one_to_all_read_sm").at(0).reads);
  CHECK(testcase_templates("one_to_all_read_sm").at(0).kind == CopyKind::all_to_one);
  CHECK(testcase_templates("all_to_one_write_ce").at(0).kind == CopyKind::all_to_one);
  CHECK(testcase_templates("host_device_latency_sm").at(0).kind == CopyKind::h2d);
  CHECK(testcase_templates("device_to_device_latency_sm").at(0).kind == CopyKind::p2p_read);
  CHECK(testcase_templates("device_to_device_memcpy_read_sm").at(0).kind == CopyKind::p2p_read);
  CHECK(testcase_templates("all_to_host_bidirectional_memcpy_ce").at(0).beside ==
        Beside::others_both_ways);
  for (const char* name : {"", "host_to_device_memcpy", "host_to_device_memcpy_xx"}) {
    CHECK(testcase_templates(name).empty());
  }
}
