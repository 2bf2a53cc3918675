// SPDX-License-Identifier: MIT
#include "reference/prove/decoding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "reference/prove/observation.hpp"

namespace hiptool::reference {
namespace {

// By bits, in which zeros of both signs differ.
bool is_same_value(double left, double right) {
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right) ||
         (std::isnan(left) && std::isnan(right));
}

}  // namespace

std::vector<std::vector<double>> logits_one_by_one(ModelRuntime& runtime,
                                                   std::span<const std::uint32_t> ids,
                                                   std::size_t last, std::size_t decoded,
                                                   const ProveOptions& options) {
  // The queue is kept short, so that a cancellation need not wait for all layers.
  const Observation observation(runtime, [&options](const DecoderStage& stage) {
    if (options.alter) options.alter(stage);
    if (stage.name == "output") wait_unless_cancelled(stage.stream, options.cancel);
  });
  last = std::min(last, ids.size());
  decoded = std::min(decoded, last);
  if (ids.size() > last) runtime.decode_step(ids.first(ids.size() - last));
  std::vector<std::vector<double>> logits;
  for (const std::uint32_t& id : ids.last(last)) {
    if (logits.size() + decoded == last) runtime.observe({});
    logits.push_back(
        read_values(runtime.backend().stream(), runtime.decode_step({&id, 1}), options.cancel));
  }
  return logits;
}

std::vector<double> logits_decoded(ModelRuntime& runtime, std::span<const std::uint32_t> ids,
                                   const ProveOptions& options) {
  return logits_one_by_one(runtime, ids, most_decoded_tokens, most_decoded_tokens, options).back();
}

bool is_same(const std::vector<double>& left, const std::vector<double>& right) {
  return std::ranges::equal(left, right, is_same_value);
}

std::optional<WrongValue> wrong_decoding(const ModelRuntime& runtime,
                                         const std::vector<double>& decoded,
                                         const std::vector<double>& at_once, std::size_t tokens) {
  WrongValue worst;
  worst.stage = decoded_logits;
  worst.device = runtime.backend().device().id();
  worst.position = tokens - 1;
  worst.rows = decoded.size();
  worst.values = decoded.size();
  double largest = -1;
  for (std::size_t row = 0; row < decoded.size(); ++row) {
    if (is_same_value(decoded[row], at_once[row])) continue;
    ++worst.wrong_values;
    const double error = std::abs(decoded[row] - at_once[row]);
    if (error <= largest || std::isnan(largest)) continue;
    largest = error;
    worst.row = row;
    worst.expected = at_once[row];
    worst.got = decoded[row];
  }
  if (worst.wrong_values == 0) return std::nullopt;
  return worst;
}

}  // namespace hiptool::reference
