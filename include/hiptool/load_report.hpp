// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"

namespace hiptool {

/// How a load proves that the bytes in device memory equal the files. The device computes
/// the XXH3-64 of every block of 16 KiB in its memory after the last copy; XXH3 detects damage, not
/// tampering.
enum class VerifyMode {
  automatic,  ///< `full` for files in the page cache, `fast` for others
  // Where a device has no digest kernel, modes with digests become `readback`.
  full,       ///< digests of the device against a second, independent reading of the files
  fast,       ///< against digests of the staging slots as they were read: one reading
  readback,   ///< all bytes copied back and compared with a second reading
  published,  ///< as `full`, and each file's SHA-256 against the one published for it
  none,
};

/// "auto", "full", "fast", "readback", "published", "none".
[[nodiscard]] HIPTOOL_API std::string_view to_string(VerifyMode mode) noexcept;

/// How far a load came.
enum class LoadStatus {
  failed,       ///< an error ended it
  interrupted,  ///< the cancel token ended it
  empty,        ///< the model has no tensors
  loaded,       ///< without verification
  verified,
  mismatch,  ///< device memory differs from the files
};

/// "failed", "interrupted", "empty", "loaded", "verified", "mismatch".
[[nodiscard]] HIPTOOL_API std::string_view to_string(LoadStatus status) noexcept;

/// What the transfer from files to devices did.
struct LoadStatistics {
  double load_time_s = 0;  ///< first read issued to last copy done
  double copy_time_s = 0;  ///< first to last copy by the device's own events; 0 without staging
  std::uint64_t copied_bytes = 0;       ///< with the gaps between tensors
  std::uint64_t read_bytes = 0;         ///< read from files: the sum of the next two
  std::uint64_t buffered_bytes = 0;     ///< of tensors, read through the page cache
  std::uint64_t direct_bytes = 0;       ///< of tensors, read past it
  std::string direct_engine;            ///< "io_uring" or "pread"; empty: no direct reads
  std::vector<std::string> read_notes;  ///< reasons for the way in which a file was read
  std::uint32_t readers = 0;
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
};

/// A run of bytes on a device that differs from the file.
struct Mismatch {
  std::string tensor;
  std::uint32_t file = 0;           ///< index into ModelFile::files()
  std::uint64_t file_offset = 0;    ///< of the first differing byte
  std::uint64_t device_offset = 0;  ///< of the same byte in the arena
  std::uint64_t size_bytes = 0;  ///< first to last differing byte; neighbouring blocks are one run
  std::string device;            ///< "nvidia:0"
};

/// A device whose memory differs from the files.
struct WrongDevice {
  std::string device;                ///< "nvidia:0"
  std::uint64_t blocks = 0;          ///< blocks compared on it
  std::uint64_t mismatch_count = 0;  ///< of these the blocks that differ
};

/// The result of a verification.
///
/// Digests (schema version 1 of `hiptool load`): block = XXH3-64, seed 0, of each 16 KiB of a
/// tensor, the last block shorter; tensor = XXH3-64 over its block digests, little-endian, in
/// order; model = XXH3-64 over, for each tensor in byte-wise order of name: name, zero byte, type
/// name, zero byte, rank and dims as u64 little-endian, tensor digest as u64 little-endian.
struct VerifyResult {
  std::uint64_t blocks = 0;  ///< blocks compared
  std::uint64_t compared_bytes = 0;
  std::vector<Mismatch> mismatches;  ///< in the order of device_offset, at most max_mismatches
  std::uint64_t mismatch_count = 0;  ///< blocks that differ, also beyond that limit
  std::uint64_t model_digest = 0;    ///< of the files' bytes; 0 unless the plan has all tensors
  /// By index of ModelFile::tensors(), of the files' bytes; 0 for tensors that the plan lacks.
  std::vector<std::uint64_t> tensor_digests;
  double duration_s = 0;
  /// The part of it in which the devices digest their memory and the host copies and compares what
  /// has arrived; 0 for a read-back.
  double digest_time_s = 0;
  /// The digest kernel's launches by the device's own events, of the slowest device; 0 on the
  /// processor.
  double digest_kernel_time_s = 0;
  /// Every device with a difference, in the plan's order, also beyond the limit of `mismatches`.
  std::vector<WrongDevice> wrong_devices;
};

inline constexpr std::size_t max_mismatches = 64;

/// A tensor with values that are not finite numbers.
struct ValueFinding {
  std::uint32_t tensor = 0;  ///< index into ModelFile::tensors()
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::uint64_t first_offset = 0;  ///< of the first of both, in bytes from the tensor's start
};

/// The result of LoadOptions::check_values: NaN and infinity in every element of floating-point
/// types, and of quantised types in the scales that llama.cpp's --check-tensors checks
/// (ggml_validate_row_data): an F16 for most, two for those with a minimum, an F32 for Q8_K, the
/// E8M0 byte of MXFP4, the F16 of IQ1_M in parts. Integers, F6, F4 and NVFP4 have none.
struct ValueCheckResult {
  std::uint64_t checked = 0;  ///< elements of floats, scales of quantised types
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::vector<ValueFinding> findings;  ///< every tensor that has some, by index
  std::uint64_t skipped_tensors = 0;   ///< of types without NaN, or of unknown type
  /// Tensors of any type whose bytes are all zero, by index: a download may have left them so.
  std::vector<std::uint32_t> zero_tensors;
  double duration_s = 0;
};

/// A defect of a real load that the self-test plants in device memory.
enum class Fault {
  flip,   ///< one bit
  swap,   ///< two pieces in each other's place
  drop,   ///< a piece that never arrived
  shift,  ///< a piece one byte too far
  /// a later piece's bytes over an earlier piece, by a copy that lands after the last one, as with
  /// a stuck address line
  late,
};

/// "flip", "swap", "drop", "shift", "late".
[[nodiscard]] HIPTOOL_API std::string_view to_string(Fault fault) noexcept;

/// One planted fault.
struct FaultResult {
  Fault fault = Fault::flip;
  std::string tensor;               ///< in which it was planted
  std::uint64_t device_offset = 0;  ///< where the damage begins
  bool is_caught = false;           ///< reported in this tensor and nowhere else
  std::string device;               ///< "nvidia:0"
};

/// A file and the SHA-256 that is published for it.
struct PublishedHash {
  std::uint32_t file = 0;  ///< index into ModelFile::files()
  std::string published;   ///< 64 hexadecimal digits
  std::string found;       ///< of the file as it was read; empty until it was computed
  std::string source;      ///< what publishes it: "SHA256SUMS"; empty: LoadOptions::sha256
};

/// Rates that bound a load, measured after its verdict. Absent: not measured, or beaten by the load
/// in two measurements, so that it is none of its limits.
struct LoadLimits {
  /// Copies of 64 MiB from pinned memory in a plain loop, over all links of the load at once.
  std::optional<double> h2d_bytes_per_s;
  std::optional<double> read_bytes_per_s;  ///< the load's reader threads without copies
  /// Of a rate that the load beat: what was measured, and that it was measured again. Else empty.
  std::string note;

