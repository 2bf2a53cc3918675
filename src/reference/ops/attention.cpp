// SPDX-License-Identifier: MIT
#include "reference/ops/attention.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace hiptool::reference {
namespace {

constexpr long double single_unit = 0x1p-24L;

/// Slack of a sum of products in f32, by the root of the sum of their squares.
long double product_slack(std::size_t terms, long double size) {
  const auto count = static_cast<long double>(terms);
  return (8 * std::sqrt(count) + count / 8) * single_unit * size + count * ulp_of(DType::f32, 0);
}

/// The score of one key, and the error that f32 may make of it.
struct Score {
  long double value = 0;
  long double slack = 0;
};

Score score_of(const long double* query, const long double* key, std::size_t size,
               const Attending& options) {
  long double sum = 0;
  long double squares = 0;
  for (std::size_t d = 0; d < size; ++d) {
    sum += query[d] * key[d];
    squares += query[d] * query[d] * key[d] * key[d];
  }
  Score score{sum * options.scale, 0};
  score.slack = product_slack(size, std::sqrt(squares)) * std::fabs(options.scale) +
                2 * single_unit * std::fabs(score.value);
  if (options.softcap != 0) {
    score.value = options.softcap * std::tanh(score.value / options.softcap);
    score.slack += 8 * single_unit * std::fabs(score.value);
  }
  return score;
}

/// One head of one token: its scores of the keys that it sees, then the mean of their values. The
/// sink, where there is one, is a key whose value is 0.
void attend_head(const std::vector<Score>& scores, const long double* sink,
                 const long double* values, std::size_t stride, std::size_t size,
                 Expected& expected) {
  long double most = -std::numeric_limits<long double>::infinity();
  if (sink != nullptr) most = *sink;
  long double slack = 0;
  for (const Score& score : scores) {
    most = std::fmax(most, score.value);
    slack = std::fmax(slack, score.slack);
  }
  long double sum = sink != nullptr ? std::exp(*sink - most) : 0;
  long double widest = sink != nullptr ? most - *sink : 0;
  for (const Score& score : scores) {
    sum += std::exp(score.value - most);
    widest = std::fmax(widest, most - score.value);
  }
  const auto count = static_cast<long double>(scores.size());
  const long double error = 2 * slack + (count / 32 + widest + 64) * single_unit;
  for (std::size_t d = 0; d < size; ++d) {
    long double mean = 0;
    long double sizes = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const long double part = std::exp(scores[j].value - most) / sum * values[j * stride + d];
      mean += part;
      sizes += std::fabs(part);
    }
    expected.values.at.push_back(mean);
    expected.slack.push_back(error * sizes + ulp_of(DType::f32, mean));
  }
}

}  // namespace

Expected attention(const Values& q, const Values& keys, const Values& values,
                   const Attending& options) {
  const std::size_t tokens = q.dims[0];
  const std::size_t heads = q.dims[1];
  const std::size_t size = q.dims[2];
  const std::size_t cache_heads = keys.dims[1];
  const std::size_t value_size = values.dims[2];
  Expected expected{{{tokens, heads, value_size}, {}}, {}};
  for (std::size_t token = 0; token < tokens; ++token) {
    const std::size_t position = options.first + token;
    std::size_t begin = 0;
    while (options.window != 0 && position - begin >= options.window) ++begin;
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t shared = head * cache_heads / heads;
      std::vector<Score> scores;
      for (std::size_t j = begin; j <= position; ++j) {
        scores.push_back(score_of(&q.at[(token * heads + head) * size],
                                  &keys.at[(j * cache_heads + shared) * size], size, options));
      }
      attend_head(scores, options.sinks.empty() ? nullptr : &options.sinks[head],
                  &values.at[(begin * cache_heads + shared) * value_size], cache_heads * value_size,
                  value_size, expected);
    }
  }
  return expected;
}

}  // namespace hiptool::reference
