// SPDX-License-Identifier: MIT
#include "hiptool/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "runtime/random_number.hpp"

// meson.build forbids contraction for this layer: results shall be the same on every processor.
namespace hiptool {
namespace {

struct Candidate {
  std::uint32_t id;
  float logit;
  double weight;
};

bool is_likelier(const Candidate& left, const Candidate& right) {
  return left.logit != right.logit ? left.logit > right.logit : left.id < right.id;
}

bool has_lower_id(const Candidate& left, const Candidate& right) { return left.id < right.id; }

[[noreturn]] void refuse_logits(const std::string& message) {
  throw Error(ErrorCode::corrupt_data, "sample", message,
              "`hiptool load MODEL --check-tensors` searches the weights for NaN and infinity");
}

// The lowest id of the largest logit.
std::size_t find_largest(std::span<const float> logits) {
  if (logits.empty() || logits.size() - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::invalid_argument, "sample",
                std::to_string(logits.size()) + " logits to choose from",
                "pass the logits of one token");
  }
  std::size_t largest = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const float logit = logits[id];
    if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity()) {
      refuse_logits("the logit of token " + std::to_string(id) + " is " +
                    (std::isnan(logit) ? "NaN" : "infinite"));
    }
    if (logit > logits[largest]) largest = id;
  }
  if (std::isinf(logits[largest])) refuse_logits("the logits of all tokens are -infinity");
  return largest;
}

// e^x of x <= 0, within a few units in the last place: a library's function differs between hosts.
double exponential(double x) {
  if (!(x > -700)) return 0;
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_cut = 0.6931471805601177;  // 40 bits: a product with n is exact
  constexpr double ln2_rest = -1.7239444525614835e-13;
  const double n = std::floor(x * log2_e + 0.5);
  const double r = (x - n * ln2_cut) - n * ln2_rest;
  // Of the Taylor series: |r| is at most 0.35.
  constexpr std::array inverse_factorials{1.0 / 6227020800,
                                          1.0 / 479001600,
                                          1.0 / 39916800,
                                          1.0 / 3628800,
                                          1.0 / 362880,
                                          1.0 / 40320,
                                          1.0 / 5040,
                                          1.0 / 720,
                                          1.0 / 120,
                                          1.0 / 24,
                                          1.0 / 6,
                                          0.5,
                                          1.0,
                                          1.0};
  double sum = 0;
  for (const double coefficient : inverse_factorials) sum = sum * r + coefficient;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace

double runtime::random_number(std::uint64_t seed, std::uint64_t draw) {
  std::array<std::uint32_t, 4> words{static_cast<std::uint32_t>(draw),
                                     static_cast<std::uint32_t>(draw >> 32), 0, 0};
  auto first_key = static_cast<std::uint32_t>(seed);
  auto second_key = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{words[0]} * 0xD2511F53;
    const std::uint64_t right = std::uint64_t{words[2]} * 0xCD9E8D57;
    words = {static_cast<std::uint32_t>(right >> 32) ^ words[1] ^ first_key,
             static_cast<std::uint32_t>(right),
             static_cast<std::uint32_t>(left >> 32) ^ words[3] ^ second_key,
             static_cast<std::uint32_t>(left)};
    first_key += 0x9E3779B9;
    second_key += 0xBB67AE85;
  }
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return std::ldexp(static_cast<double>(bits), -53);
}

namespace {

double total_weight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

// The candidates stay in ascending order of ids, here and below.
void keep_largest(std::vector<Candidate>& candidates, std::uint64_t count) {
  if (count == 0 || count >= candidates.size()) return;
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(candidates.begin(), end - 1, candidates.end(), is_likelier);
  candidates.erase(end, candidates.end());
  std::ranges::sort(candidates, has_lower_id);
}

void keep_share(std::vector<Candidate>& candidates, double share) {
  if (share >= 1) return;
  const double wanted = share * total_weight(candidates);
  // A heap, since few of very many tokens are kept as a rule.
  const auto is_below = [](const Candidate& left, const Candidate& right) {
    return is_likelier(right, left);
  };
  std::make_heap(candidates.begin(), candidates.end(), is_below);
  auto kept = candidates.end();
  for (double sum = 0; sum < wanted && kept != candidates.begin(); --kept) {
    std::pop_heap(candidates.begin(), kept, is_below);
    sum += (kept - 1)->weight;
  }
  candidates.erase(candidates.begin(), kept);
  std::ranges::sort(candidates, has_lower_id);
}

}  // namespace

void require_valid(const SamplingOptions& options) {
  const auto refuse = [](const std::string& message, const std::string& hint) {
    throw Error(ErrorCode::invalid_argument, "sample", message, hint);
  };
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    refuse("a temperature of " + std::to_string(options.temperature),
           "choose 0 for the most likely token, or a number above 0");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    refuse("a top-p of " + std::to_string(options.top_p), "choose a share above 0, at most 1");
  }
}

std::uint32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                           std::uint64_t draw) {
  require_valid(options);
  const std::size_t largest = find_largest(logits);
  if (options.temperature == 0) return static_cast<std::uint32_t>(largest);
  std::vector<Candidate> candidates;
  candidates.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    candidates.push_back({static_cast<std::uint32_t>(id), logits[id], 0});
  }
  keep_largest(candidates, options.top_k);
  for (Candidate& candidate : candidates) {
    const double below =
        static_cast<double>(candidate.logit) - static_cast<double>(logits[largest]);
    candidate.weight = exponential(below / options.temperature);
  }
  keep_share(candidates, options.top_p);
  const double wanted = runtime::random_number(options.seed, draw) * total_weight(candidates);
  double sum = 0;
  // The last one with a weight also where rounding leaves the sum short.
  std::uint32_t chosen = static_cast<std::uint32_t>(largest);
  for (const Candidate& candidate : candidates) {
    if (candidate.weight == 0) continue;
    chosen = candidate.id;
    sum += candidate.weight;
    if (sum > wanted) break;
  }
  return chosen;
}

}  // namespace hiptool
