// SPDX-License-Identifier: MIT
#include "reference/prove/needs.hpp"

#include <algorithm>
#include <thread>

#include "hiptool/error.hpp"
#include "hiptool/model_runtime.hpp"
#include "model/decoder_parts.hpp"
#include "model/element_types.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

// Of one core for one weight, measured with an 8B model in Q4_K on 16 cores of a Xeon of 2023
// (docs/benchmarks.md). A proof computes two sequences, and bounds.
constexpr double prove_time_s = 28e-9;
constexpr double golden_time_s = 12.5e-9;

// The largest number of elements that a token has in one stage of a layer.
std::uint64_t widest_stage(const DecoderSpec& spec) {
  std::uint64_t widest = spec.embedding;
  for (const DecoderLayer& layer : spec.layers) {
    for (const MatrixSpec* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.attention_output, &layer.gate, &layer.up,
          &layer.latent.down, &layer.latent.up, &layer.latent.v_up, &layer.experts.shared_gate,
          &layer.delta.mixed}) {
      widest = std::max({widest, matrix->rows, matrix->columns});
    }
    if (layer.has_latent()) widest = std::max(widest, layer.heads * spec.key_length);
    widest = std::max(widest, layer.experts.used * std::max(layer.feed_forward, spec.embedding));
  }
  return widest;
}

/// An upper limit, for values in double: each thread has a stack, rows of a matrix as the file has
/// them and a piece of them as numbers; tokens have the device's values of each stage of a layer,
/// the reference's and bounds; two sequences have keys and values; the last tokens have logits,
/// which are compared with the device's.
std::uint64_t host_bytes_of(const DecoderSpec& spec, std::uint64_t tokens, std::uint64_t threads) {
  constexpr std::uint64_t thread_bytes = 3u << 20;
  constexpr std::uint64_t stages_at_once = 24;
  constexpr std::uint64_t logits_at_once = 6;
  std::uint64_t cached = 0;
  std::uint64_t states = 0;
  for (const DecoderLayer& layer : spec.layers) {
    const DeltaSpec& delta = layer.delta;
    states += 2 * delta.value_heads * (delta.key_length + 1) * delta.value_length +
              2 * delta.taps * delta.channels();
    if (layer.has_delta()) continue;
    cached += 2 * layer.kv_heads * (spec.key_length + spec.value_length);
  }
  const std::uint64_t of_token =
      2 * cached + stages_at_once * widest_stage(spec) + logits_at_once * spec.vocabulary;
  return threads * thread_bytes + (tokens * of_token + states) * sizeof(double);
}

std::string refusal_of(const Error& error, const ModelFile& model) {
  std::string reason = error.what();
  const std::string folder = model.files().front().path.parent_path().string() + "/";
  if (reason.starts_with(folder) && !reason.starts_with(model.path().string() + ": ")) {
    reason.erase(0, folder.size());
  }
  return Error(error.code(), error.operation(), reason).about(model.path().string()).cause();
}

}  // namespace

Provability provability(const ModelFile& model) {
  try {
    const DecoderSpec spec = DecoderSpec::read(model);
    for (const std::string& name : model::plainly_read_tensors(spec)) {
      const TensorInfo* const tensor = model.find(name);
      if (tensor == nullptr) continue;
      const std::string_view type = tensor->type.name();
      if (has_values(tensor->type) && model::find_gguf_type(type) != nullptr) continue;
      return {std::nullopt, "tensor '" + name + "' is of type " + std::string(type) +
                                ", for which there are no kernels"};
    }
    const ReferenceDecoder reference(model, spec);  // checks the types of all weights
    constexpr std::uint64_t tokens = 8;
    ModelRuntime::Options options;
    options.context_tokens = tokens;
    const std::uint64_t threads = std::max(1u, std::thread::hardware_concurrency());
    const auto weights = static_cast<double>(model.parameters());
    return {Needs{ModelRuntime::memory_bytes(spec, options) + model::expanded_bytes(spec),
                  host_bytes_of(spec, tokens, threads),
                  weights * prove_time_s / static_cast<double>(threads),
                  weights * golden_time_s / static_cast<double>(threads)},
            {}};
  } catch (const Error& error) {
    const ErrorCode code = error.code();
    if (code != ErrorCode::input_failed && code != ErrorCode::invalid_argument) throw;
    return {std::nullopt, refusal_of(error, model)};
  }
}

}  // namespace hiptool::reference
