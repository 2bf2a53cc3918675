// SPDX-License-Identifier: MIT
#include "reference/prove/golden.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_digests.hpp"
#include "reference/prove/decoding.hpp"
#include "reference/prove/observation.hpp"
#include "reference/prove/shares.hpp"

namespace hiptool::reference {
namespace {

std::uint64_t splitmix64(std::uint64_t state) {
  state += 0x9E3779B97F4A7C15u;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return state ^ (state >> 31);
}

/// Of one token's elements.
struct TokenSums {
  std::vector<double> projections = std::vector<double>(Golden::signs);
  double size = 0;
};

TokenSums token_sums(std::span<const double> elements) {
  TokenSums sums;
  double squares = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t bits = splitmix64(i);
    for (std::size_t r = 0; r < Golden::signs; ++r) {
      sums.projections[r] += (bits >> r & 1) != 0 ? -elements[i] : elements[i];
    }
    squares += elements[i] * elements[i];
  }
  sums.size = std::sqrt(squares);
  return sums;
}

void add_sums(Golden& golden, std::span<const double> elements, std::size_t tokens) {
  const std::size_t width = elements.size() / tokens;
  for (std::size_t token = 0; token < tokens; ++token) {
    const TokenSums sums = token_sums(elements.subspan(token * width, width));
    golden.projections.insert(golden.projections.end(), sums.projections.begin(),
                              sums.projections.end());
    golden.sizes.push_back(sums.size);
  }
}

// Infinite for NaN, which no number exceeds.
double share_used_up(double error, double bound) {
  if (error == 0) return 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return error <= std::numeric_limits<double>::max() && bound > 0 ? error / bound : infinity;
}

LayerResult layer_of(const WrongValue& worst) {
  LayerResult result{*worst.layer, std::abs(worst.got - worst.expected), worst.bound};
  if (worst.wrong_values > 0) result.wrong = worst;
  return result;
}

LogitsResult compared_logits(const std::vector<float>& expected, const std::vector<double>& found,
                             double bound) {
  LogitsResult result;
  result.tokens = 1;
  const auto count = static_cast<double>(expected.size());
  double sum = 0;
  for (const float logit : expected) sum += logit;
  double squares = 0;
  for (const float logit : expected) squares += std::pow(logit - sum / count, 2);
  result.deviation = std::sqrt(squares / count);
  result.bound = bound * result.deviation;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(found[i] - expected[i]);
    if (!(error <= result.max_error)) result.max_error = error;
    if (std::isnan(error)) break;
  }
  return result;
}

/// What a device computes of a golden's prompt, in one pass over the model.
class DeviceSums {
 public:
  DeviceSums(std::size_t layers, std::size_t tokens)
      : tokens_(tokens),
        projections_((layers + 1) * tokens * Golden::signs),
        devices_(layers + 1),
        seen_(layers + 1),
        experts_(layers) {}

  void run(ModelRuntime& runtime, std::span<const std::uint32_t> ids, const ProveOptions& options) {
    const Observation observation(runtime, [&](const DecoderStage& stage) {
      if (options.alter) options.alter(stage);
      const auto values = [&] { return read_values(stage.stream, stage.values, options.cancel); };
      if (stage.name == "experts") add_experts(*stage.layer, values());
      const bool is_embedding = stage.name == "embedding";
      if (!is_embedding && stage.name != "output") return;
      const std::size_t row = is_embedding ? 0 : *stage.layer + 1;
      devices_[row] = stage.stream.device().id();
      add_row(row, stage, values());
      if (options.progress && !is_embedding) {
        options.progress(*stage.layer + 1, runtime.spec().layers.size());
      }
    });
    logits_ = read_values(runtime.backend().stream(), runtime.decode_step(ids), options.cancel);
  }

  /// Its experts, tokens x used; empty where the layer has none.
  const std::vector<std::uint32_t>& experts(std::size_t layer) const { return experts_[layer]; }

