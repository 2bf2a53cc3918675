// SPDX-License-Identifier: MIT
#include "reference/prove/prove.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "hiptool/error.hpp"
#include "model/decoder_parts.hpp"
#include "reference/prove/decoding.hpp"
#include "reference/prove/layer_judge.hpp"
#include "reference/prove/observation.hpp"

namespace hiptool::reference {
namespace {

double standard_deviation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / count);
}

// NaN is larger than all numbers.
double largest_error(std::span<const double> left, std::span<const double> right) {
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double error = std::abs(left[i] - right[i]);
    if (!(error <= largest)) largest = error;
    if (std::isnan(error)) break;
  }
  return largest;
}

class Prover {
 public:
  Prover(ModelRuntime& runtime, const ReferenceDecoder& reference,
         std::span<const std::uint32_t> ids, const ProveOptions& options)
      : runtime_(runtime),
        reference_(reference),
        ids_(ids),
        options_(options),
        judge_(reference, options.layers.empty(),
               [this](std::uint64_t bytes) { report_progress(bytes); }) {
    const std::size_t layers = reference.spec().layers.size();
    for (const std::size_t layer : options.layers) {
      if (layer < layers) continue;
      throw Error(ErrorCode::invalid_argument, "prove",
                  "there is no layer " + std::to_string(layer) + " among " + std::to_string(layers),
                  "choose layers from 0 to " + std::to_string(layers - 1));
    }
    if (ids.empty()) {
      throw Error(ErrorCode::invalid_argument, "prove", "there are no tokens", "pass at least one");
    }
    for (std::size_t layer = 0; layer < layers; ++layer) {
      if (is_chosen(layer)) count_weights(reference.spec().layers[layer]);
    }
    if (is_whole()) total_bytes_ += weight_bytes(reference.spec().output);
  }

  ProveResult run() {
    try {
      if (is_whole()) run_unobserved();
      run_observed();
    } catch (const Error&) {
      if (options_.so_far != nullptr) *options_.so_far = judged();
      throw;
    }
    ProveResult result = judged();
    result.first_wrong = judge_.first_wrong();
    name_device(result.first_wrong);
    if (is_whole()) {
      result.logits = compare_logits();
      if (!result.first_wrong) look_closer(result);
    }
    if (result.first_wrong) result.first_wrong->repeats = repeats(*result.first_wrong);
    if (!result.is_right()) reference_.require_unchanged(options_.digests);
    if (!result.first_wrong && !judge_.out_of_range().empty()) {
      throw leaves_range_error(judge_.out_of_range());
    }
    return result;
  }

