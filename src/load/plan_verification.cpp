// SPDX-License-Identifier: MIT
#include "hiptool/plan_verification.hpp"

#include <algorithm>

#include "hiptool/error.hpp"
#include "load/digest.hpp"

namespace hiptool {

PlanVerification::PlanVerification(const ModelFile& model, const LoadPlan& plan,
                                   std::span<const Buffer> arenas,
                                   std::shared_ptr<FileDigests> files, const VerifyOptions& options)
    : model_(model), plan_(plan), devices_(plan.devices.size()) {
  if (arenas.size() != plan.devices.size()) {
    throw Error(ErrorCode::invalid_argument, "verify",
                std::to_string(arenas.size()) + " arenas were given for a plan of " +
                    std::to_string(plan.devices.size()) + " devices");
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const ArenaLayout& layout = plan.devices[i].layout;
    if (layout.placements.empty()) continue;
    const bool is_copy = plan.split == SplitKind::replicate && i > 0;
    devices_[i] =
        is_copy && !files
            ? std::make_unique<LeafVerification>(*devices_[0], arenas[i], options)
            : std::make_unique<LeafVerification>(model, layout, arenas[i], files, options);
  }
}

PlanVerification::~PlanVerification() = default;

VerifyResult PlanVerification::finish() {
  std::vector<VerifyResult> results;
  for (const auto& device : devices_) {
    results.push_back(device ? device->finish() : VerifyResult());
  }
  return join_results(model_, plan_, results);
}

LeafVerification* PlanVerification::at(std::size_t device) noexcept {
  return devices_[device].get();
}

std::string PlanVerification::image() const {
  for (const auto& device : devices_) {
    if (device) return device->image();
  }
  return {};
}

VerifyResult join_results(const ModelFile& model, const LoadPlan& plan,
                          std::span<const VerifyResult> results) {
  VerifyResult joined;
  joined.tensor_digests.resize(model.tensors().size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const VerifyResult& result = results[i];
    joined.leaves += result.leaves;
    joined.compared_bytes += result.compared_bytes;
    joined.mismatch_count += result.mismatch_count;
    joined.duration_s += result.duration_s;
    for (const Mismatch& mismatch : result.mismatches) {
      if (joined.mismatches.size() < max_mismatches) joined.mismatches.push_back(mismatch);
    }
    for (const Placement& placement : plan.devices[i].layout.placements) {
      joined.tensor_digests[placement.tensor] = result.tensor_digests[placement.tensor];
    }
  }
  joined.model_digest = load::model_digest(model, load::digest_order(model), joined.tensor_digests);
  return joined;
}

}  // namespace hiptool
