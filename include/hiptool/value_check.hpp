// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool {

/// A tensor with values that are no finite numbers.
struct ValueFinding {
  std::uint32_t tensor = 0;  ///< index into ModelFile::tensors()
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::uint64_t first_offset = 0;  ///< of the first of both, in bytes from the tensor's start
};

/// What check_values found on one device.
struct ValueCheckResult {
  std::uint64_t checked = 0;  ///< values looked at: elements of floats, scales of quantised types
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::vector<ValueFinding> findings;  ///< every tensor that has some, by index
  std::uint64_t skipped_tensors = 0;   ///< of types that have no NaN, or of unknown type
  double duration_s = 0;
};

struct ValueCheckOptions {
  const CancelToken* cancel = nullptr;  ///< looked at between launches
  std::string compiler_program;         ///< as VerifyOptions::compiler_program
};

/// Looks for NaN and infinity in the tensors of one arena, on its device: in every element of
/// floating-point types, and of quantised types in the scales that llama.cpp's --check-tensors
/// looks at (ggml_validate_row_data): an F16 for most, two for those with a minimum, an F32 for
/// Q8_K, the E8M0 byte of MXFP4, the spread F16 of IQ1_M. Integers, F6, F4 and NVFP4 (whose every
/// scale ggml takes for a number) have nothing to look at. Blocks. What it finds is a result, not
/// an exception; throws Error(unsupported) where the device has neither an image of the kernel nor
/// a run-time compiler, Error(out_of_bounds) where the layout leaves the arena, Error(cancelled),
/// and what the runtime answered.
HIPTOOL_API ValueCheckResult check_values(const ModelFile& model, const ArenaLayout& layout,
                                          const Buffer& arena,
                                          const ValueCheckOptions& options = {});

/// Adds what was found on another device. A tensor that both have stays two findings, one behind
/// the other.
HIPTOOL_API void merge_values(ValueCheckResult& into, const ValueCheckResult& from);

}  // namespace hiptool
