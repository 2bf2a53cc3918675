// SPDX-License-Identifier: MIT
#include "reference/prove/needs.hpp"

#include <algorithm>
#include <thread>

#include "hiptool/error.hpp"
#include "hiptool/model_runtime.hpp"
#include "model/element_types.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

// Of one core for one weight, measured with an 8B model in Q4_K on 16 cores of a Xeon of 2023
// (docs/benchmarks.md). A proof computes two sequences, and bounds.
constexpr double prove_time_s = 28e-9;
constexpr double golden_time_s = 12.5e-9;

}  // namespace

std::optional<Needs> prove_needs(const ModelFile& model) {
  const bool has_kernels = std::ranges::all_of(model.tensors(), [](const TensorInfo& tensor) {
    return has_values(tensor.type) && model::find_gguf_type(tensor.type.name()) != nullptr;
  });
  if (!has_kernels) return std::nullopt;
  try {
    const DecoderSpec spec = DecoderSpec::read(model);
    const ReferenceDecoder reference(model, spec);  // checks the types of all weights
    ModelRuntime::Options options;
    options.context_tokens = 8;
    const double threads = std::max(1u, std::thread::hardware_concurrency());
    const auto weights = static_cast<double>(model.parameters());
    return Needs{ModelRuntime::memory_bytes(spec, options), weights * prove_time_s / threads,
                 weights * golden_time_s / threads};
  } catch (const Error& error) {
    const ErrorCode code = error.code();
    if (code != ErrorCode::input_failed && code != ErrorCode::invalid_argument) throw;
    return std::nullopt;
  }
}

}  // namespace hiptool::reference
