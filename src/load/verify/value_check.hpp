// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

struct ValueCheckOptions {
  const CancelToken* cancel = nullptr;  ///< looked at between launches
  std::string compiler_program;         ///< as VerifyOptions::compiler_program
};

/// Searches NaN and infinity in the tensors of one arena, on its device (ValueCheckResult says in
/// which types), and tensors of zeros alone. Blocks. A finding is a result, not an exception;
/// throws Error(unsupported) where the device has neither an image of the kernel nor a run-time
/// compiler, Error(out_of_bounds) where the layout leaves the arena, Error(cancelled), and what the
/// runtime answered.
ValueCheckResult check_values(const ModelFile& model, const ArenaLayout& layout,
                              const Buffer& arena, const ValueCheckOptions& options = {});

/// Adds what was found on another device. A tensor that both have stays two findings.
void merge_values(ValueCheckResult& into, const ValueCheckResult& from);

}  // namespace hiptool::load
