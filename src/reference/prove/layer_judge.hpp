// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/prove/observation.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/reference_decoder.hpp"

namespace hiptool::reference {

/// Compares what a device computed for some tokens with float64. It follows two sequences: the
/// device's values, whose stages are computed from the device's own inputs, and values of its own
/// from the embedding on. Weights are read once for both.
class LayerJudge {
 public:
  /// `follows_own`: else only stages are compared. `after_product` is called after each product
  /// with the bytes of its weights.
  LayerJudge(const ReferenceDecoder& reference, bool follows_own,
             std::function<void(std::uint64_t weight_bytes)> after_product);

  /// Next tokens of the sequence; the device's embedding of them.
  void start(std::span<const std::uint32_t> ids, std::uint64_t first_position,
             const std::vector<double>& embedding, bool is_compared);
  /// The stages of a layer: names of DecoderStage.
  void layer(std::size_t number, const StageValues& device);
  /// A layer that is not compared, by its output.
  void skip_layer(std::vector<double> output) { given_ = std::move(output); }
  /// "output_norm" and "logits" of the last token. Returns logits of its own of the last `tokens`
  /// tokens.
  std::vector<double> logits(const StageValues& device, std::size_t tokens);
  /// The same stages of tokens whose outputs of the last layer are given; no logits of its own.
  void token_logits(std::vector<std::uint64_t> positions, std::span<const double> outputs,
                    const StageValues& device);

  const std::vector<LayerResult>& layers() const noexcept { return layers_; }
  /// Of the lowest wrong layer, whichever tokens it was wrong for.
  std::optional<WrongValue> first_wrong() const;
  /// The first stage with values that leave the range of f32, in words; empty: there is none. No
  /// device is wrong there.
  const std::string& out_of_range() const noexcept { return out_of_range_; }
  std::uint64_t router_ties() const noexcept { return router_ties_; }

 private:
  void compare(const char* stage, const std::string& tensor, std::span<const double> expected,
               std::span<const double> bounds, std::span<const double> found);
  void compare(const char* stage, const std::string& tensor, const Bounded& expected) {
    compare(stage, tensor, expected.values, expected.bounds, device_->at(stage));
  }
  std::vector<double> product(const char* stage, const MatrixSpec& matrix, const char* input,
                              const std::vector<double>& own);
  std::vector<double> slots_product(const char* stage, const ExpertMatrices& matrices,
                                    const ExpertsSpec& experts,
                                    const std::vector<std::uint32_t>& ids, const char* input,
                                    const std::vector<double>& own);
  std::vector<double> added(const char* stage, const char* norm_stage, const std::string& norm,
                            std::vector<double>& own);
  /// Of the own sequence; keys and queries are rotated.
  struct OwnHeads {
    std::vector<double> q, k, v;
    std::vector<double> gates;  ///< of what attention gives, where there are some
  };
  OwnHeads heads(const DecoderLayer& layer, const std::vector<double>& normed);
  OwnHeads latent_heads(const DecoderLayer& layer, const std::vector<double>& normed);
  std::vector<double> attention(std::size_t number, const std::vector<double>& normed);
  std::vector<double> queries_of_both(const DecoderLayer& layer, const std::vector<double>& normed,
                                      std::vector<double>& own_gates);
  std::vector<double> delta_attention(std::size_t number, const std::vector<double>& normed);
  std::pair<DeltaParts, DeltaParts> delta_parts(const DeltaSpec& delta,
                                                const std::vector<double>& normed);
  std::vector<double> own_turned(const DecoderLayer& layer, const std::vector<double>& heads,
                                 const std::string& norm) const {
    return follows_own_ ? reference_.rotated(layer, heads, norm, positions_).values
                        : std::vector<double>();
  }
  std::vector<double> own_norm(const std::string& weight, const std::vector<double>& inputs) const {
    return follows_own_ ? reference_.norm(weight, inputs).values : std::vector<double>();
  }
  std::vector<double> transposed(const DecoderLayer& layer, const std::vector<double>& own);
  std::vector<double> add_shared(const ExpertsSpec& experts, const std::vector<double>& inputs,
                                 const std::vector<double>& own);
  std::vector<double> mlp(const DecoderLayer& layer, const std::vector<double>& inputs);
  std::vector<double> mix(const ExpertsSpec& experts, const std::vector<double>& inputs);
  std::vector<std::uint32_t> judge_choice(const ExpertsSpec& experts, const Bounded& scores);
  LayerResult& result_of(std::size_t layer);
  std::vector<double> compare_logits(std::span<const double> outputs, const StageValues& device,
                                     const std::vector<double>& own_normed);

  const ReferenceDecoder& reference_;
  bool follows_own_;
  std::function<void(std::uint64_t)> after_product_;
  std::vector<KeyValues> given_caches_;
  std::vector<KeyValues> own_caches_;
  std::vector<std::uint64_t> positions_;
  std::vector<double> given_;  // the device's input of the next layer
  std::vector<double> own_;
  const StageValues* device_ = nullptr;
  LayerResult* result_ = nullptr;  // of the layer at work; null outside of layers
  std::vector<LayerResult> layers_;
  std::optional<WrongValue> outside_;  // of layers
  std::string out_of_range_;
  std::uint64_t router_ties_ = 0;
};

}  // namespace hiptool::reference