  /// The layers that were computed before it ended.
  std::vector<LayerResult> layers_so_far(const Golden& golden) const {
    std::vector<LayerResult> layers;
    for (std::size_t row = 1; row < seen_.size() && seen_[row] == tokens_; ++row) {
      layers.push_back(layer_of(worst_of(row, golden)));
    }
    return layers;
  }

  const std::vector<double>& logits() const { return logits_; }

  /// The same bits, or NaN in the same places.
  bool is_same_as(const DeviceSums& other) const {
    return is_same(projections_, other.projections_) && is_same(logits_, other.logits_);
  }

  /// Layers, in the order of computation, up to the first wrong one; and the logits.
  ProveResult compared_with(const Golden& golden, const ProveOptions& options) const {
    ProveResult result;
    result.logits = compared_logits(golden.logits, logits_, options.logits_bound);
    for (std::size_t row = 0; row < devices_.size() && !result.first_wrong; ++row) {
      const WrongValue worst = worst_of(row, golden);
      if (row > 0) {
        result.layers.push_back(layer_of(worst));
      }
      if (worst.wrong_values == 0) continue;
      result.first_wrong = worst;
    }
    return result;
  }

 private:
  void add_experts(std::size_t layer, const std::vector<double>& ids) {
    for (const double id : ids) experts_[layer].push_back(static_cast<std::uint32_t>(id));
  }

