// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/error.hpp"
#include "hiptool/load_report.hpp"

namespace hiptool::load {

/// The status of a load that an error ended. Wrong data that was found stays the result, whatever
/// failed after it; an interrupt does not.
inline LoadStatus status_after(LoadStatus reached, const Error& error) noexcept {
  if (error.code() == ErrorCode::cancelled) return LoadStatus::interrupted;
  return reached == LoadStatus::mismatch ? reached : LoadStatus::failed;
}

}  // namespace hiptool::load
