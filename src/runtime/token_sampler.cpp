// SPDX-License-Identifier: MIT
/// Sampling on a device by searches: each finds the largest number for which a sum over all tokens
/// is still large enough, four bits at a time.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_rows.hpp"
#include "hiptool/sampling.hpp"
#include "runtime/random_number.hpp"

namespace hiptool {
namespace {

constexpr std::uint64_t most_vocabulary = std::uint64_t{1} << 20;
constexpr int bits_of_step = 4;

constexpr std::uint64_t steps = (1u << bits_of_step) - 1;

/// 0, 1, .. for each token, and at least as many as a search has steps.
Tensor numbers_on_device(const Backend& backend, std::uint64_t vocabulary) {
  if (vocabulary == 0 || vocabulary > most_vocabulary) {
    throw Error(ErrorCode::invalid_argument, "make sampler",
                "a vocabulary of " + std::to_string(vocabulary) + " tokens", "choose 1 to 2^20");
  }
  std::vector<std::int64_t> numbers(std::max(vocabulary, steps));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  const std::array<std::uint64_t, 1> dims{numbers.size()};
  return Tensor::from_host<std::int64_t>({backend.allocator(), backend.stream()}, numbers, dims);
}

/// The same memory, repeated.
Tensor repeated(const Tensor& tensor, std::uint64_t rows, std::uint64_t columns) {
  return tensor.with_layout(tensor.layout().broadcast_to({rows, columns}));
}

/// One choice. Tensors of one number are [1, 1], of all tokens [1, vocabulary].
class Choice {
 public:
  Choice(const Backend& backend, const Tensor& numbers, const Tensor& logits)
      : backend_(backend),
        count_(logits.element_count()),
        ids_(numbers.with_layout(Layout{1, count_})),
        steps_(numbers.with_layout(Layout{steps, 1})),
        logits_(logits.with_layout(*logits.layout().reshape({1, count_}))) {}

  Tensor sample(const SamplingOptions& options, std::uint64_t draw) const {
    const Tensor wide = ops::cast(backend_, logits_, DType::f64);
    const Tensor largest = ops::max(backend_, wide, {1}, true);
    const Tensor below = ops::sub(backend_, wide, repeated(largest, 1, count_));
    const Tensor divided = ops::div(backend_, below, all_of(DType::f64, options.temperature));
    Tensor weights = ops::exp(backend_, divided);
    const bool has_most = options.top_k != 0 && options.top_k < count_;
    if (has_most || options.top_p < 1) {
      const Tensor ranks = make_ranks();
      if (has_most) weights = keep_largest(weights, ranks, options.top_k);
      if (options.top_p < 1) weights = keep_share(weights, ranks, options.top_p);
    }
    const Tensor wanted =
        ops::affine(backend_, total(weights), runtime::random_number(options.seed, draw), 0);
    return or_none(draw_id(weights, wanted), largest);
  }

  /// The id where the largest logit is a number.
  Tensor or_none(const Tensor& id, const Tensor& largest) const {
    const double infinity = std::numeric_limits<double>::infinity();
    const Tensor is_number =
        ops::lt(backend_, ops::abs(backend_, ops::cast(backend_, largest, DType::f64)),
                ops::fill(backend_, DType::f64, {1, 1}, infinity));
    const Tensor none =
        ops::fill(backend_, DType::u32, {1, 1}, std::numeric_limits<std::uint32_t>::max());
    return ops::where_cond(backend_, is_number, id, none).with_layout(Layout{1});
  }

 private:
  Tensor all_of(DType dtype, ops::Scalar value) const {
    return repeated(ops::fill(backend_, dtype, {1, 1}, value), 1, count_);
  }
  Tensor total(const Tensor& weights) const { return ops::sum(backend_, weights, {1}, true); }

  /// Whole numbers from 0 to 2^52 in the order of likelihood, no two the same: bits of f32 in
  /// numerical order, then the lower id first.
  Tensor make_ranks() const {
    const Tensor without_sign_of_zero = ops::affine(backend_, logits_, 1, 0);
    const Tensor bits = ops::cast(
        backend_, Tensor(without_sign_of_zero.buffer(), DType::i32, without_sign_of_zero.layout()),
        DType::i64);
    const Tensor is_negative = ops::lt(backend_, bits, all_of(DType::i64, 0));
    constexpr std::int64_t half = std::int64_t{1} << 31;
    const Tensor ordered =
        ops::where_cond(backend_, is_negative, ops::affine(backend_, bits, -1, -1),
                        ops::affine(backend_, bits, 1, half));
    const auto scale = static_cast<std::int64_t>(most_vocabulary);
    return ops::sub(backend_, ops::affine(backend_, ordered, scale, scale - 1), ids_);
  }

