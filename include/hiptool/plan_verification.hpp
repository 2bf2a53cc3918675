// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/export.hpp"
#include "hiptool/file_digests.hpp"
#include "hiptool/leaf_verification.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/verify.hpp"

namespace hiptool {

/// A LeafVerification for each device of a plan that gets tensors, all against one reference. Hand
/// it to PlanLoader::load and call finish() afterwards. Model, plan and arenas must outlive it.
class HIPTOOL_API PlanVerification {
 public:
  /// `arenas`: one for each device of the plan, in its order. `files` as in LeafVerification; where
  /// it is null the staging slots are the reference, for copies on several devices those of the
  /// first. Throws Error(invalid_argument) for another number of arenas, else as LeafVerification.
  PlanVerification(const ModelFile& model, const LoadPlan& plan, std::span<const Buffer> arenas,
                   std::shared_ptr<FileDigests> files, const VerifyOptions& options = {});
  ~PlanVerification();
  PlanVerification(const PlanVerification&) = delete;
  PlanVerification& operator=(const PlanVerification&) = delete;

  /// Waits for all devices; see LeafVerification::finish and join_results. Blocks.
  VerifyResult finish();

  /// That of one device; null where it gets no tensors.
  LeafVerification* at(std::size_t device) noexcept;

  /// The kernel image in use on the first device that gets tensors; empty without one.
  std::string image() const;

 private:
  const ModelFile& model_;
  const LoadPlan& plan_;
  std::vector<std::unique_ptr<LeafVerification>> devices_;
};

/// One result of those of a plan's devices, in its order: leaves, bytes and differences of all, at
/// most max_mismatches of them named; digests by tensor from the device that has it, and the digest
/// of the model. Pure arithmetic.
HIPTOOL_API VerifyResult join_results(const ModelFile& model, const LoadPlan& plan,
                                      std::span<const VerifyResult> results);

}  // namespace hiptool
