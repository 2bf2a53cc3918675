// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "load/status.hpp"
#include "results/load/report.hpp"

using namespace hiptool;
using namespace hiptool::results;

TEST_CASE("wrong data stays the result, whatever fails after it; an interrupt does not") {
  const Error failed(ErrorCode::device, "hipMemcpyAsync", "hipMemcpyAsync on amd:0: failed");
  const Error stopped(ErrorCode::cancelled, "load", "interrupted");
  CHECK(load::status_after(LoadStatus::mismatch, failed) == LoadStatus::mismatch);
  CHECK(load::status_after(LoadStatus::verified, failed) == LoadStatus::failed);
  CHECK(load::status_after(LoadStatus::mismatch, stopped) == LoadStatus::interrupted);

  LoadOutcome outcome;
  outcome.status = load::status_after(LoadStatus::mismatch, failed);
  CHECK(load_exit_code(outcome, &failed, 0) == 5);
  outcome.status = load::status_after(LoadStatus::verified, failed);
  CHECK(load_exit_code(outcome, &failed, 0) == 6);
  outcome.status = load::status_after(LoadStatus::mismatch, stopped);
  CHECK(load_exit_code(outcome, &stopped, 2) == 130);
}
