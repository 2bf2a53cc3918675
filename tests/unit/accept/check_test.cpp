// SPDX-License-Identifier: MIT
#include "accept/check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace hiptool;
using namespace hiptool::accept;

TEST_CASE("faults are sorted by their exit codes, a failed host before an unreadable file") {
  const auto fault = [](const std::string& what, ErrorCode code) {
    return Fault{"HT-HANG", what, "", "", "do", Error(code, what, what)};
  };
  std::vector<Fault> faults{
      Fault{"HT-COPY-RATE", "rate", "", "", "do", {}}, fault("file", ErrorCode::input_failed),
      fault("absent", ErrorCode::unavailable),         fault("host", ErrorCode::host_out_of_memory),
      fault("call", ErrorCode::device_lost),           fault("data", ErrorCode::data_mismatch)};
  std::stable_sort(faults.begin(), faults.end(), is_worse);
  std::vector<int> codes;
  for (const Fault& one : faults) codes.push_back(exit_code_of(one));
  CHECK(codes == std::vector<int>{5, 6, 7, 4, 3, 1});
}

TEST_CASE("check: a reason that names its measurement has the name once") {
  StageResult result;
  result.stage = "copy";
  result.device = "amd:0";
  Fault fault;
  fault.device = "amd:0";
  fault.what = "h2d.pinned.copy.1MiB";
  fault.reason = "h2d.pinned.copy.1MiB did not end within 30 s";
  CHECK(result.text_of(fault) == "h2d.pinned.copy.1MiB did not end within 30 s");
  fault.reason = "24.1 GB/s, at least 48.0 GB/s expected";
  CHECK(result.text_of(fault) == "h2d.pinned.copy.1MiB: 24.1 GB/s, at least 48.0 GB/s expected");
}
