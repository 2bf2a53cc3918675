// SPDX-License-Identifier: MIT
#include "reference/prove/golden.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_digests.hpp"
#include "reference/prove/observation.hpp"

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

/// Compares a device's values with a golden, in one pass over the model.
class GoldenCheck {
 public:
  GoldenCheck(ModelRuntime& runtime, const Golden& golden, const ProveOptions& options)
      : runtime_(runtime),
        golden_(golden),
        options_(options),
        found_(golden.layers() + 1),
        shares_(golden.layers() + 1) {}

  void run() {
    const Observation observation(runtime_, [this](const DecoderStage& stage) {
      if (options_.alter) options_.alter(stage);
      const bool is_embedding = stage.name == "embedding";
      if (!is_embedding && stage.name != "output") return;
      const std::size_t row = is_embedding ? 0 : *stage.layer + 1;
      found_[row].device = stage.stream.device().id();
      compare(row, static_cast<std::size_t>(stage.position),
              read_values(stage.stream, stage.values, options_.cancel));
      if (options_.progress && !is_embedding) {
        options_.progress(*stage.layer + 1, golden_.layers());
      }
    });
    logits_ = read_values(runtime_.backend().stream(), runtime_.decode_step(golden_.prompt_ids),
                          options_.cancel);
  }

  /// The worst of each layer, and of the embedding first.
  const std::vector<WrongValue>& found() const { return found_; }

  std::vector<LayerResult> compared_layers() const {
    std::vector<LayerResult> layers;
    for (const WrongValue& worst : found_) {
      if (worst.layer && worst.values > 0) layers.push_back(layer_of(worst));
    }
    return layers;
  }

  LogitsResult logits() const {
    LogitsResult result;
    result.tokens = 1;
    const auto count = static_cast<double>(golden_.logits.size());
    double sum = 0;
    for (const float logit : golden_.logits) sum += logit;
    double squares = 0;
    for (const float logit : golden_.logits) squares += std::pow(logit - sum / count, 2);
    result.deviation = std::sqrt(squares / count);
    result.bound = logits_bound * result.deviation;
    for (std::size_t i = 0; i < golden_.logits.size(); ++i) {
      const double error = std::abs(logits_[i] - golden_.logits[i]);
      if (!(error <= result.max_error)) result.max_error = error;
      if (std::isnan(error)) break;
    }
    return result;
  }

 private:
  void compare(std::size_t row, std::size_t first_token, const std::vector<double>& values) {
    const std::size_t all = golden_.prompt_ids.size();
    const auto width = static_cast<std::size_t>(runtime_.spec().embedding);
    WrongValue& worst = found_[row];
    worst.stage = row == 0 ? "embedding_projections" : "output_projections";
    if (row > 0) worst.layer = row - 1;
    worst.rows = Golden::signs;
    for (std::size_t token = 0; token < values.size() / width; ++token) {
      const TokenSums sums = token_sums(std::span(values).subspan(token * width, width));
      const std::size_t place = row * all + first_token + token;
      const double bound = projection_bound * golden_.sizes[place];
      for (std::size_t r = 0; r < Golden::signs; ++r) {
        const double expected = golden_.projections[place * Golden::signs + r];
        const double error = std::abs(sums.projections[r] - expected);
        ++worst.values;
        if (!(error <= bound)) ++worst.wrong_values;
        const double share = share_used_up(error, bound);
        if (worst.values > 1 && share <= shares_[row]) continue;
        shares_[row] = share;
        worst.position = first_token + token;
        worst.row = r;
        worst.expected = expected;
        worst.got = sums.projections[r];
        worst.bound = bound;
      }
    }
  }

  ModelRuntime& runtime_;
  const Golden& golden_;
  const ProveOptions& options_;
  std::vector<WrongValue> found_;
  std::vector<double> shares_;  // of their bounds that the worst use up
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

Golden make_golden(ReferenceDecoder& reference, std::span<const std::uint32_t> ids,
                   const std::function<void(std::size_t layers)>& progress) {
  const DecoderSpec& spec = reference.spec();
  Golden golden;
  golden.numbers_digest = numbers_digest(spec);
  golden.settings = golden_settings(spec);
  golden.prompt_ids.assign(ids.begin(), ids.end());
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i) positions.push_back(i);
  reference.reset();
  std::vector<double> x = reference.embed(ids);
  add_sums(golden, x, ids.size());
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    x = reference.layer(number, x, positions);
    add_sums(golden, x, ids.size());
    if (progress) progress(number + 1);
  }
  reference.reset();
  const auto width = static_cast<std::size_t>(spec.embedding);
  const std::vector<double> logits = reference.logits(std::span(x).last(width));
  golden.logits.assign(logits.begin(), logits.end());
  return golden;
}

namespace {

void require_golden_of(ReferenceDecoder& reference, const Golden& golden) {
  // Hosts differ by the last bits of their functions, which is far below it.
  constexpr double share_of_bounds = 1e-2;
  const auto refuse = [](const std::string& values) {
    throw Error(ErrorCode::corrupt_data, "check golden",
                "the golden's " + values +
                    " are not those that the float64 reference computes with this model; the "
                    "device is not to blame",
                "write the golden again with --write-golden");
  };
  const Golden own = make_golden(reference, golden.prompt_ids);
  const std::size_t row_values = golden.prompt_ids.size() * Golden::signs;
  for (std::size_t i = 0; i < own.projections.size(); ++i) {
    const double bound = share_of_bounds * projection_bound * own.sizes[i / Golden::signs];
    const double size_error = golden.sizes[i / Golden::signs] - own.sizes[i / Golden::signs];
    if (std::abs(golden.projections[i] - own.projections[i]) <= bound &&
        std::abs(size_error) <= bound) {
      continue;
    }
    const std::size_t row = i / row_values;
    refuse(row == 0 ? "sums of the embedding" : "sums of layer " + std::to_string(row - 1));
  }
  double largest = 0;
  for (const float logit : own.logits) largest = std::max(largest, std::abs(double{logit}));
  for (std::size_t i = 0; i < own.logits.size(); ++i) {
    const double error = std::abs(double{golden.logits[i]} - double{own.logits[i]});
    if (!(error <= share_of_bounds * logits_bound * largest)) refuse("logits");
  }
}

}  // namespace

ProveResult check_golden(ModelRuntime& runtime, ReferenceDecoder& reference, const Golden& golden,
                         const ProveOptions& options) {
  GoldenCheck check(runtime, golden, options);
  try {
    check.run();
  } catch (const Error&) {
    if (options.so_far != nullptr) options.so_far->layers = check.compared_layers();
    throw;
  }
  ProveResult result;
  result.logits = check.logits();
  ProveOptions closer = options;
  for (const WrongValue& found : check.found()) {
    if (found.layer) {
      result.layers.push_back(layer_of(found));
      closer.layers.push_back(*found.layer);
    }
    if (found.wrong_values == 0) continue;
    if (closer.layers.empty()) closer.layers.push_back(0);
    result.first_wrong = found;
    break;
  }
  if (result.is_right()) return result;
  if (!result.first_wrong) closer.layers.clear();
  ProveResult place = prove(runtime, reference, golden.prompt_ids, closer);
  if (place.first_wrong) {
    place.logits = result.logits;
    return place;
  }
  // No value names the place, so the golden may be what is wrong.
  require_golden_of(reference, golden);
  reference.require_unchanged(options.digests);
  return result;
}

}  // namespace hiptool::reference
