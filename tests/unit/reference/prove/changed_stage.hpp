// SPDX-License-Identifier: MIT
/// A device that computes one stage of a layer in another way.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/prove/prove.hpp"
#include "unit/reference/prove/prove_samples.hpp"

namespace hiptool::test {

/// Writes other values in place of a stage of one layer.
class ChangedStage {
 public:
  using Values = std::vector<double>;
  /// `seen` has this layer's stages so far, and as "position" that of their first token.
  using Change = std::function<void(const std::map<std::string, Values>& seen, Values& values)>;

  ChangedStage(const ProvedSample& sample, std::size_t layer, std::string stage, Change change)
      : sample_(sample), layer_(layer), stage_(std::move(stage)), change_(std::move(change)) {}

  std::string prove(std::uint32_t tokens = 9, std::uint64_t chunk_tokens = 128) {
    reference::ProveOptions options;
    options.alter = [this](const DecoderStage& stage) { look(stage); };
    return wrong_stage(sample_.prove(sample_.spec, options, tokens, chunk_tokens));
  }

 private:
  void look(const DecoderStage& stage) {
    if (stage.layer != layer_) return;
    Values values;
    if (stage.values.dtype() == DType::u32) {
      const auto numbers = stage.values.to_host<std::uint32_t>(stage.stream);
      values.assign(numbers.begin(), numbers.end());
    } else {
      const auto numbers = stage.values.to_host<float>(stage.stream);
      values.assign(numbers.begin(), numbers.end());
    }
    seen_["position"] = {static_cast<double>(stage.position)};
    if (stage.name == stage_) {
      change_(seen_, values);
      write_values(sample_.backend, stage.values, values);
    }
    seen_[std::string(stage.name)] = values;
  }

  const ProvedSample& sample_;
  std::optional<std::size_t> layer_;
  std::string stage_;
  Change change_;
  std::map<std::string, Values> seen_;
};

}  // namespace hiptool::test
