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
/// which types), and tensors of zeros alone, and adds what it finds to `into`, which may have
/// another device's: a tensor that both have stays two findings. Blocks. A finding is a result, not
/// an exception; throws Error(unsupported) where the device has neither an image of the kernel nor
/// a run-time compiler, Error(out_of_bounds) where the layout leaves the arena, Error(cancelled)
/// after it has added what was found until then, and what the runtime answered.
void check_values(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                  const ValueCheckOptions& options, ValueCheckResult& into);

}  // namespace hiptool::load
