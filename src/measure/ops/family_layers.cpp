// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>

#include "hiptool/ops_model.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/attention.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

/// The shape as [tokens, heads, size], with dimensions of 1 in front; nothing for others.
std::optional<Dims> head_dims(std::span<const std::uint64_t> dims) {
  constexpr std::uint64_t longest_head = 256;
  if (dims.size() > 3) return std::nullopt;
  Dims heads(3 - dims.size(), 1);
  heads.insert(heads.end(), dims.begin(), dims.end());
  const bool fits = heads[1] > 0 && heads[2] > 0 && heads[2] <= longest_head;
  return fits ? std::make_optional(heads) : std::nullopt;
}

/// Causal from the first position on; two heads share keys and values where they are even.
std::vector<OperationCase> attention_cases(DType dtype, std::span<const std::uint64_t> dims,
                                           InputMaker& maker) {
  std::vector<OperationCase> cases;
  const std::optional<Dims> heads = head_dims(dims);
  if (!heads) return cases;
  Dims cached = *heads;
  if (cached[1] % 2 == 0) cached[1] /= 2;
  const InputData query = maker.moderate_numbers(dtype, *heads);
  const InputData keys = maker.moderate_numbers(dtype, cached);
  const InputData values = maker.moderate_numbers(dtype, cached);
  const auto add = [&](const std::string& variant, std::uint64_t window, double softcap) {
    OperationCase made;
    made.variant = variant;
    made.inputs = {query, keys, values};
    made.result_dtype = dtype;
    made.result_dims = *heads;
    constexpr double scale = 0.125;
    made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      ops::AttentionOptions options;
      if (window > 0) options.window = window;
      options.scale = scale;
      options.softcap = softcap;
      ops::attention_into(backend, out, in[0], {in[1], in[2]}, options);
    };
    made.reference = [=](std::span<const Values> in) -> Expected {
      return reference::attention(in[0], in[1], in[2], {0, window, scale, softcap});
    };
    cases.push_back(std::move(made));
  };
  add("", 0, 0);
  add("window 3", 3, 0);
  add("softcap 30", 0, 30);
  return cases;
}

}  // namespace

void add_layer_operations(std::vector<OperationEntry>& list) {
  OperationEntry entry{
      "attention", "layers", "causal attention of grouped heads in f32", {DType::f32}, 4};
  entry.is_elementwise = false;
  entry.is_exact = false;
  entry.needs_contiguous = true;
  entry.repeats = Repeats::never;
  entry.cases = attention_cases;
  entry.rank = 3;
  entry.dims_of_size = [](std::uint64_t size_bytes, DType dtype) -> Dims {
    constexpr std::uint64_t most_tokens = 64;  // the reference takes its time
    constexpr std::uint64_t heads = 8;
    constexpr std::uint64_t size = 64;
    const std::uint64_t of_token = heads * size * element_size_bytes(dtype);
    return {std::clamp<std::uint64_t>(size_bytes / of_token, 1, most_tokens), heads, size};
  };
  list.push_back(std::move(entry));
}

}  // namespace hiptool::measure
