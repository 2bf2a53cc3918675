// SPDX-License-Identifier: MIT
#include "runtime/decoder_rope.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_places.hpp"

namespace hiptool::runtime {
namespace {

std::vector<double> rope_divisors(std::span<const Backend> backends, const RopeSpec& rope,
                                  std::uint64_t context_tokens, const FindWeight& find) {
  const bool is_long =
      rope.scaling == RopeScaling::longrope && context_tokens > rope.original_context;
  const std::string& tensor = is_long ? rope.long_divisors_tensor : rope.divisors_tensor;
  if (tensor.empty()) return is_long ? rope.long_divisors : rope.divisors;
  const Backend& backend = backends[place_of(backends, find, tensor)];
  const std::vector<float> divisors =
      find_vector(backend, find, tensor, rope.dimensions / 2).to_host<float>(backend.stream());
  return {divisors.begin(), divisors.end()};
}

ops::RopeOptions rope_options(const RopeSpec& rope, std::vector<double> divisors) {
  ops::RopeOptions options;
  options.rotary = rope.dimensions;
  options.base = rope.base;
  options.factors = std::move(divisors);
  const auto original = static_cast<double>(rope.original_context);
  switch (rope.scaling) {
    case RopeScaling::none:
    case RopeScaling::longrope:
    case RopeScaling::dynamic: break;
    case RopeScaling::linear: options.linear_factor = rope.factor; break;
    case RopeScaling::yarn:
      options.yarn = {rope.factor, original, rope.beta_fast, rope.beta_slow, rope.truncates};
      break;
    case RopeScaling::llama3:
      options.llama3 = {rope.factor, rope.low_frequency_factor, rope.high_frequency_factor,
                        original};
      break;
  }
  return options;
}

}  // namespace

void require_rope(const RopeSpec& rope, std::uint64_t context_tokens) {
  if (rope.scaling != RopeScaling::dynamic || context_tokens <= rope.original_context) return;
  throw Error(ErrorCode::unsupported, "make runtime",
              "a context of " + base::plain_count_of(context_tokens, "token") + ": beyond " +
                  std::to_string(rope.original_context) +
                  " the model's dynamic rope scaling changes with each token",
              "use a shorter prompt, and fewer tokens after it");
}

std::vector<double> decoder_frequencies(std::span<const Backend> backends, const RopeSpec& rope,
                                        std::uint64_t context_tokens, const FindWeight& find) {
  return ops::rope_frequencies(
      rope_options(rope, rope_divisors(backends, rope, context_tokens, find)));
}

double query_factor(const DecoderSpec& spec, std::uint64_t position) {
  if (spec.temperature_scale == 0) return 1;
  const auto whole = static_cast<double>(position / spec.temperature_tokens);
  return 1 + spec.temperature_scale * std::log1p(whole);
}

ops::RopeTables decoder_rope_tables(const Backend& backend, const RopeSpec& rope,
                                    const std::vector<double>& frequencies,
                                    std::uint64_t context_tokens) {
  const Tensor on_device =
      Tensor::from_host({backend.allocator(), backend.stream()}, frequencies, {frequencies.size()});
  return ops::rope_tables(backend, on_device, 0, context_tokens, rope.attention_factor);
}

}  // namespace hiptool::runtime