  /// The largest number below 2^bits for which the condition holds: a function that makes of
  /// numbers i64 [n, 1] a tensor u8 [n, 1]. It holds for 0, and not from some number on.
  template <class Condition>
  Tensor search(int bits, const Condition& condition) const {
    Tensor found = ops::fill(backend_, DType::i64, {1, 1}, 0);
    for (int low = (bits - 1) / bits_of_step * bits_of_step; low >= 0; low -= bits_of_step) {
      const std::int64_t step = std::int64_t{1} << low;
      const Tensor offsets = ops::affine(backend_, steps_, step, step);
      const Tensor tried = ops::add(backend_, repeated(found, steps, 1), offsets);
      const Tensor holds = ops::cast(backend_, condition(tried), DType::i64);
      const Tensor held = ops::sum(backend_, holds, {0}, true);
      found = ops::add(backend_, found, ops::affine(backend_, held, step, 0));
    }
    return found;
  }
  /// Weights where the condition u8 [n, vocabulary] holds, summed: f64 [n, 1].
  Tensor sums_where(const Tensor& condition, const Tensor& weights) const {
    const std::uint64_t rows = condition.dims()[0];
    const Tensor zero = ops::fill(backend_, DType::f64, {1, 1}, 0);
    return ops::sum(backend_,
                    ops::where_cond(backend_, condition, repeated(weights, rows, count_),
                                    repeated(zero, rows, count_)),
                    {1}, true);
  }
  Tensor are_from(const Tensor& ranks, const Tensor& least) const {
    const std::uint64_t rows = least.dims()[0];
    return ops::ge(backend_, repeated(ranks, rows, count_), repeated(least, rows, count_));
  }
  /// Weights of ranks below are 0.
  Tensor keep_from(const Tensor& weights, const Tensor& ranks, const Tensor& least) const {
    return ops::where_cond(backend_, are_from(ranks, least), weights, all_of(DType::f64, 0));
  }

  static constexpr int rank_bits = 52;

  Tensor keep_largest(const Tensor& weights, const Tensor& ranks, std::uint64_t most) const {
    const Tensor wanted = ops::fill(backend_, DType::i64, {1, 1}, static_cast<std::int64_t>(most));
    const Tensor least = search(rank_bits, [&](const Tensor& tried) {
      const Tensor counts =
          ops::sum(backend_, ops::cast(backend_, are_from(ranks, tried), DType::i64), {1}, true);
      return ops::ge(backend_, counts, repeated(wanted, tried.dims()[0], 1));
    });
    return keep_from(weights, ranks, least);
  }

  Tensor keep_share(const Tensor& weights, const Tensor& ranks, double share) const {
    const Tensor wanted = ops::affine(backend_, total(weights), share, 0);
    const Tensor least = search(rank_bits, [&](const Tensor& tried) {
      const Tensor sums = sums_where(are_from(ranks, tried), weights);
      return ops::ge(backend_, sums, repeated(wanted, tried.dims()[0], 1));
    });
    return keep_from(weights, ranks, least);
  }

  /// The first id up to which the weights are together more than that.
  Tensor draw_id(const Tensor& weights, const Tensor& wanted) const {
    constexpr int id_bits = 20;
    const Tensor found = search(id_bits, [&](const Tensor& tried) {
      const std::uint64_t rows = tried.dims()[0];
      const Tensor is_before =
          ops::lt(backend_, repeated(ids_, rows, count_), repeated(tried, rows, count_));
      return ops::le(backend_, sums_where(is_before, weights), repeated(wanted, rows, 1));
    });
    const Tensor last = ops::fill(backend_, DType::i64, {1, 1}, count_ - 1);
    return ops::cast(backend_, ops::minimum(backend_, found, last), DType::u32);
  }

  const Backend& backend_;
  std::uint64_t count_;
  Tensor ids_;
  Tensor steps_;
  Tensor logits_;
};

}  // namespace

TokenSampler::TokenSampler(const Backend& backend, std::uint64_t vocabulary)
    : backend_(backend),
      vocabulary_(vocabulary),
      numbers_(numbers_on_device(backend, vocabulary)) {}

Tensor TokenSampler::sample(const Tensor& logits, const SamplingOptions& options,
                            std::uint64_t draw) const {
  require_valid(options);
  if (logits.dtype() != DType::f32 || logits.layout().rank() != 1 ||
      logits.dims()[0] != vocabulary_) {
    throw Error(ErrorCode::invalid_argument, "sample",
                "logits are f32 [" + std::to_string(vocabulary_) + "]",
                "pass the logits of one token");
  }
  const Tensor packed =
      logits.layout().is_contiguous() ? logits : ops::affine(backend_, logits, 1, 0);
  const Choice choice(backend_, numbers_, packed);
  if (options.temperature > 0) return choice.sample(options, draw);
  const Tensor id = ops::argmax(backend_, packed, {0});
  return choice.or_none(id.with_layout(Layout{1, 1}),
                        ops::max(backend_, packed, {0}).with_layout(Layout{1, 1}));
}

}  // namespace hiptool
