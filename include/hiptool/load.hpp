// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/tensor.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool {

/// Receives the progress of a load, from any of its threads; implementations lock and must not
/// throw.
class HIPTOOL_API LoadObserver {
 public:
  virtual ~LoadObserver() = default;
  /// The phase of this name (LoadPhase::name) begins. The "verify" after "digest" is not announced:
  /// both are reported as "digest" here, and separately in the report.
  virtual void on_phase(std::string_view name) noexcept { static_cast<void>(name); }
  /// The phase that began last is over, unless an exception ended it.
  virtual void on_phase_end() noexcept {}
  /// Bytes of the phase: queued to devices in "load", compared in the "verify" of a read-back (one
  /// device after the other, each with its own total), hashed in "sha256". Calls may come out of
  /// order.
  virtual void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept = 0;
  /// Of several devices at work in the phase those that it waits for: called when one is done, and
  /// in the "verify" of a read-back, which takes one after the other, when one begins.
  virtual void on_waiting(std::span<const std::string> devices) noexcept {
    static_cast<void>(devices);
  }
};

/// How files are read.
enum class ReadMode {
  /// extents in the page cache through it, others past it, except on file systems where that gains
  /// nothing (in memory, overlays, FUSE, networks)
  automatic,
  buffered,  ///< always through the page cache
  direct,    ///< always past it (O_DIRECT), where the file system supports it
};

/// Details of reading; the defaults suit NVMe disks and the page cache alike.
struct ReadOptions {
  ReadMode mode = ReadMode::automatic;
  std::uint64_t request_bytes = 1u << 20;  ///< of one pread from the page cache
  /// Of one direct request; a multiple of 64 KiB.
  std::uint64_t direct_request_bytes = 512u << 10;
  /// Direct requests that each reader keeps in flight: more than one through io_uring where the
  /// kernel allows it, else one. At most 64. 0: as many as keep 8 MiB of all readers in flight,
  /// which is what 20 GB/s need at a latency of 0.4 ms.
  std::uint32_t depth = 0;
};

/// Options of load_model(). Objects that references refer to must outlive the call.
struct LoadOptions {
  LoadSplit split;  ///< over several devices
  /// Leaves memory free for a KV cache of that many tokens: only a plan in which it fits is loaded.
  /// Layers then stay whole, with their part of the cache. 0: weights only. Not with proportions
  /// and not with arenas of the caller.
  std::uint64_t context_tokens = 0;
  KvCacheOptions kv_cache;  ///< types and sequences of that cache
  VerifyMode verify = VerifyMode::automatic;
  /// The SHA-256 of each of ModelFile::files() in 64 hexadecimal digits, in place of published
  /// ones; only with VerifyMode::published. Empty: those that are published.
  std::vector<std::string> sha256;
  ReadOptions read;
  bool check_values =
      false;               ///< search NaN and infinity on the devices, unless there is a mismatch
  bool self_test = false;  ///< plant each Fault in a verified load and check that it is caught
  /// Measure LoadLimits after the verdict of a load of 1 GiB or more: 768 MiB are copied to each
  /// GPU, and where the links were not nearly full, up to 1 GB is read.
  bool measure_limits = false;

  /// Memory of the caller, one buffer for each device: at least ArenaLayout::arena_bytes of
  /// plan_load(model, devices, split). Its contents are undefined after an exception. Empty: the
  /// load allocates.
  std::vector<Buffer> arenas;
  /// Streams of the caller for the copies from the host, each on one of the devices; a device
  /// without one gets streams of its own.
  std::vector<StreamRef> streams;

  /// Ends the load with Error(cancelled), except while devices are opened or memory is allocated.
  std::optional<std::reference_wrapper<const CancelToken>> cancel;
  std::optional<std::reference_wrapper<LoadObserver>> observer;
  /// Records each reader, stream and verifier.
  std::optional<std::reference_wrapper<Timeline>> timeline;
  /// A `hiptool` program that compiles kernels in a process of its own where a device has no image,
  /// since an old hipRTC can abort; empty: in this process.
  std::string compiler_program;
  /// Filled in as the load proceeds, also when it throws. Give a new one to each load: phases are
  /// added to it, and its times count from its construction. Do not read it before the call ends.
  std::optional<std::reference_wrapper<LoadReport>> report;
};

/// The DType of the elements of a model file; absent for types that have none: quantised ones, U16,
/// U64, BOOL, F4, F6 and the other F8 types.
[[nodiscard]] HIPTOOL_API std::optional<DType> dtype_of(ElementType type) noexcept;

/// A tensor in device memory. LoadedModel::tensor() is the same memory for hiptool/ops.hpp.
struct Weight {
  Buffer bytes;  ///< a view of the load's memory, which it keeps alive
  ElementType type;
  std::vector<std::uint64_t> shape;  ///< as TensorInfo::shape: of a GGUF the fastest dim first
};