  void add_row(std::size_t row, const DecoderStage& stage, const std::vector<double>& values) {
    const auto tokens = static_cast<std::size_t>(stage.values.dims()[0]);
    const std::size_t width = values.size() / tokens;
    seen_[row] = static_cast<std::size_t>(stage.position) + tokens;
    std::size_t place = (row * tokens_ + static_cast<std::size_t>(stage.position)) * Golden::signs;
    for (std::size_t token = 0; token < tokens; ++token, place += Golden::signs) {
      const TokenSums sums = token_sums(std::span(values).subspan(token * width, width));
      std::ranges::copy(sums.projections,
                        projections_.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }

  WrongValue worst_of(std::size_t row, const Golden& golden) const {
    WrongValue worst;
    worst.stage = row == 0 ? "embedding_projections" : "output_projections";
    if (row > 0) worst.layer = row - 1;
    worst.device = devices_[row];
    worst.rows = Golden::signs;
    double highest = 0;  // share of its bound that the worst uses up
    const std::size_t first = row * tokens_ * Golden::signs;
    for (std::size_t at = first; at < first + seen_[row] * Golden::signs; ++at) {
      const double expected = golden.projections[at];
      const double bound = projection_bound * golden.sizes[at / Golden::signs];
      const double error = std::abs(projections_[at] - expected);
      ++worst.values;
      if (!(error <= bound)) ++worst.wrong_values;
      const double share = share_used_up(error, bound);
      if (worst.values > 1 && share <= highest) continue;
      highest = share;
      worst.position = (at - first) / Golden::signs;
      worst.row = at % Golden::signs;
      worst.expected = expected;
      worst.got = projections_[at];
      worst.bound = bound;
    }
    return worst;
  }

  std::size_t tokens_;
  std::vector<double> projections_;   // as the golden's
  std::vector<std::string> devices_;  // of the embedding and each layer
  std::vector<std::size_t> seen_;     // of them: tokens so far
  std::vector<std::vector<std::uint32_t>> experts_;
  std::vector<double> logits_;
};

}  // namespace

std::uint64_t digest_of_files(const ModelFile& model, const CancelToken* cancel) {
  load::FileDigests::Options options;
  options.cancel = cancel;
  load::FileDigests files(model, options);
  return load::model_digest(model, load::digest_order(model),
                            load::tensor_digests(model, files.get()));
}

namespace {

/// Of sets of experts, one for each token: those that differ.
std::vector<std::size_t> other_choices(const std::vector<std::uint32_t>& left,
                                       const std::vector<std::uint32_t>& right, std::size_t used) {
  std::vector<std::size_t> tokens;
  for (std::size_t at = 0; at < left.size(); at += used) {
    const auto own = std::span(left).subspan(at, used);
    const bool is_same = std::ranges::all_of(std::span(right).subspan(at, used), [&](auto id) {
      return std::ranges::find(own, id) != own.end();
    });
    if (!is_same) tokens.push_back(at / used);
  }
  return tokens;
}

/// What a reference computes that follows a device's choices of experts.
struct FollowedGolden {
  Golden golden;
  std::uint64_t router_ties = 0;  ///< choices of the device that are not the reference's own
  /// Places of golden.sizes whose values no other choice has changed.
  std::vector<bool> is_own;
};

/// `device`: null for the reference's own choices.
FollowedGolden golden_following(ReferenceDecoder& reference, std::span<const std::uint32_t> ids,
                                const DeviceSums* device,
                                const std::function<void(std::size_t layers)>& progress) {
  const DecoderSpec& spec = reference.spec();
  FollowedGolden result;
  Golden& golden = result.golden;
  golden.numbers_digest = numbers_digest(spec);
  golden.settings = golden_settings(spec);
  golden.prompt_ids.assign(ids.begin(), ids.end());
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i) positions.push_back(i);
  reference.reset();
  std::vector<double> x = reference.embed(ids);
  add_sums(golden, x, ids.size());
  result.is_own.assign(ids.size(), true);
  std::size_t own_tokens = ids.size();  // later ones attend to the first with another choice
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    LayerStages stages;
    const bool follows = device != nullptr && spec.layers[number].has_experts();
    const auto experts =
        follows ? std::span(device->experts(number)) : std::span<const std::uint32_t>();
    x = reference.layer(number, x, positions, &stages, experts);
    add_sums(golden, x, ids.size());
    if (follows) {
      const ExpertsSpec& own = spec.layers[number].experts;
      const Bounded choices = reference.choices(own, without_error(stages.router));
      const std::vector<std::size_t> others = other_choices(
          chosen_experts(own, choices.values), stages.experts, static_cast<std::size_t>(own.used));
      result.router_ties += others.size();
      if (!others.empty()) own_tokens = std::min(own_tokens, others.front());
    }
    for (std::size_t token = 0; token < ids.size(); ++token) {
      result.is_own.push_back(token < own_tokens);
    }
    if (progress) progress(number + 1);
  }
  reference.reset();
  const auto width = static_cast<std::size_t>(spec.embedding);
  const std::vector<double> logits = reference.logits(std::span(x).last(width));
  golden.logits.assign(logits.begin(), logits.end());
  return result;
}

// Where no choice of the device has changed its values.
void require_golden_of(const FollowedGolden& reference, const Golden& golden) {
  // Hosts differ by the last bits of their functions, which is far below it.
  constexpr double share_of_bounds = 1e-2;
  const auto refuse = [](const std::string& values) {
    throw Error(ErrorCode::corrupt_data, "check golden",
                "the golden's " + values +
                    " are not those that the float64 reference computes with this model; the "
                    "device is not to blame",
                "write the golden again with --write-golden");
  };
  const Golden& own = reference.golden;
  const std::size_t row_values = golden.prompt_ids.size() * Golden::signs;
  for (std::size_t i = 0; i < own.projections.size(); ++i) {
    if (!reference.is_own[i / Golden::signs]) continue;
    const double bound = share_of_bounds * projection_bound * own.sizes[i / Golden::signs];
    const double size_error = golden.sizes[i / Golden::signs] - own.sizes[i / Golden::signs];
    if (std::abs(golden.projections[i] - own.projections[i]) <= bound &&
        std::abs(size_error) <= bound) {
      continue;
    }
    const std::size_t row = i / row_values;
    refuse(row == 0 ? "sums of the embedding" : "sums of layer " + std::to_string(row - 1));
  }
  if (!reference.is_own.back()) return;
  double largest = 0;
  for (const float logit : own.logits) largest = std::max(largest, std::abs(double{logit}));
  for (std::size_t i = 0; i < own.logits.size(); ++i) {
    const double error = std::abs(double{golden.logits[i]} - double{own.logits[i]});
    if (!(error <= share_of_bounds * logits_bound * largest)) refuse("logits");
  }
}

