// SPDX-License-Identifier: MIT
#include "cli/commands/load/decoding.hpp"

#include <string>

#include "hiptool/error.hpp"

namespace hiptool::cli {

std::vector<Backend> decoding_backends(const LoadedModel& model) {
  const std::size_t tensors = model.model().tensors().size();
  std::vector<Backend> backends;
  for (const DevicePlan& part : model.plan().devices) {
    if (part.layout.placements.empty()) continue;
    if (part.layout.placements.size() == tensors) return {Backend(part.device)};
    backends.emplace_back(part.device);
  }
  return backends;
}

ModelRuntime make_decoder(std::span<const Backend> backends, const LoadedModel& model,
                          const DecoderSpec& spec, const ModelRuntime::Options& options) {
  try {
    return ModelRuntime(backends, model, spec, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(ErrorCode::input_failed, "decode",
                model.model().path().string() + ": " + error.what(),
                "use a model with weights of a supported type");
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