/// A model in the memory of devices. Copying it shares the memory, which is freed with the last
/// LoadedModel or Buffer on it.
class HIPTOOL_API LoadedModel {
 public:
  /// Of a model that was loaded in another way: an arena for each device of the report's plan, in
  /// its order. Throws Error(invalid_argument) where there are more arenas than devices.
  LoadedModel(ModelFile model, std::vector<Buffer> arenas, LoadReport report);

  [[nodiscard]] const ModelFile& model() const noexcept { return model_; }
  /// Throws Error(not_found) for a model without tensors for which no device was opened.
  [[nodiscard]] const LoadPlan& plan() const;
  [[nodiscard]] const LoadReport& report() const noexcept { return report_; }
  /// Device memory by device of the plan; empty where a device has no tensors.
  [[nodiscard]] std::span<const Buffer> arenas() const noexcept { return arenas_; }

  /// The tensor of that name, in place: its dtype, and its shape slowest first (of a GGUF the
  /// other way round). Of copies on several devices: that on the first device, or on the device
  /// given. Throws Error(not_found) where the model or the device does not have it,
  /// Error(unsupported), naming the type, for one that is not a DType.
  [[nodiscard]] Tensor tensor(std::string_view name) const;
  [[nodiscard]] Tensor tensor(std::string_view name, const Device& device) const;

  /// A matrix of that name, in place and as the file stores it, for ops::quantised_matmul(): a
  /// quantised one, or F32, F16, BF16 or F64. Besides throws Error(invalid_argument) for a tensor
  /// that has not two dimensions, and what ops::QuantisedTensor throws.
  [[nodiscard]] ops::QuantisedTensor quantised_tensor(std::string_view name) const;
  [[nodiscard]] ops::QuantisedTensor quantised_tensor(std::string_view name,
                                                      const Device& device) const;

  /// The bytes of the tensor, of any type, in place.
  [[nodiscard]] Weight weight(std::string_view name) const;
  [[nodiscard]] Weight weight(std::string_view name, const Device& device) const;

 private:
  [[nodiscard]] Weight find(std::string_view name, const Device* device) const;
  [[nodiscard]] Tensor to_tensor(const Weight& weight, std::string_view name) const;
  [[nodiscard]] ops::QuantisedTensor to_matrix(const Weight& weight, std::string_view name) const;

  ModelFile model_;
  std::vector<Buffer> arenas_;
  LoadReport report_;
};

/// Loads a model into the memory of devices and verifies it: plans (Error(out_of_memory) with the
/// shortfall before anything is allocated), allocates one arena a device, reads the files on
/// several threads through pinned staging slots, copies to all devices at once, and compares device
/// memory with the files as LoadOptions::verify says. Blocks. No copy is in flight afterwards,
/// whatever happens.
///
/// A difference is a result and not an exception: check report().status, which is
/// LoadStatus::verified for a load that was proven.
///
/// Throws Error(input_failed) where a file cannot be read or changed since it was parsed, or where
/// the config.json that sizes a KV cache is missing, Error(manifest_mismatch) where a file's
/// SHA-256 is not the published one, Error(unsupported) for a self-test or a check of values where
/// the device has no kernel for it, Error(cancelled), Error(invalid_argument) for options that
/// contradict each other, for devices, arenas or streams that do not fit each other, for a file
/// without a published SHA-256 and for a model that is too small for the self-test,
/// Error(out_of_bounds) for an arena that is too small, Error(not_found) for a model without the
/// metadata that sizes a KV cache, else the error of the failed call.
[[nodiscard]] HIPTOOL_API LoadedModel load_model(const ModelFile& model,
                                                 std::span<const Device> devices,
                                                 const LoadOptions& options = {});
[[nodiscard]] HIPTOOL_API LoadedModel load_model(const ModelFile& model, const Device& device,
                                                 const LoadOptions& options = {});

/// Makes the devices of a load; called once. An empty one is Error(invalid_argument).
using OpenDevices = std::function<std::vector<Device>()>;

/// The same for devices that are opened during the load: a driver takes some 0.3 s to start, and
/// meanwhile the second reader of `full` and `published` digests the files, or the first bytes of
/// files that are not in the page cache are brought there, and staging memory for
/// `expected_devices` GPUs is touched. The number is a hint: a wrong one costs time. open_devices
/// is not called for a model without tensors. Throws also what open_devices throws, before what
/// reading the files throws.
[[nodiscard]] HIPTOOL_API LoadedModel load_model(const ModelFile& model,
                                                 const OpenDevices& open_devices,
                                                 std::uint32_t expected_devices,
                                                 const LoadOptions& options = {});

}  // namespace hiptool