 private:
  ProveResult judged() const {
    ProveResult result;
    result.layers = judge_.layers();
    result.layers.resize(compared_layers_);
    result.router_ties = judge_.router_ties();
    for (LayerResult& layer : result.layers) name_device(layer.wrong);
    return result;
  }
  bool is_whole() const { return options_.layers.empty(); }
  bool is_chosen(std::size_t layer) const {
    return is_whole() || std::ranges::binary_search(options_.layers, layer);
  }
  std::vector<double> read(const DecoderStage& stage) const {
    return read_values(stage.stream, stage.values, options_.cancel);
  }
  std::uint64_t weight_bytes(const MatrixSpec& matrix) const {
    return reference_.tensor(matrix.weight).size_bytes;
  }
  void count_weights(const DecoderLayer& layer) {
    for (const MatrixSpec* matrix : model::matrices_of(layer))
      total_bytes_ += weight_bytes(*matrix);
    for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
      for (const std::string& tensor : experts->weights) {
        total_bytes_ += reference_.tensor(tensor).size_bytes;
      }
    }
  }
  void report_progress(std::uint64_t bytes) {
    done_bytes_ += bytes;
    if (options_.progress) options_.progress(std::min(done_bytes_, total_bytes_), total_bytes_);
  }

  void name_device(std::optional<WrongValue>& wrong) const {
    if (wrong && wrong->device.empty()) wrong->device = devices_.at({wrong->layer, wrong->stage});
  }

  // The last tokens come one by one, and the very last ones as programs decode them.
  void run_unobserved() {
    step_logits_ =
        logits_one_by_one(runtime_, ids_, most_logits_tokens, most_decoded_tokens, options_);
  }

  // Where tokens one by one are wrong with a probe too, they are not kernels of decoding.
  std::optional<WrongValue> compare_decoding() {
    if (is_same(logits_one_by_one(runtime_, ids_, most_logits_tokens, 0, options_).back(),
                logits_at_once_)) {
      return wrong_decoding(runtime_, step_logits_.back(), logits_at_once_, ids_.size());
    }
    return std::nullopt;
  }

  void look_closer(ProveResult& result) {
    LogitsResult& logits = *result.logits;
    if (!logits.repeats) {
      result.first_wrong = compare_decoding();
    } else if (!logits.is_right()) {
      result.first_wrong = compare_tokens(logits);
      name_device(result.first_wrong);
      logits.is_amplified = logits.repeats && !result.first_wrong;
    }
  }

  // The last tokens one by one, of which `stages` gets what follows the last layer, and its output.
  std::vector<std::vector<double>> observe_tokens(std::size_t tokens, StageValues& stages) {
    const std::size_t last_layer = reference_.spec().layers.size() - 1;
    ProveOptions recording = options_;
    recording.alter = [&](const DecoderStage& stage) {
      if (options_.alter) options_.alter(stage);
      const bool is_kept = stage.layer ? stage.layer == last_layer && stage.name == "output"
                                       : stage.name != "embedding";
      if (!is_kept || stage.position < ids_.size() - tokens) return;
      const std::vector<double> values = read(stage);
      std::vector<double>& all = stages[std::string(stage.name)];
      all.insert(all.end(), values.begin(), values.end());
    };
    return logits_one_by_one(runtime_, ids_, tokens, 0, recording);
  }

  // What the logits of the last tokens follow from: outputs of the last layer, whose stages were
  // compared, and the stages after it.
  std::optional<WrongValue> compare_tokens(LogitsResult& logits) {
    const auto tokens = static_cast<std::size_t>(logits.tokens);
    const auto width = static_cast<std::size_t>(reference_.spec().embedding);
    StageValues stages;
    const auto observed = observe_tokens(tokens, stages);
    const auto outputs = std::span<const double>(outputs_at_once_).last(tokens * width);
    logits.repeats = is_same(stages.at("output"), {outputs.begin(), outputs.end()});
    std::vector<std::uint64_t> positions(tokens);
    std::iota(positions.begin(), positions.end(), ids_.size() - tokens);
    judge_.token_logits(positions, stages.at("output"), stages);
    if (judge_.first_wrong()) return judge_.first_wrong();
    for (std::size_t i = 0; i < tokens; ++i) {
      const auto wrong = wrong_decoding(runtime_, step_logits_[step_logits_.size() - tokens + i],
                                        observed[i], static_cast<std::size_t>(positions[i]) + 1);
      if (wrong) return wrong;
    }
    return std::nullopt;
  }

  void run_observed() {
    const Observation observation(runtime_, [this](const DecoderStage& stage) {
      if (options_.alter) options_.alter(stage);
      observe(stage);
    });
    runtime_.decode_step(ids_);
  }

  void observe(const DecoderStage& stage) {
    devices_[{stage.layer, std::string(stage.name)}] = stage.stream.device().id();
    if (stage.name == "embedding") {
      const auto tokens = static_cast<std::size_t>(stage.values.dims()[0]);
      const auto first = static_cast<std::size_t>(stage.position);
      judge_.start(ids_.subspan(first, tokens), stage.position, read(stage), is_chosen(0));
      chunk_tokens_ = tokens;
      return;
    }
    const bool is_output = stage.name == "output";
    if (stage.layer ? is_chosen(*stage.layer) || is_output : is_whole()) {
      values_[std::string(stage.name)] = read(stage);
    }
    if (is_output) {
      if (is_whole()) outputs_at_once_ = values_.at("output");  // the last one stays
      if (is_chosen(*stage.layer)) {
        judge_.layer(*stage.layer, values_);
        compared_layers_ = judge_.layers().size();
      } else {
        judge_.skip_layer(values_.at("output"));
      }
      values_.clear();
    }
    if (stage.name != "logits" || !is_whole()) return;
    own_logits_ = judge_.logits(values_, std::min(chunk_tokens_, step_logits_.size()));
    logits_at_once_ = values_.at("logits");
  }

  LogitsResult compare_logits() const {
    const auto width = static_cast<std::size_t>(reference_.spec().vocabulary);
    LogitsResult logits;
    logits.tokens = own_logits_.size() / width;
    const std::span<const double> own(own_logits_);
    logits.deviation = standard_deviation(own.last(width));
    logits.bound = options_.logits_bound * logits.deviation;
    const std::size_t skipped = step_logits_.size() - static_cast<std::size_t>(logits.tokens);
    for (std::size_t i = 0; i < logits.tokens; ++i) {
      const double error = largest_error(step_logits_[skipped + i], own.subspan(i * width, width));
      if (!(error <= logits.max_error)) logits.max_error = error;
      if (std::isnan(error)) break;
    }
    logits.repeats = is_same(step_logits_.back(), logits_at_once_);
    return logits;
  }

  // Whether both runs give the same values of that stage.
  bool repeats(const WrongValue& wrong) {
    const std::size_t from_end = ids_.size() - static_cast<std::size_t>(wrong.position);
    if (wrong.stage == decoded_logits) {
      const std::size_t step = step_logits_.size() - from_end;
      const std::vector<double> first = step_logits_[step];
      run_unobserved();
      return is_same(step_logits_[step], first);
    }
    std::vector<std::vector<double>> found;
    if (!wrong.layer && wrong.stage != "embedding" && from_end > 1) {
      for (int run = 0; run < 2; ++run) {
        StageValues stages;
        observe_tokens(from_end, stages);
        found.push_back(std::move(stages.at(wrong.stage)));
      }
      return is_same(found[0], found[1]) &&
             is_same({found[0][static_cast<std::size_t>(wrong.row)]}, {wrong.got});
    }
    for (int run = 0; run < 2; ++run) {
      found.emplace_back();
      const Observation observation(runtime_, [&](const DecoderStage& stage) {
        if (options_.alter) options_.alter(stage);
        if (stage.layer == wrong.layer && stage.name == wrong.stage) {
          const std::vector<double> values = read(stage);
          found.back().insert(found.back().end(), values.begin(), values.end());
        } else if (stage.name == "output") {
          wait_unless_cancelled(stage.stream, options_.cancel);
        }
      });
      runtime_.decode_step(ids_);
    }
    const auto place = static_cast<std::size_t>(wrong.layer || wrong.stage == "embedding"
                                                    ? wrong.position * wrong.rows + wrong.row
                                                    : wrong.row);
    return is_same(found[0], found[1]) && is_same({found[0][place]}, {wrong.got});
  }

  ModelRuntime& runtime_;
  const ReferenceDecoder& reference_;
  std::span<const std::uint32_t> ids_;
  const ProveOptions& options_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  LayerJudge judge_;
  std::size_t compared_layers_ = 0;  // of the judge, without one that is being compared
  StageValues values_;               // of the layer at work
  std::size_t chunk_tokens_ = 0;
  // By layer and stage.
  std::map<std::pair<std::optional<std::size_t>, std::string>, std::string> devices_;
  std::vector<std::vector<double>> step_logits_;
  std::vector<double> own_logits_;
  std::vector<double> logits_at_once_;
  std::vector<double> outputs_at_once_;  // of the last layer, for the last tokens of the prompt
};

}  // namespace

ProveResult prove(ModelRuntime& runtime, const ReferenceDecoder& reference,
                  std::span<const std::uint32_t> ids, const ProveOptions& options) {
  return Prover(runtime, reference, ids, options).run();
}

}  // namespace hiptool::reference
