// SPDX-License-Identifier: MIT
// The experts of a layer: LayerJudge.
#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/prove/layer_judge.hpp"
#include "reference/prove/shares.hpp"

namespace hiptool::reference {
namespace {

using Ids = std::vector<std::uint32_t>;

double deviation_of(std::span<const double> scores) {
  double sum = 0;
  double squares = 0;
  for (const double score : scores) {
    sum += score;
    squares += score * score;
  }
  const auto count = static_cast<double>(scores.size());
  return std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
}

/// Whether they are different experts in range.
bool is_choice(std::span<const std::uint32_t> ids, std::size_t count) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= count) return false;
    if (std::ranges::find(ids.subspan(i + 1), ids[i]) != ids.end()) return false;
  }
  return true;
}

template <typename Value>
std::vector<Value> both(const std::vector<Value>& first, const std::vector<Value>& second) {
  std::vector<Value> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

Bounded part_of(const Bounded& all, std::size_t first, std::size_t count) {
  const auto values = std::span(all.values).subspan(first, count);
  const auto bounds = std::span(all.bounds).subspan(first, count);
  return {{values.begin(), values.end()}, {bounds.begin(), bounds.end()}};
}

}  // namespace

Ids ReferenceDecoder::followed_experts(const ExpertsSpec& experts, Bounded scores,
                                       std::span<const std::uint32_t> of_device) const {
  const auto count = static_cast<std::size_t>(experts.count);
  const auto used = static_cast<std::size_t>(experts.used);
  for (std::size_t at = 0; at < scores.values.size(); at += count) {
    // Errors of earlier layers are in these scores too; they are judged by the logits.
    const double room = logits_bound * deviation_of(std::span(scores.values).subspan(at, count));
    for (std::size_t i = 0; i < count; ++i) scores.bounds[at + i] += room;
  }
  const Bounded all = choices(experts, scores);
  Ids chosen = chosen_experts(experts, all.values);
  for (std::size_t token = 0; token * used < chosen.size(); ++token) {
    const auto ids = of_device.subspan(token * used, used);
    if (!is_choice(ids, count)) continue;
    const auto values = std::span(all.values).subspan(token * count, count);
    const auto bounds = std::span(all.bounds).subspan(token * count, count);
    if (choice_of(experts, values, bounds, ids).excess > 1) continue;
    std::ranges::copy(ids, chosen.begin() + static_cast<std::ptrdiff_t>(token * used));
  }
  return chosen;
}

// The device's experts; the highest scores in place of what is not a choice.
Ids LayerJudge::judge_choice(const ExpertsSpec& experts, const Bounded& scores) {
  const auto count = static_cast<std::size_t>(experts.count);
  const auto used = static_cast<std::size_t>(experts.used);
  const std::vector<double>& found = device_->at("experts");
  const Bounded choices = reference_.choices(experts, scores);
  const Ids highest = chosen_experts(experts, choices.values);
  Ids chosen;
  for (const double id : found) {
    chosen.push_back(id < static_cast<double>(count) ? static_cast<std::uint32_t>(id) : ~0u);
  }
  std::vector<double> expected = found;
  for (std::size_t token = 0; token * used < chosen.size(); ++token) {
    const auto ids = std::span(chosen).subspan(token * used, used);
    if (!is_choice(ids, count)) {
      for (std::size_t i = 0; i < used; ++i) {
        expected[token * used + i] = highest[token * used + i];
        ids[i] = highest[token * used + i];
      }
      continue;
    }
    const Choice choice =
        choice_of(experts, std::span(choices.values).subspan(token * count, count),
                  std::span(choices.bounds).subspan(token * count, count), ids);
    if (choice.excess > 1) expected[token * used + choice.place] = choice.left_out;
    if (std::abs(choice.excess) <= 1 && used < count) ++router_ties_;
  }
  const std::vector<double> exact(found.size());
  compare("experts", experts.router.weight, expected, exact, found);
  return chosen;
}

