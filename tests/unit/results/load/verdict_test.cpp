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

TEST_CASE("a rate of tokens above the peak has no share, and one within its rounding says so") {
  DecodeOutcome decode;
  decode.devices = {"nvidia:0"};
  decode.ids = {5, 8};
  decode.wanted = 2;
  decode.tokens_per_s = 900;
  const auto has_share_line = [&] {
    for (const report::Line& line : decode_lines(decode)) {
      if (line.text.starts_with("share   ")) return true;
    }
    return false;
  };
  decode.share_reason = "the peak memory bandwidth is not known";
  CHECK_FALSE(has_share_line());
  decode.is_above_peak = true;
  CHECK(has_share_line());
  decode.is_above_peak = false;
  decode.share_of_peak = 0.9;
  CHECK_FALSE(has_share_line());
  decode.share_of_peak = 1.01;
  CHECK(has_share_line());
}