/// A closer look at what was compared: the result with a value's name, where one is wrong.
std::optional<ProveResult> named_place(ModelRuntime& runtime, const ReferenceDecoder& reference,
                                       const Golden& golden, const ProveOptions& options,
                                       const ProveResult& compared) {
  ProveOptions closer = options;
  closer.layers.clear();
  closer.so_far = nullptr;  // has the layers of the golden
  if (compared.first_wrong) {
    for (const LayerResult& layer : compared.layers) closer.layers.push_back(layer.layer);
    if (closer.layers.empty()) closer.layers.push_back(0);
  }
  ProveResult place = prove(runtime, reference, golden.prompt_ids, closer);
  if (!place.first_wrong) return std::nullopt;
  place.logits = compared.logits;
  return place;
}

/// Where the golden is right and its bounds are exceeded: right all the same, if a device that
/// repeats its values has all stages within theirs. Absent: it is wrong, or does not repeat.
std::optional<ProveResult> amplified(ModelRuntime& runtime, const ReferenceDecoder& reference,
                                     const Golden& golden, const ProveOptions& options,
                                     const DeviceSums& device) {
  ProveOptions closer = options;
  closer.layers.clear();
  closer.so_far = nullptr;
  const ProveResult all = prove(runtime, reference, golden.prompt_ids, closer);
  if (!all.is_right()) return all;
  DeviceSums again(runtime.spec().layers.size(), golden.prompt_ids.size());
  again.run(runtime, golden.prompt_ids, closer);
  if (!again.is_same_as(device)) return std::nullopt;
  return all;
}

}  // namespace

Golden make_golden(ReferenceDecoder& reference, std::span<const std::uint32_t> ids,
                   const std::function<void(std::size_t layers)>& progress) {
  return golden_following(reference, ids, nullptr, progress).golden;
}

ProveResult check_golden(ModelRuntime& runtime, ReferenceDecoder& reference, const Golden& golden,
                         const ProveOptions& options) {
  DeviceSums device(runtime.spec().layers.size(), golden.prompt_ids.size());
  try {
    device.run(runtime, golden.prompt_ids, options);
  } catch (const Error&) {
    if (options.so_far != nullptr) options.so_far->layers = device.layers_so_far(golden);
    throw;
  }
  const auto with_decoding = [&](ProveResult right) {
    const auto decoded = logits_decoded(runtime, golden.prompt_ids, options);
    right.logits->repeats = is_same(decoded, device.logits());
    right.first_wrong = wrong_decoding(runtime, decoded, device.logits(), golden.prompt_ids.size());
    if (right.first_wrong) reference.require_unchanged(options.digests);
    return right;
  };
  ProveResult result = device.compared_with(golden, options);
  if (result.is_right()) return with_decoding(result);
  if (options.so_far != nullptr) options.so_far->layers = result.layers;
  if (auto place = named_place(runtime, reference, golden, options, result)) return *place;
  // No value names the place: the golden may be wrong, or rounding has decided between experts.
  const FollowedGolden followed = golden_following(reference, golden.prompt_ids, &device, {});
  require_golden_of(followed, golden);
  if (followed.router_ties > 0) {
    result = device.compared_with(followed.golden, options);
    result.router_ties = followed.router_ties;
    if (result.is_right()) return with_decoding(result);
    if (auto place = named_place(runtime, reference, golden, options, result)) return *place;
  }
  if (auto all = amplified(runtime, reference, golden, options, device)) return *all;
  reference.require_unchanged(options.digests);
  return result;
}

}  // namespace hiptool::reference