// Compares the device's slots; the result is its own.
std::vector<double> LayerJudge::slots_product(const char* stage, const ExpertMatrices& matrices,
                                              const ExpertsSpec& experts, const Ids& ids,
                                              const char* input, const std::vector<double>& own) {
  const Bounded all =
      reference_.expert_product(matrices, experts, ids, both(device_->at(input), own));
  const std::vector<double>& found = device_->at(stage);
  const bool was_wrong = result_->wrong.has_value();
  const Bounded given = part_of(all, 0, found.size());
  compare(stage, matrices.weights.front(), given.values, given.bounds, found);
  if (result_->wrong && !was_wrong) {
    WrongValue& wrong = *result_->wrong;
    const std::uint64_t token = wrong.position - positions_.front();
    wrong.expert = ids[static_cast<std::size_t>(token * experts.used + wrong.row / matrices.rows)];
    if (matrices.weights.size() > 1) wrong.tensor = matrices.weights[*wrong.expert];
    wrong.type = reference_.tensor(wrong.tensor).type.name();
  }
  if (after_product_) {
    for (const std::string& tensor : matrices.weights) {
      after_product_(reference_.tensor(tensor).size_bytes);
    }
  }
  return part_of(all, found.size(), all.values.size() - found.size()).values;
}

std::vector<double> LayerJudge::mix(const ExpertsSpec& experts, const std::vector<double>& inputs) {
  const auto used = static_cast<std::size_t>(experts.used);
  const Bounded scores =
      reference_.product(experts.router, both(device_->at("feed_forward_norm"), inputs));
  const std::vector<double>& found = device_->at("router");
  const Bounded given = part_of(scores, 0, found.size());
  compare("router", experts.router.weight, given);
  if (after_product_) after_product_(reference_.tensor(experts.router.weight).size_bytes);
  const Ids ids = judge_choice(experts, given);
  compare("expert_weights", "", routed_weights(experts, found, ids));

  const Bounded own_scores = part_of(scores, found.size(), scores.values.size() - found.size());
  Ids own_ids;
  std::vector<double> own_weights;
  if (follows_own_) {
    own_ids = reference_.followed_experts(experts, own_scores, ids);
    own_weights = routed_weights(experts, own_scores.values, own_ids).values;
  }
  const Ids all = both(ids, own_ids);
  const std::vector<double> gate =
      slots_product("gate", experts.gate, experts, all, "feed_forward_norm", inputs);
  const std::vector<double> up =
      slots_product("up", experts.up, experts, all, "feed_forward_norm", inputs);
  compare("activation", "", gated(reference_.spec(), device_->at("gate"), device_->at("up")));
  const std::vector<double> down =
      slots_product("expert_down", experts.down, experts, all, "activation",
                    gated(reference_.spec(), gate, up).values);
  compare(experts.has_shared() ? "routed" : "down", "",
          expert_sums(device_->at("expert_down"), device_->at("expert_weights"), used));
  std::vector<double> own;
  if (follows_own_) own = expert_sums(down, own_weights, used).values;
  return experts.has_shared() ? add_shared(experts, inputs, own) : own;
}

// The MLP that all tokens share.
std::vector<double> LayerJudge::add_shared(const ExpertsSpec& experts,
                                           const std::vector<double>& inputs,
                                           const std::vector<double>& own) {
  const bool has_score = !experts.shared_score.weight.empty();
  std::vector<double> score;
  if (has_score) {
    score = product("shared_score", experts.shared_score, "feed_forward_norm", inputs);
  }
  const std::vector<double> gate =
      product("shared_gate", experts.shared_gate, "feed_forward_norm", inputs);
  const std::vector<double> up =
      product("shared_up", experts.shared_up, "feed_forward_norm", inputs);
  compare("shared_activation", "",
          gated(reference_.spec(), device_->at("shared_gate"), device_->at("shared_up")));
  std::vector<double> down = product("shared_down", experts.shared_down, "shared_activation",
                                     gated(reference_.spec(), gate, up).values);
  if (has_score) {
    compare("shared_gated", "", scored(device_->at("shared_score"), device_->at("shared_down")));
    down = scored(score, down).values;
  }
  compare("down", "",
          summed(device_->at("routed"), device_->at(has_score ? "shared_gated" : "shared_down")));
  return summed(own, down).values;
}

}  // namespace hiptool::reference
