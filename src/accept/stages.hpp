// SPDX-License-Identifier: MIT
/// The stages of a check, each of one device or, of copies, of all.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "accept/workers.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"
#include "reference/prove/reference_decoder.hpp"

namespace hiptool::accept {

/// What a stage found on a device so far. The thread that works may be left behind, so that another
/// takes what there is.
class StageWork {
 public:
  void add(StageMeasurement measured);
  void add(Fault fault);
  /// A figure for people: "h2d 52.4 GB/s".
  void add_figure(const std::string& text);
  /// Something that was left out, and why.
  void add_skip(const std::string& reason);

  struct Findings {
    std::vector<StageMeasurement> measurements;
    std::vector<Fault> faults;
    std::vector<std::string> figures;
    std::vector<std::string> skips;
    bool has_run = false;  ///< something else than leaving out
  };
  /// Takes all of it.
  Findings take();

 private:
  std::mutex mutex_;
  Findings found_;
  std::chrono::steady_clock::time_point last_added_ = std::chrono::steady_clock::now();
};

class Soak;

/// What all stages share; immutable while they run.
struct StageContext {
  CheckLevel level = CheckLevel::quick;
  std::uint64_t size_bytes = 0;  ///< of copies and arrays; 0: depends on the device
  std::filesystem::path root;
  measure::LibraryChild child;
  const CancelToken* cancel = nullptr;
  std::chrono::milliseconds sensor_patience{0};
  CheckJob job;
  std::vector<std::string> kernels;     ///< empty: the level's
  std::vector<std::string> operations;  ///< likewise
  std::shared_ptr<Soak> soak;           ///< that all devices take part in; null in other stages
  std::string hung;  ///< a device that did not answer in an earlier stage; empty: none
  // Of the model.
  CheckModel model;
  std::optional<ModelFile> file;
  std::optional<DecoderSpec> spec;
  std::vector<std::uint32_t> prompt;
  std::shared_ptr<const reference::ReferenceDecoder> reference;
  std::vector<double> logits;  ///< that it computes
};

using SharedContext = std::shared_ptr<const StageContext>;

void memory_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                  StageWork& work);
void kernels_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                   StageWork& work);
void operations_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                      StageWork& work);
void libraries_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                     StageWork& work);
void model_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                 StageWork& work);
void soak_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                StageWork& work);

/// Kernels read and write host memory in place, while the host does.
void coherence_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                     StageWork& work);

/// Computes the logits of the context's prompt in float64 on the host. Blocks; throws
/// Error(cancelled), and Error(input_failed) or Error(corrupt_data) for a model that cannot be
/// computed with.
void compute_reference(StageContext& context, Heartbeat& heart);

/// The fault of a measurement that failed or gave wrong data; none for others. `action` is what to
/// do about wrong data.
std::optional<Fault> fault_in(const std::string& stage, const report::Measurement& measured,
                              const std::string& action);

/// Adds a measurement to the stage, and its fault if it has one.
void add_measured(const std::string& stage, const report::Measurement& measured,
                  const std::string& action, StageWork& work);

/// Adds a fault if some of the reasons for throttling are the hardware's protection of itself.
void add_slowdown(const std::string& device, const std::vector<std::string>& reasons,
                  StageWork& work);

/// What to do after a failed call.
std::string action_of(const Error& error);
/// What to do about a step that took longer than `patience_s`.
std::string action_for_hang(Platform platform, double patience_s, const Error& error);

/// What the step of a stage begins with that has done its work and gives memory back.
inline constexpr const char* releasing_step = "releasing memory";

/// Why a device that is sound by itself gets no answer: releases of memory wait for all devices.
std::string held_up_text(const std::string& device, const std::string& hung);

/// How a stage ended that uses several devices at once.
struct JointStageEnd {
  std::vector<std::string> lost;     ///< ids of devices whose work did not end
  std::vector<std::string> held_up;  ///< of these, those that the hang of another may hold up
  bool has_left_threads = false;
};

/// All copies on these devices, one after the other. A copy that does not end within the patience
/// is a fault, its devices are left out of those that follow. `works` has one for each device, then
/// one for copies of all devices at once.
JointStageEnd copy_stage(const std::vector<Device>& devices, const SharedContext& context,
                         double patience_s, const std::vector<std::shared_ptr<StageWork>>& works,
                         const OnLook& on_look);

/// Exchanges between all devices of a platform: by kernels of ours, then by the vendor's library.
/// `works` as above.
JointStageEnd collective_stage(const std::vector<Device>& devices, const SharedContext& context,
                               double patience_s,
                               const std::vector<std::shared_ptr<StageWork>>& works,
                               const OnLook& on_look);

/// The state of the host's network, and data between the hosts of the job. `works` as above.
JointStageEnd network_stage(const std::vector<Device>& devices, const SharedContext& context,
                            double patience_s, const std::vector<std::shared_ptr<StageWork>>& works,
                            const OnLook& on_look);

}  // namespace hiptool::accept
