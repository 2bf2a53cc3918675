// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Whether the mode compares digests; `automatic` becomes one that does.
constexpr bool has_digests(VerifyMode mode) noexcept {
  return mode != VerifyMode::none && mode != VerifyMode::readback;
}

/// Whether the mode may read the files a second time for digests.
constexpr bool may_read_twice(VerifyMode mode) noexcept {
  return has_digests(mode) && mode != VerifyMode::fast;
}

/// Sets verify_mode, verify_note, is_read_back and, where it is not known yet, cached_bytes of a
/// report that begins: `automatic` becomes `full` for files in the page cache and `fast` for
/// others.
void choose_verify_mode(const ModelFile& model, VerifyMode wanted, LoadReport& report);

/// After a load that the automatic choice verified as `fast`: adds to verify_note what `full` would
/// have cost, which is another reading at the rate of this one.
void note_cost_of_full(LoadReport& report);

/// Whether the files were in the page cache when the report began. Files of unknown residency count
/// as cached, which is the cheaper mistake.
bool is_warm(const ModelFile& model, const LoadReport& report);

}  // namespace hiptool::load
