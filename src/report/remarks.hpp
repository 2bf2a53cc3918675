// SPDX-License-Identifier: MIT
/// Remarks about measurements, one line for those that say the same.
#pragma once
#include <string>
#include <vector>

#include "report/measurement.hpp"
#include "report/report.hpp"

namespace hiptool::report {

/// "skipped h2d@nvidia:0: needs two devices".
struct Remark {
  Tone tone = Tone::plain;
  std::string lead;                  ///< "skipped "; may be empty
  std::string subject;               ///< the id of a measurement
  std::vector<std::string> devices;  ///< of the measurement
  std::string text;
};

/// Of a measurement, in place of whatever its kind is derived from.
Remark remark_of(const Measurement& measured, Tone tone, std::string lead, std::string text);

/// Adds "no share: ID: REASON" of a rate above what was taken for its limit, and "share above 1:
/// ID: REASON" of one within rounding of it; nothing for all others.
void add_share_remark(const Measurement& measured, std::vector<Remark>& remarks);

/// A line for each cause, in the order of their first remarks. Remarks have the same cause if lead
/// and text are equal but for the figures in them. "ID and 3 more: TEXT" where the figures are
/// equal too, else "ID: TEXT; alike in 3 more"; with the devices of all, if they are of several:
/// "... (on nvidia:0-3)".
std::vector<Line> lines_of(const std::vector<Remark>& remarks);

}  // namespace hiptool::report
