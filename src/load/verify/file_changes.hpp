// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"
#include "load/verify/readback.hpp"

namespace hiptool::load {

/// Call it where a verification found a mismatch and before a device is blamed. Returns where the
/// files are still what the verification compared with. Throws Error(input_failed), which names the
/// file and what happened to it, where
///  - a file is no longer as it was parsed: size, times, another file of that name, no file;
///  - a tensor of result.mismatches, read again, no longer has its digest of result.tensor_digests:
///    a write through a shared mapping moves no time on tmpfs. A digest of 0 is not compared.
/// Error(cancelled) by the token. Blocks while it reads the tensors that are named.
void blame_changed_files(const ModelFile& model, const VerifyResult& result,
                         const CancelToken* cancel = nullptr);

/// Throws Error(input_failed), which names file and tensor, where two readings of the files gave a
/// tensor different digests. Both are by index of model.tensors().
void require_same_reading(const ModelFile& model, std::span<const std::uint64_t> first,
                          std::span<const std::uint64_t> second);

/// What these throw for a tensor whose bytes differ between two readings.
[[noreturn]] void fail_changed(const ModelFile& model, const TensorInfo& tensor);

}  // namespace hiptool::load
