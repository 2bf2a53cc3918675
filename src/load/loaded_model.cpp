// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "load/dims.hpp"

namespace hiptool {

std::string_view to_string(VerifyMode mode) noexcept {
  switch (mode) {
    case VerifyMode::automatic: return "auto";
    case VerifyMode::full: return "full";
    case VerifyMode::fast: return "fast";
    case VerifyMode::readback: return "readback";
    case VerifyMode::published: return "published";
    case VerifyMode::none: break;
  }
  return "none";
}

std::string_view to_string(LoadStatus status) noexcept {
  switch (status) {
    case LoadStatus::failed: return "failed";
    case LoadStatus::interrupted: return "interrupted";
    case LoadStatus::empty: return "empty";
    case LoadStatus::loaded: return "loaded";
    case LoadStatus::verified: return "verified";
    case LoadStatus::mismatch: break;
  }
  return "mismatch";
}

std::string_view to_string(Fault fault) noexcept {
  switch (fault) {
    case Fault::flip: return "flip";
    case Fault::swap: return "swap";
    case Fault::drop: return "drop";
    case Fault::shift: return "shift";
    case Fault::late: return "late";
  }
  return "flip";
}

LoadedModel::LoadedModel(ModelFile model, std::vector<Buffer> arenas, LoadReport report)
    : model_(std::move(model)), arenas_(std::move(arenas)), report_(std::move(report)) {
  const std::size_t devices = report_.plan ? report_.plan->devices.size() : 0;
  if (arenas_.size() <= devices) return;
  throw Error(ErrorCode::invalid_argument, "make loaded model",
              base::plain_count_of(arenas_.size(), "arena") + " for a plan of " +
                  base::plain_count_of(devices, "device"));
}

const LoadPlan& LoadedModel::plan() const {
  if (report_.plan) return *report_.plan;
  throw Error(ErrorCode::not_found, "find plan",
              "no device was opened for a model without tensors");
}

Tensor LoadedModel::tensor(std::string_view name) const { return to_tensor(weight(name), name); }

Tensor LoadedModel::tensor(std::string_view name, const Device& device) const {
  return to_tensor(weight(name, device), name);
}

ops::QuantisedTensor LoadedModel::quantised_tensor(std::string_view name) const {
  return to_matrix(weight(name), name);
}

ops::QuantisedTensor LoadedModel::quantised_tensor(std::string_view name,
                                                   const Device& device) const {
  return to_matrix(weight(name, device), name);
}

Tensor LoadedModel::to_tensor(const Weight& weight, std::string_view name) const {
  const std::optional<DType> dtype = dtype_of(weight.type);
  if (!dtype) {
    throw Error(ErrorCode::unsupported, "find tensor",
                "tensor '" + std::string(name) + "' has elements of type " +
                    std::string(weight.type.name()) + ", which is not a DType",
                "quantised_tensor() gives it for ops::quantised_matmul()");
  }
  return Tensor(weight.bytes, *dtype, Layout(load::dims_slowest_first(model_, weight.shape)));
}

ops::QuantisedTensor LoadedModel::to_matrix(const Weight& weight, std::string_view name) const {
  if (weight.shape.size() != 2) {
    throw Error(ErrorCode::invalid_argument, "find matrix",
                "tensor '" + std::string(name) + "' has " +
                    base::plain_count_of(weight.shape.size(), "dimension") + ", a matrix has 2");
  }
  const auto dims = load::dims_slowest_first(model_, weight.shape);
  return ops::QuantisedTensor(weight.bytes, weight.type, dims[0], dims[1]);
}

Weight LoadedModel::weight(std::string_view name) const { return find(name, nullptr); }

Weight LoadedModel::weight(std::string_view name, const Device& device) const {
  return find(name, &device);
}

Weight LoadedModel::find(std::string_view name, const Device* device) const {
  const TensorInfo* const tensor = model_.find(name);
  if (tensor == nullptr) {
    std::vector<std::string> names;
    for (const TensorInfo& known : model_.tensors()) names.emplace_back(known.name);
    const std::string near = base::suggestion(name, names);
    throw Error(
        ErrorCode::not_found, "find weight", "the model has no tensor '" + std::string(name) + "'",
        near.empty() ? "ModelFile::tensors() and `hiptool inspect` list its tensors" : near);
  }
  const auto index = static_cast<std::uint32_t>(tensor - model_.tensors().data());
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    const DevicePlan& part = report_.plan->devices[i];
    if (device != nullptr && !(part.device == *device)) continue;
    // Plans place tensors in the order of their indices.
    const auto& placements = part.layout.placements;
    const auto found = std::ranges::lower_bound(placements, index, {}, &Placement::tensor);
    if (found == placements.end() || found->tensor != index) continue;
    return {arenas_[i].view(found->device_offset, tensor->size_bytes), tensor->type, tensor->shape};
  }
  throw Error(ErrorCode::not_found, "find weight",
              "tensor '" + std::string(name) + "' is not on " +
                  (device != nullptr ? device->id() : std::string("a device of this load")));
}

}  // namespace hiptool
