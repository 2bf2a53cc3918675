// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "load/place/check_arenas.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/verification.hpp"

namespace hiptool::test {

/// Transfers to one device, with layouts of the test's making; the same model and layout again use
/// the same Transfer.
class DeviceLoader {
 public:
  explicit DeviceLoader(const Device& device, load::TransferOptions options = {})
      : device_(device), options_(std::move(options)) {}

  void prepare(const ModelFile& model, const ArenaLayout& layout) {
    transfer_of(model, layout).prepare();
  }

  LoadStatistics load(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                      load::Verification* verification = nullptr) {
    return transfer_of(model, layout).load(std::span(&arena, 1), verification).total;
  }

  double probe_read_bytes_per_s(const ModelFile& model, const ArenaLayout& layout,
                                const Buffer& arena, std::uint64_t most_bytes) {
    return transfer_of(model, layout).probe_read_bytes_per_s(std::span(&arena, 1), most_bytes);
  }

 private:
  load::Transfer& transfer_of(const ModelFile& model, const ArenaLayout& layout) {
    if (!transfer_ || tensors_ != model.tensors().data() ||
        !load::is_same_layout(layout_, layout)) {
      LoadPlan plan;
      plan.devices.push_back({device_, layout});
      transfer_ = std::make_unique<load::Transfer>(model, plan, options_);
      tensors_ = model.tensors().data();
      layout_ = layout;
    }
    return *transfer_;
  }

  Device device_;
  load::TransferOptions options_;
  std::unique_ptr<load::Transfer> transfer_;
  const TensorInfo* tensors_ = nullptr;
  ArenaLayout layout_;
};

}  // namespace hiptool::test
