// SPDX-License-Identifier: MIT
#include "reference/prove/shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hiptool::reference {
namespace {

constexpr double share_unit = 0x1p-24;
constexpr double least_share = 0x1p-149;

/// Shares of one token, and their bounds. Relative to a share: eight roundings of a sigmoid; of a
/// softmax twice the distances from the highest score, and one for each term of the sum.
void add_shares(const ExpertsSpec& experts, std::span<const double> scores,
                std::span<const double> bounds, Bounded& all) {
  if (experts.share == ExpertShare::sigmoid) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double share = 1 / (1 + std::exp(-scores[i]));
      // The slope is largest in the middle.
      const double slope = std::min(0.25, share * std::exp(std::min(bounds[i], 1.0)));
      all.values.push_back(share);
      all.bounds.push_back(slope * bounds[i] + 8 * share_unit * share + least_share);
    }
    return;
  }
  const double highest = *std::ranges::max_element(scores);
  double sum = 0;
  double distances = 0;
  double errors = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double term = std::exp(scores[i] - highest);
    sum += term;
    distances += term * (highest - scores[i]);
    errors += term * bounds[i];
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double share = std::exp(scores[i] - highest) / sum;
    const double units =
        2 * (highest - scores[i] + distances / sum) + static_cast<double>(scores.size()) + 8;
    all.values.push_back(share);
    all.bounds.push_back(share * (units * share_unit + 2 * (bounds[i] + errors / sum)) +
                         4 * least_share);
  }
}

/// Of groups, how good they are and how far that may be off.
Bounded groups_of(const ExpertsSpec& experts, std::span<const double> choices,
                  std::span<const double> bounds) {
  const std::size_t size = choices.size() / static_cast<std::size_t>(experts.groups);
  Bounded groups;
  for (std::size_t first = 0; first < choices.size(); first += size) {
    std::vector<double> own(choices.begin() + static_cast<std::ptrdiff_t>(first),
                            choices.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::ranges::sort(own, std::greater());
    const auto best = static_cast<std::ptrdiff_t>(experts.group_best);
    const double sum = std::accumulate(own.begin(), own.begin() + best, 0.0);
    double room = 0;
    if (!bounds.empty()) room = *std::ranges::max_element(bounds.subspan(first, size));
    groups.values.push_back(sum);
    groups.bounds.push_back(static_cast<double>(best) * room + share_unit * std::abs(sum));
  }
  return groups;
}

/// The numbers of the highest values, highest first.
std::vector<std::uint32_t> highest_of(std::span<const double> values, std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  order.resize(count);
  return order;
}

double excess_of(double above, double room) { return above == 0 ? 0 : above / room; }

/// Among the experts of open groups; an empty list: of all.
Choice choice_among(std::span<const double> choices, std::span<const double> bounds,
                    std::span<const std::uint32_t> chosen, const std::vector<bool>& is_open) {
  Choice worst;
  bool is_first = true;
  const std::size_t of_group = is_open.empty() ? choices.size() : choices.size() / is_open.size();
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    const std::uint32_t own = chosen[place];
    for (std::uint32_t other = 0; other < choices.size(); ++other) {
      if (!is_open.empty() && !is_open[other / of_group]) continue;
      if (std::ranges::find(chosen, other) != chosen.end()) continue;
      const double excess = excess_of(choices[other] - choices[own], bounds[own] + bounds[other]);
      if (!is_first && excess <= worst.excess) continue;
      is_first = false;
      worst = {excess, place, other};
    }
  }
  if (is_first) worst.excess = -std::numeric_limits<double>::infinity();
  return worst;
}

/// Tries sets of groups that have all chosen experts, the highest groups first.
class GroupChoices {
 public:
  GroupChoices(const ExpertsSpec& experts, std::span<const double> choices,
               std::span<const double> bounds, std::span<const std::uint32_t> chosen)
      : choices_(choices),
        bounds_(bounds),
        chosen_(chosen),
        groups_(groups_of(experts, choices, bounds)),
        of_group_(choices.size() / groups_.values.size()),
        wanted_(static_cast<std::size_t>(experts.groups_used)),
        is_open_(groups_.values.size()) {
    for (const std::uint32_t id : chosen) is_open_[id / of_group_] = true;
    for (const std::uint32_t group : highest_of(groups_.values, groups_.values.size())) {
      if (!is_open_[group]) others_.push_back(group);
    }
  }

  Choice best() {
    const auto open = static_cast<std::size_t>(std::ranges::count(is_open_, true));
    if (open > wanted_) return too_many();
    best_.excess = std::numeric_limits<double>::infinity();
    extend(0, wanted_ - open);
    return best_;
  }

 private:
  // Experts of more groups than there may be: the lowest of these groups is wrong.
  Choice too_many() const {
    std::size_t place = 0;
    for (std::size_t i = 1; i < chosen_.size(); ++i) {
      if (value_at(i) < value_at(place)) place = i;
    }
    const std::uint32_t group = highest_of(groups_.values, 1).front();
    for (std::uint32_t id = 0; id < choices_.size(); ++id) {
      if (id / of_group_ != group) continue;
      if (std::ranges::find(chosen_, id) == chosen_.end()) {
        return {std::numeric_limits<double>::infinity(), place, id};
      }
    }
    return {std::numeric_limits<double>::infinity(), place, chosen_[place == 0 ? 1 : 0]};
  }
  double value_at(std::size_t place) const { return groups_.values[chosen_[place] / of_group_]; }

