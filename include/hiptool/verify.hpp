// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hiptool/async_loader.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool {

/// One run of bytes on the device that differs from the file.
struct Mismatch {
  std::string tensor;
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;    ///< of the first differing byte
  std::uint64_t device_offset = 0;  ///< of the same byte in the arena
  std::uint64_t size_bytes = 0;     ///< first to last differing byte within one 16 KiB leaf
  std::string device;               ///< "nvidia:0"
};

struct VerifyResult {
  std::uint64_t leaves = 0;  ///< 16 KiB pieces compared; the last of a tensor is shorter
  std::uint64_t compared_bytes = 0;
  std::vector<Mismatch> mismatches;  ///< in the order of device_offset, at most max_mismatches
  std::uint64_t mismatch_count = 0;  ///< leaves that differ, also beyond that limit
  /// Digest of the files' bytes, see tensor_digests; 0 where the layout has a part of the model.
  std::uint64_t model_digest = 0;
  /// By index of ModelFile::tensors(), of the files' bytes; 0 for tensors that the layout lacks.
  std::vector<std::uint64_t> tensor_digests;
  double duration_s = 0;
  /// Of that, the pass in which the devices digest their memory, with the way of the digests to the
  /// host; 0 for a read-back.
  double digest_time_s = 0;
  /// The kernel of that pass by the device's own events, of the device that took longest; 0 on the
  /// processor.
  double digest_kernel_time_s = 0;
};

inline constexpr std::size_t max_mismatches = 64;
inline constexpr std::uint64_t leaf_bytes = 16u << 10;

struct VerifyOptions {
  std::uint32_t threads = 0;  ///< 0 chooses from the cores
  const CancelToken* cancel = nullptr;
  LoadObserver* observer = nullptr;
  /// A `hiptool` program that compiles kernels in a process of its own where the device has no
  /// image, since an old hipRTC can abort; empty: in this process.
  std::string compiler_program;
  Timeline* timeline = nullptr;  ///< gets lanes for what digests, if there is one
};

/// Reads the arena back and compares it byte by byte with a second, independent reading of the
/// files, whose offsets come from the parsed headers and not from the loader's copies. Blocks. A
/// difference is a result, not an exception; throws Error(input_failed) or what the runtime
/// answered.
///
/// Digests (schema version 1 of `load`): leaf = XXH3-64, seed 0, of each 16 KiB of a tensor;
/// tensor = XXH3-64 over its leaf digests, little-endian, in order; model = XXH3-64 over, for each
/// tensor in byte-wise order of name: name, zero byte, type name, zero byte, rank and dims as u64
/// little-endian, tensor digest as u64 little-endian.
HIPTOOL_API VerifyResult verify_readback(const ModelFile& model, const ArenaLayout& layout,
                                         const Buffer& arena, const VerifyOptions& options = {});

/// One result of those of a plan's devices, in its order: leaves, bytes and differences of all, at
/// most max_mismatches of them named; digests by tensor from the device that has it, and the digest
/// of the model. Pure arithmetic.
HIPTOOL_API VerifyResult join_results(const ModelFile& model, const LoadPlan& plan,
                                      std::span<const VerifyResult> results);

}  // namespace hiptool
