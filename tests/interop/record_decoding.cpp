// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"
#include "interop/recorder.hpp"
#include "kernel_store/quantised_types.hpp"
#include "model/element_types.hpp"
#include "ops/quantised.hpp"
#include "ops/token_attention.hpp"

namespace hiptool::test {
namespace {

Tensor token_numbers(Recorder& recorder, const Dims& dims) {
  return recorder.tensor(DType::f32, dims, "packed", Data::numbers);
}

/// Of a thread's one, four and eight pieces of a row, with a rest and without; also in place.
void record_single_rows(Recorder& recorder) {
  for (const std::uint64_t width : {516u, 1024u, 1028u, 4096u, 4100u, 8192u}) {
    for (const bool is_in_place : {false, true}) {
      recorder.begin(
          "rmsnorm of one row of " + std::to_string(width) + (is_in_place ? " in place" : ""),
          DType::f32, "packed");
      Tensor x = token_numbers(recorder, {1, width});
      const Tensor weight = token_numbers(recorder, {width});
      Tensor out = is_in_place ? x : recorder.empty(DType::f32, {1, width}, "packed");
      ops::rmsnorm_into(recorder.backend(), out, x, weight, 1e-5);
      recorder.backend().synchronize();
    }
  }
}

/// A token whose largest product with the matrix is from 4 to 8: gates of larger numbers are alike.
Tensor token_for_gate(Recorder& recorder, const ops::QuantisedTensor& gates) {
  const Backend& backend = recorder.backend();
  const Tensor x = token_numbers(recorder, {1, gates.columns()});
  float largest = 0;
  for (const float product :
       ops::quantised_matmul(backend, gates, x).to_host<float>(backend.stream())) {
    if (std::isfinite(product)) largest = std::max(largest, std::abs(product));
  }
  if (largest == 0) return x;
  std::vector<float> numbers = x.to_host<float>(backend.stream());
  for (float& number : numbers) number = std::ldexp(number, 2 - std::ilogb(largest));
  return Tensor::from_host<float>({backend.allocator(), backend.stream()}, numbers,
                                  {1, gates.columns()});
}

/// A gate behind the products with two matrices, which have that many rows each.
void record_gated(Recorder& recorder, const std::string& name, const ops::QuantisedTensor& gates,
                  const ops::QuantisedTensor& values) {
  for (const ops::Gate kind : {ops::Gate::silu, ops::Gate::gelu}) {
    recorder.begin("gated_quantised_matmul " + name + (kind == ops::Gate::silu ? " silu" : " gelu"),
                   DType::f32, "packed");
    const Dims dims{1, gates.rows()};
    const Tensor x = token_for_gate(recorder, gates);
    Tensor out = recorder.empty(DType::f32, dims, "packed");
    Tensor scratch = recorder.empty(DType::f32, dims, "packed");
    ops::gated_quantised_matmul_into(recorder.backend(), out, kind, gates, values, x, scratch);
    recorder.backend().synchronize();
  }
}

/// Products of one token with matrices of several tiles, whose threads take several pieces of a
/// row: two of them, with a sum and with a gate.
void record_wide(Recorder& recorder, const std::string& name, const ops::QuantisedTensor& first,
                 const ops::QuantisedTensor& second) {
  const Backend& backend = recorder.backend();
  const Tensor x = token_numbers(recorder, {1, first.columns()});
  recorder.begin("quantised_matmuls wide " + name, DType::f32, "packed");
  Tensor one = recorder.empty(DType::f32, {1, first.rows()}, "packed");
  Tensor two = recorder.empty(DType::f32, {1, second.rows()}, "packed");
  const std::array products{ops::WeightsProduct{&first, &one}, ops::WeightsProduct{&second, &two}};
  ops::quantised_matmuls_into(backend, products, x);
  recorder.begin("add_quantised_matmul wide " + name, DType::f32, "packed");
  Tensor sum = token_numbers(recorder, {1, first.rows()});
  ops::add_quantised_matmul_into(backend, sum, first, x,
                                 for_call(recorder.empty(DType::f32, {1, first.rows()}, "packed")));
  record_gated(recorder, "wide " + name, first, second);
}

void record_products_of_a_token(Recorder& recorder) {
  constexpr std::uint64_t rows = 11;
  constexpr std::uint64_t narrow_rows = 3;
  constexpr std::uint64_t columns = 3328;
  constexpr std::uint64_t narrow_columns = 256;
  constexpr std::uint64_t below = 0x7C;  // the upper byte of a half that is a number
  for (const auto& type : kernel_store::quantised_types) {
    const std::string name(type.name);
    const ElementType element(model::find_gguf_type(type.id)->entry);
    recorder.begin("weights of a token " + name, DType::u8, "packed");
    const auto narrow = [&] {
      const std::uint64_t row_bytes = narrow_columns / type.values * type.bytes;
      const Tensor blocks = recorder.tensor(DType::u8, {narrow_rows * row_bytes}, "packed");
      return ops::QuantisedTensor(blocks.buffer(), element, narrow_rows, narrow_columns);
    };
    const ops::QuantisedTensor gates = narrow();
    record_gated(recorder, name, gates, narrow());
    const auto wide = [&] {
      const std::uint64_t row_bytes = columns / type.values * type.bytes;
      const Tensor blocks = recorder.ids(DType::u8, {rows * row_bytes}, "packed", below);
      return ops::QuantisedTensor(blocks.buffer(), element, rows, columns);
    };
    const ops::QuantisedTensor first = wide();
    record_wide(recorder, name, first, wide());
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    recorder.begin("weights of a token", dtype, "packed");
    const auto table = [&] {
      return ops::QuantisedTensor(recorder.tensor(dtype, {rows, columns}, "packed", Data::numbers));
    };
    const ops::QuantisedTensor first = table();
    record_wide(recorder, std::string(to_string(dtype)), first, table());
  }
}

/// A token behind others, and what happens to the rows of its heads.
struct TokenCase {
  std::uint64_t position = 0;
  std::uint64_t heads = 1;
  std::uint64_t cache_heads = 1;
  std::uint64_t key_size = 16;
  std::uint64_t value_size = 16;
  std::uint64_t pairs = 0;
  RopePairs kind = RopePairs::halves;
  bool has_norms = false;
  bool has_sinks = false;
  std::optional<std::uint64_t> window = std::nullopt;
  double softcap = 0;
};

void record_token(Recorder& recorder, const TokenCase& token) {
  const Backend& backend = recorder.backend();
  recorder.begin("attend_token at " + std::to_string(token.position) + " of " +
                     std::to_string(token.key_size) + (token.has_norms ? " norms" : "") +
                     (token.has_sinks ? " sinks" : "") + (token.window ? " window" : ""),
                 DType::f32, "packed");
  const std::uint64_t capacity = token.position + 2;
  const ops::KVCache cache{
      token_numbers(recorder, {capacity, token.cache_heads, token.key_size}),
      token_numbers(recorder, {capacity, token.cache_heads, token.value_size})};
  const ops::TokenHeads heads{token_numbers(recorder, {1, token.heads, token.key_size}),
                              token_numbers(recorder, {1, token.cache_heads, token.key_size}),
                              token_numbers(recorder, {1, token.cache_heads, token.value_size})};
  const Tensor query_norm = token_numbers(recorder, {token.key_size});
  const Tensor key_norm = token_numbers(recorder, {token.key_size});
  std::optional<ops::RopeTables> tables;
  if (token.pairs > 0) {
    tables = ops::RopeTables{token_numbers(recorder, {token.position + 1, token.pairs}),
                             token_numbers(recorder, {token.position + 1, token.pairs})};
  }
  ops::HeadSteps steps;
  if (token.has_norms) {
    steps.query_norm = &query_norm;
    steps.key_norm = &key_norm;
    steps.norm_epsilon = 1e-6;
  }
  if (tables) steps.tables = &*tables;
  steps.pairs = token.kind;
  ops::AttentionOptions options;
  options.first_position = token.position;
  options.scale = 0.03125;
  options.window = token.window;
  options.softcap = token.softcap;
  if (token.has_sinks) options.sinks = token_numbers(recorder, {token.heads});
  Tensor out = recorder.empty(DType::f32, {1, token.heads, token.value_size}, "packed");
  if (!ops::attend_token_into(backend, out, heads, cache, steps, options)) {
    throw std::logic_error("attention of a token was not one launch");
  }
  backend.synchronize();
}

}  // namespace

void record_all_decoding(Recorder& recorder) {
  record_single_rows(recorder);
  record_products_of_a_token(recorder);
  constexpr auto near = RopePairs::neighbours;
  constexpr auto apart = RopePairs::halves;
  for (const TokenCase& token :
       std::vector<TokenCase>{{0, 1, 1, 16, 16},
                              {3, 6, 2, 24, 24, 12, near},
                              {70, 4, 1, 128, 128, 64, apart},
                              {255, 2, 2, 64, 64, 32, apart, true},
                              {256, 3, 3, 80, 48, 20, near, true, true},
                              {9, 4, 2, 256, 256, 128, apart, true, false, 5, 2},
                              {300, 2, 1, 17, 9, 8, near, true, true, 270}}) {
    record_token(recorder, token);
  }
}

}  // namespace hiptool::test
