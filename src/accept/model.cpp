// SPDX-License-Identifier: MIT
// A decoder on the device, compared with the same in float64 on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "accept/stages.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "runtime/decode_tokens.hpp"

namespace hiptool::accept {
namespace {

// Logits may differ by so much of their own standard deviation: f32 has 6e-8, and layers add up, so
// a user's model, with more of them, has the bound of prove(). What exceeds it is proved by stages.
constexpr double most_error_of_made = 1e-5;
// Times the limit of other steps: a large model takes long.
constexpr double reference_patience = 1000;

double deviation_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

struct Difference {
  std::size_t token = 0;
  double share = 0;  ///< of the standard deviation
};

Difference largest_difference(const std::vector<float>& got, const std::vector<double>& expected) {
  const double deviation = std::max(deviation_of(expected), 1e-30);
  Difference worst;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double share = std::abs(static_cast<double>(got[i]) - expected[i]) / deviation;
    if (share <= worst.share) continue;  // NaN goes on
    worst = {i, share};
    if (std::isnan(share)) break;
  }
  return worst;
}

// "layer 3, blk.3.ffn_up.weight (up), row 7"; empty: all stages are right, and a second run has the
// same logits, so that only the rounding of f32 is in them.
std::string wrong_place(ModelRuntime& decoder, const StageContext& context,
                        std::span<const std::uint64_t> digests, const std::vector<float>& logits) {
  reference::ReferenceOptions of_reference;
  of_reference.sequence_tokens = context.prompt.size();
  of_reference.cancel = context.cancel;
  const reference::ReferenceDecoder reference(*context.file, *context.spec, of_reference);
  reference::ProveOptions options;
  options.digests = digests;
  options.cancel = context.cancel;
  const auto proved = reference::prove(decoder, reference, context.prompt, options);
  if (proved.first_wrong) {
    const reference::WrongValue& wrong = *proved.first_wrong;
    const std::string tensor =
        wrong.tensor.empty() ? wrong.stage : wrong.tensor + " (" + wrong.stage + ")";
    return fmt::format("{}{}, row {}", wrong.layer ? fmt::format("layer {}, ", *wrong.layer) : "",
                       tensor, wrong.first_row + wrong.row);
  }
  const auto again = decoder.decode_step(context.prompt).to_host<float>(decoder.backend().stream());
  decoder.reset();
  if (proved.is_right() &&
      std::memcmp(again.data(), logits.data(), logits.size() * sizeof(float)) == 0) {
    return {};
  }
  return "values that come and go";
}

}  // namespace

void compute_reference(StageContext& context, Heartbeat& heart) {
  heart.step("computing the reference of the model", reference_patience);
  reference::ReferenceOptions options;
  options.sequence_tokens = context.prompt.size();
  options.cancel = context.cancel;
  const auto decoder =
      std::make_shared<reference::ReferenceDecoder>(*context.file, *context.spec, options);
  context.logits = decoder->decode(context.prompt);
  decoder->reset();
  context.reference = decoder;
}

void model_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                 StageWork& work) {
  const double patience = context.model.is_made ? 1 : 20;
  heart.step("loading the model to " + device.id(), patience);
  LoadOptions load;
  if (context.cancel != nullptr) load.cancel = *context.cancel;
  load.compiler_program = context.child.program;
  const LoadedModel model = load_model(*context.file, device, load);
  heart.step("decoding on " + device.id(), patience);
  const Backend backend(device);
  ModelRuntime::Options options;
  options.context_tokens = context.prompt.size();
  ModelRuntime decoder(backend, model, *context.spec, options);
  const std::vector<float> logits =
      decoder.decode_step(context.prompt).to_host<float>(backend.stream());
  const Difference worst = largest_difference(logits, context.logits);
  const double most_error = context.model.is_made ? most_error_of_made : reference::logits_bound;
  if (worst.share <= most_error) {
    work.add_figure(fmt::format("{}, logits within {:.1e} standard deviations of float64",
                                base::count_of(context.prompt.size(), "token"), worst.share));
    return;
  }
  heart.step("comparing the model's files with what the reference read", reference_patience);
  const auto& verification = model.report().verification;
  const auto digests = verification ? std::span<const std::uint64_t>(verification->tensor_digests)
                                    : std::span<const std::uint64_t>();
  context.reference->require_unchanged(digests);
  heart.step("comparing the stages of the model on " + device.id(), reference_patience);
  decoder.reset();
  const std::string place = wrong_place(decoder, context, digests, logits);
  if (place.empty()) {
    work.add_figure(
        fmt::format("{}, logits within {:.1e} standard deviations of float64, and all "
                    "stages within their bounds",
                    base::count_of(context.prompt.size(), "token"), worst.share));
    return;
  }
  const std::string reason = fmt::format(
      "the logit of token {} is {}, the float64 reference computes {}: {:.1e} of the standard "
      "deviation, at most {:.0e} expected; the first wrong stage: {}",
      worst.token, logits[worst.token], context.logits[worst.token], worst.share, most_error,
      place);
  const std::string action = "find the operation with `hiptool run-kernel ops --device " +
                             device.id() + "`; reset the device and update its driver";
  work.add(Fault{machine::codes::model_data, "model", device.id(), reason, action,
                 Error(ErrorCode::data_mismatch, "model", "model@" + device.id() + ": " + reason),
                 context.logits[worst.token], static_cast<double>(logits[worst.token])});
}

}  // namespace hiptool::accept
