// SPDX-License-Identifier: MIT
#include "cli/commands/load/whole_model.hpp"

#include <cstddef>
#include <string>

#include "hiptool/error.hpp"

namespace hiptool::cli {

Device device_of_whole_model(const LoadedModel& model, const char* option) {
  const LoadPlan& plan = model.plan();
  const std::size_t tensors = model.model().tensors().size();
  for (const DevicePlan& part : plan.devices) {
    if (part.layout.placements.size() == tensors) return part.device;
  }
  throw Error(ErrorCode::invalid_argument, "decode",
              "the model is divided among " + std::to_string(plan.devices.size()) + " devices",
              std::string(option) +
                  " computes on one device: choose one with --device, or use --split replicate");
}

// The weights, not the command, are what cannot be used.
ModelRuntime make_decoder(const Backend& backend, const LoadedModel& model, const DecoderSpec& spec,
                          const ModelRuntime::Options& options) {
  try {
    return ModelRuntime(backend, model, spec, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(ErrorCode::input_failed, "decode",
                model.model().path().string() + ": " + error.what(),
                "use a model with weights of a supported type");
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

}  // namespace hiptool::cli