  void extend(std::size_t from, std::size_t lacking) {
    constexpr std::size_t most_sets = 2000;
    if (tried_ >= most_sets) return;
    if (lacking == 0) {
      ++tried_;
      judge();
      return;
    }
    for (std::size_t i = from; i + lacking <= others_.size(); ++i) {
      is_open_[others_[i]] = true;
      extend(i + 1, lacking - 1);
      is_open_[others_[i]] = false;
    }
  }

  void judge() {
    std::vector<std::uint32_t> open;
    for (std::uint32_t group = 0; group < is_open_.size(); ++group) {
      if (is_open_[group]) open.push_back(group);
    }
    const Choice of_groups = choice_among(groups_.values, groups_.bounds, open, {});
    Choice found = choice_among(choices_, bounds_, chosen_, is_open_);
    if (of_groups.excess > found.excess) {
      found.excess = of_groups.excess;
      const std::uint32_t low = open[of_groups.place];
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        if (chosen_[i] / of_group_ == low) found.place = i;
      }
      const auto first = static_cast<std::size_t>(of_groups.left_out) * of_group_;
      found.left_out = static_cast<std::uint32_t>(first) +
                       highest_of(choices_.subspan(first, of_group_), 1).front();
    }
    if (found.excess < best_.excess) best_ = found;
  }

  std::span<const double> choices_;
  std::span<const double> bounds_;
  std::span<const std::uint32_t> chosen_;
  Bounded groups_;
  std::size_t of_group_;
  std::size_t wanted_;
  std::vector<bool> is_open_;
  std::vector<std::uint32_t> others_;  // groups without a chosen expert, highest first
  std::size_t tried_ = 0;
  Choice best_;
};

}  // namespace

Bounded choices_of(const ExpertsSpec& experts, const Bounded& scores,
                   std::span<const double> choice_bias) {
  if (!experts.has_shares()) return scores;
  const auto count = static_cast<std::size_t>(experts.count);
  Bounded all;
  for (std::size_t at = 0; at < scores.values.size(); at += count) {
    add_shares(experts, std::span(scores.values).subspan(at, count),
               std::span(scores.bounds).subspan(at, count), all);
  }
  if (choice_bias.empty()) return all;
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    all.values[i] += choice_bias[i % count];
    all.bounds[i] += 2 * share_unit * std::abs(all.values[i]);
  }
  return all;
}

std::vector<std::uint32_t> chosen_experts(const ExpertsSpec& experts,
                                          std::span<const double> choices) {
  const auto count = static_cast<std::size_t>(experts.count);
  const auto used = static_cast<std::size_t>(experts.used);
  std::vector<std::uint32_t> all;
  for (std::size_t at = 0; at < choices.size(); at += count) {
    const std::span<const double> own = choices.subspan(at, count);
    std::vector<double> open(own.begin(), own.end());
    if (experts.groups > 1) {
      const std::size_t size = count / static_cast<std::size_t>(experts.groups);
      std::fill(open.begin(), open.end(), -std::numeric_limits<double>::infinity());
      for (const std::uint32_t group : highest_of(groups_of(experts, own, {}).values,
                                                  static_cast<std::size_t>(experts.groups_used))) {
        std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(group * size), size,
                    open.begin() + static_cast<std::ptrdiff_t>(group * size));
      }
    }
    const std::vector<std::uint32_t> chosen = highest_of(open, used);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

Bounded routed_weights(const ExpertsSpec& experts, std::span<const double> scores,
                       std::span<const std::uint32_t> ids) {
  const auto count = static_cast<std::size_t>(experts.count);
  const auto used = static_cast<std::size_t>(experts.used);
  if (!experts.has_shares()) {
    return expert_weights(scores, count, ids, used, experts.is_normalised);
  }
  const std::vector<double> exact(count);
  Bounded result;
  for (std::size_t token = 0; token * used < ids.size(); ++token) {
    Bounded shares;
    add_shares(experts, scores.subspan(token * count, count), exact, shares);
    const std::span<const std::uint32_t> own = ids.subspan(token * used, used);
    double sum = 1e-20;
    double errors = 0;
    for (const std::uint32_t id : own) {
      sum += shares.values[id];
      errors += shares.bounds[id];
    }
    const double divisor = experts.is_normalised ? sum : 1;
    const double of_divisor =
        experts.is_normalised ? errors / sum + static_cast<double>(used + 2) * share_unit : 0;
    for (const std::uint32_t id : own) {
      const double weight = shares.values[id] / divisor * experts.scale;
      result.values.push_back(weight);
      result.bounds.push_back(shares.bounds[id] / divisor * experts.scale +
                              weight * (of_divisor + 4 * share_unit) + 2 * least_share);
    }
  }
  return result;
}

Choice choice_of(const ExpertsSpec& experts, std::span<const double> choices,
                 std::span<const double> bounds, std::span<const std::uint32_t> chosen) {
  if (experts.groups == 1) return choice_among(choices, bounds, chosen, {});
  return GroupChoices(experts, choices, bounds, chosen).best();
}

}  // namespace hiptool::reference
