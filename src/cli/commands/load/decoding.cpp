// SPDX-License-Identifier: MIT
#include "cli/commands/load/decoding.hpp"

#include <fmt/format.h>

#include <string>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "model/decoder_parts.hpp"
#include "report/text.hpp"

namespace hiptool::cli {

namespace {

// The weights, not the command, are what cannot be used.
Error unusable_model(const ModelFile& model, const std::string& reason) {
  return Error(ErrorCode::input_failed, "decode", model.path().string() + ": " + reason,
               "use a model with weights of a supported type");
}

}  // namespace

void require_weight_types(const ModelFile& model, const DecoderSpec& spec) {
  for (const std::string& name : model::plainly_read_tensors(spec)) {
    const TensorInfo* const tensor = model.find(name);
    if (tensor == nullptr) continue;  // what the specification names for its own use
    try {
      ops::QuantisedTensor::require_type(tensor->type);
    } catch (const Error& error) {
      throw unusable_model(model, "weight '" + name + "': " + error.what());
    }
  }
}

void require_prompt(const DecoderSpec& spec, const std::vector<std::uint32_t>& prompt) {
  for (const std::uint32_t id : prompt) {
    if (id < spec.vocabulary) continue;
    throw Error(ErrorCode::out_of_bounds, "decode",
                "token " + std::to_string(id) + " is not in the model's vocabulary of " +
                    std::to_string(spec.vocabulary),
                "use ids of this model's tokenizer");
  }
}

void require_whole_layers(SplitKind split, std::span<const Device> devices) {
  const bool divides = split == SplitKind::bytes || split == SplitKind::proportions;
  if (!divides || devices.size() < 2) return;
  std::vector<std::string> ids;
  for (const Device& device : devices) ids.push_back(device.id());
  throw Error(ErrorCode::invalid_argument, "decode",
              fmt::format("with this --split a layer is divided among {}, but each must be whole "
                          "on one device to compute",
                          report::and_list(ids)),
              "use --split layer, or replicate: a proof takes each device by itself, decoding the "
              "first");
}

std::vector<std::vector<Backend>> computing_groups(const LoadedModel& model) {
  const std::size_t tensors = model.model().tensors().size();
  std::vector<std::vector<Backend>> replicas;
  std::vector<Backend> parts;
  for (const DevicePlan& part : model.plan().devices) {
    if (part.layout.placements.empty()) continue;
    if (part.layout.placements.size() == tensors) {
      replicas.push_back({Backend(part.device)});
    } else {
      parts.emplace_back(part.device);
    }
  }
  if (replicas.empty()) replicas.push_back(std::move(parts));
  return replicas;
}

ModelRuntime make_decoder(std::span<const Backend> backends, const LoadedModel& model,
                          const DecoderSpec& spec, const ModelRuntime::Options& options) {
  try {
    return ModelRuntime(backends, model, spec, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw unusable_model(model.model(), error.what());
  }
}

std::uint64_t bytes_of_token(const LoadedModel& model, const DecoderSpec& spec,
                             const Device& device) {
  std::uint64_t bytes = 0;
  for (const DevicePlan& part : model.plan().devices) {
    if (!(part.device == device)) continue;
    for (const Placement& placement : part.layout.placements) {
      const TensorInfo& tensor = model.model().tensors()[placement.tensor];
      if (spec.is_tied || tensor.name != spec.embedding_tensor) bytes += tensor.size_bytes;
    }
  }
  return bytes;
}

}  // namespace hiptool::cli