  [[nodiscard]] bool is_read_bound() const {
    return read_bytes_per_s && (!h2d_bytes_per_s || *read_bytes_per_s < *h2d_bytes_per_s);
  }
  /// The lower of the two.
  [[nodiscard]] std::optional<double> lower() const {
    return is_read_bound() ? read_bytes_per_s : h2d_bytes_per_s;
  }
};

/// A step of a load, from LoadReport::start.
struct LoadPhase {
  /// A literal: "start", "allocate", "load", then as the options need them "sha256", "digest",
  /// "verify", "values", "probe", "self-test".
  std::string_view name;
  double start_s = 0;
  double duration_s = 0;
};

/// What a load found. Complete when load_model() returns; after an exception it holds what was
/// known until then.
struct LoadReport {
  using Clock = std::chrono::steady_clock;

  LoadStatus status = LoadStatus::failed;
  VerifyMode verify_mode = VerifyMode::automatic;  ///< the mode that was used
  /// All bytes were copied back, on request or because the device has no digest kernel.
  bool is_read_back = false;
  std::string verify_note;       ///< why this mode, or the kernel image in use; may be empty
  std::optional<LoadPlan> plan;  ///< absent while no device is known
  std::optional<ModelFit> fit;   ///< with LoadOptions::context_tokens
  std::optional<LoadStatistics> statistics;       ///< of all devices together
  std::vector<LoadStatistics> device_statistics;  ///< by device of the plan, without what was read
  LoadLimits limits;                              ///< of all devices together
  std::optional<VerifyResult> verification;       ///< absent with VerifyMode::none
  std::optional<ValueCheckResult> values;         ///< with LoadOptions::check_values
  std::vector<FaultResult> self_test;             ///< with LoadOptions::self_test
  std::vector<PublishedHash> published;           ///< with VerifyMode::published
  std::optional<std::uint64_t>
      cached_bytes;               ///< of the files in the page cache at the start, an estimate
  std::uint64_t done_bytes = 0;   ///< read and queued so far
  std::vector<LoadPhase> phases;  ///< in the order of their ends
  Clock::time_point start = Clock::now();  ///< of the phases' times
  std::optional<double> verdict_time_s;    ///< from `start` to the verdict

  /// What `limits` bounds: bytes copied to all devices per second of the load, gaps between tensors
  /// included; of a replicated model, whose copies run in parallel, those to one device. Absent
  /// before the bytes were copied.
  [[nodiscard]] std::optional<double> copied_bytes_per_s() const {
    if (!statistics || !(statistics->load_time_s > 0)) return std::nullopt;
    const bool is_replicated = plan && plan->split == SplitKind::replicate;
    const std::uint64_t bytes = is_replicated && !device_statistics.empty()
                                    ? device_statistics.front().copied_bytes
                                    : statistics->copied_bytes;
    return static_cast<double>(bytes) / statistics->load_time_s;
  }

  /// That rate as a share of the lower limit, 0 to 1; absent where no limit is known.
  [[nodiscard]] std::optional<double> share_of_limit() const {
    const auto rate = copied_bytes_per_s();
    if (!rate || !limits.lower()) return std::nullopt;
    return *rate / *limits.lower();
  }
};

}  // namespace hiptool
