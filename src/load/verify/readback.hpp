// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/load.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool::load {

struct VerifyOptions {
  std::uint32_t threads = 0;  ///< 0 chooses from the cores
  const CancelToken* cancel = nullptr;
  LoadObserver* observer = nullptr;
  std::string compiler_program;  ///< as LoadOptions::compiler_program
  Timeline* timeline = nullptr;
};

/// Reads the arena back and compares it byte by byte with a second, independent reading of the
/// files, whose offsets come from the parsed headers and not from the loader's copies. Blocks. A
/// difference is a result, not an exception; throws Error(input_failed) or what the runtime
/// answered.
VerifyResult verify_readback(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                             const VerifyOptions& options = {});

/// One result of those of a plan's devices, in its order: blocks, bytes and differences of all, at
/// most max_mismatches of them named; digests by tensor from the device that has it, and the digest
/// of the model. Pure arithmetic.
VerifyResult join_results(const ModelFile& model, const LoadPlan& plan,
                          std::span<const VerifyResult> results);

}  // namespace hiptool::load
