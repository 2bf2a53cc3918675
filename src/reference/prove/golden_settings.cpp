// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/xxh3.hpp"
#include "reference/prove/golden.hpp"

namespace hiptool::reference {
namespace {

/// 0 where the tokens before scaling change nothing: files without scaling have the context that
/// the model was trained for there.
std::uint64_t original_context_of(const RopeSpec& rope) {
  const bool is_used = rope.scaling == RopeScaling::yarn || rope.scaling == RopeScaling::llama3 ||
                       rope.scaling == RopeScaling::longrope;
  return is_used ? rope.original_context : 0;
}

/// Numbers that no kind of scaling but one reads are as in a description without them.
RopeSpec used_numbers(RopeSpec rope) {
  const RopeSpec unused;
  if (rope.scaling != RopeScaling::yarn) {
    rope.beta_fast = unused.beta_fast;
    rope.beta_slow = unused.beta_slow;
    rope.truncates = unused.truncates;
  }
  if (rope.scaling != RopeScaling::llama3) {
    rope.low_frequency_factor = unused.low_frequency_factor;
    rope.high_frequency_factor = unused.high_frequency_factor;
  }
  const bool has_factor = rope.scaling == RopeScaling::linear ||
                          rope.scaling == RopeScaling::yarn || rope.scaling == RopeScaling::llama3;
  if (!has_factor) rope.factor = unused.factor;
  return rope;
}

/// Numbers and names as bytes, each with its length or in eight bytes, so that no two descriptions
/// give the same.
class Description {
 public:
  void add(double number) { append(&number, sizeof number); }
  void add(std::uint64_t number) { append(&number, sizeof number); }
  void add(bool flag) { add(std::uint64_t{flag}); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    append(text.data(), text.size());
  }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const std::vector<double>& numbers) {
    add(std::uint64_t{numbers.size()});
    for (const double number : numbers) add(number);
  }
  void add(const MatrixSpec& matrix) {
    add(matrix.weight);
    add(matrix.bias);
    add(matrix.rows);
    add(matrix.columns);
    if (!matrix.scales.empty()) add_blocks(matrix.scales, matrix.block_rows, matrix.block_columns);
  }
  void add_blocks(std::string_view scales, std::uint64_t rows, std::uint64_t columns) {
    add(scales);
    add(rows);
    add(columns);
  }
  void add(const RopeSpec& rope, std::uint64_t original_context) {
    add(static_cast<std::uint64_t>(rope.pairs));
    add(rope.dimensions);
    add(rope.base);
    add(to_string(rope.scaling));
    for (const double number : {rope.factor, rope.attention_factor, rope.beta_fast, rope.beta_slow,
                                rope.low_frequency_factor, rope.high_frequency_factor}) {
      add(number);
    }
    add(original_context);
    add(rope.truncates);
    add(rope.divisors_tensor);
    add(rope.long_divisors_tensor);
    add(rope.divisors);
    add(rope.long_divisors);
  }
  void add(const DecoderLayer& layer) {
    for (const std::uint64_t number :
         {layer.heads, layer.kv_heads, layer.window, layer.feed_forward}) {
      add(number);
    }
    for (const std::string* name :
         {&layer.attention_norm, &layer.q_norm, &layer.k_norm, &layer.feed_forward_norm}) {
      add(*name);
    }
    for (const MatrixSpec* matrix : {&layer.q, &layer.k, &layer.v, &layer.attention_output,
                                     &layer.gate, &layer.up, &layer.down}) {
      add(*matrix);
    }
    if (layer.has_experts()) add(layer.experts);
    for (const std::string* name : {&layer.attention_post_norm, &layer.feed_forward_post_norm}) {
      if (!name->empty()) add(*name);
    }
    if (layer.has_local_rope) add(layer.has_local_rope);
    if (!layer.sinks.empty()) add(layer.sinks);
    if (layer.has_latent()) add(layer.latent);
    if (layer.has_delta()) add(layer.delta);
    if (layer.has_output_gate) add(std::string_view("output gate"));
    if (!layer.has_rope) add(layer.has_rope);
    for (const MatrixSpec* matrix : {&layer.k, &layer.v, &layer.up}) {
      if (matrix->tensor_rows > 0) add(matrix->first_row);
    }
  }
  void add(const LatentSpec& latent) {
    add(latent.length);
    add(latent.query_length);
    add(latent.norm);
    add(latent.query_norm);
    add(latent.norm_epsilon);
    for (const MatrixSpec* matrix :
         {&latent.down, &latent.up, &latent.k_up, &latent.v_up, &latent.query_down}) {
      add(*matrix);
    }
  }
  void add(const DeltaSpec& delta) {
    for (const std::uint64_t number :
         {delta.key_heads, delta.value_heads, delta.key_length, delta.value_length, delta.taps}) {
      add(number);
    }
    for (const MatrixSpec* matrix : {&delta.mixed, &delta.z, &delta.scores, &delta.steps}) {
      add(*matrix);
    }
    add(delta.is_tiled);
    add(delta.has_rates);
    for (const std::string* name :
         {&delta.convolution, &delta.decay_log, &delta.step_bias, &delta.norm}) {
      add(*name);
    }
  }
  void add(const ExpertsSpec& experts) {
    add(experts.count);
    add(experts.used);
    add(experts.is_normalised);
    add(experts.router);
    for (const ExpertMatrices* matrices : {&experts.gate, &experts.up, &experts.down}) {
      for (const std::string& name : matrices->weights) add(name);
      add(matrices->bias);
      if (!matrices->scales.empty()) add(matrices->scales);
      add(matrices->rows);
      add(matrices->columns);
      if (matrices->tensor_rows > 0) add(matrices->first_row);
      for (const std::string& name : matrices->block_scales) {
        add_blocks(name, matrices->block_rows, matrices->block_columns);
      }
    }
    if (experts.has_shares()) {
      add(std::uint64_t{experts.share == ExpertShare::sigmoid});
      add(experts.choice_bias);
      for (const std::uint64_t number : {experts.groups, experts.groups_used, experts.group_best}) {
        add(number);
      }
      add(experts.scale);
    }
    if (!experts.has_shared()) return;
    for (const MatrixSpec* matrix :
         {&experts.shared_gate, &experts.shared_up, &experts.shared_down}) {
      add(*matrix);
    }
    if (!experts.shared_score.weight.empty()) add(experts.shared_score);
  }
  std::uint64_t digest() const { return base::xxh3_64(bytes_.data(), bytes_.size()); }

 private:
  void append(const void* data, std::size_t size_bytes) {
    bytes_.append(static_cast<const char*>(data), size_bytes);
  }
  std::string bytes_;
};

std::string text_of(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

/// Names and values of what a description computes with, for people; tensors are in its digest
/// only.
std::map<std::string, std::string> settings_of(const DecoderSpec& spec) {
  std::map<std::string, std::string> all{
      {"architecture", spec.architecture},
      {"norm epsilon", text_of(spec.norm_epsilon)},
      {"attention scale", text_of(spec.attention_scale)},
      {"rope scaling", std::string(to_string(spec.rope.scaling))},
      {"rope base", text_of(spec.rope.base)},
      {"rope factor", text_of(used_numbers(spec.rope).factor)},
      {"rope attention factor", text_of(spec.rope.attention_factor)}};
  for (const auto& [name, number] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"layers", spec.layers.size()},
           {"embedding length", spec.embedding},
           {"vocabulary", spec.vocabulary},
           {"key length", spec.key_length},
           {"value length", spec.value_length},
           {"rope dimensions", spec.rope.dimensions},
           {"original context", original_context_of(spec.rope)}}) {
    all[name] = std::to_string(number);
  }
  constexpr std::size_t longest_list = 1000;  // the digest has the rest
  const auto add_list = [&](const char* name, std::uint64_t DecoderLayer::*member) {
    std::string list;
    const bool is_uniform = std::ranges::all_of(spec.layers, [&](const DecoderLayer& layer) {
      return layer.*member == spec.layers.front().*member;
    });
    for (const DecoderLayer& layer : spec.layers) {
      list += (list.empty() ? "" : ",") + std::to_string(layer.*member);
      if (is_uniform || list.size() > longest_list) break;
    }
    all[name] = list;
  };
  add_list("heads", &DecoderLayer::heads);
  add_list("kv heads", &DecoderLayer::kv_heads);
  add_list("window", &DecoderLayer::window);
  add_list("feed forward length", &DecoderLayer::feed_forward);
  if (std::ranges::any_of(spec.layers, &DecoderLayer::has_local_rope)) {
    all["local rope base"] = text_of(spec.local_rope.base);
  }
  if (spec.norm_offset != 0) all["norm offset"] = text_of(spec.norm_offset);
  if (spec.embedding_scale != 1) all["embedding scale"] = text_of(spec.embedding_scale);
  if (spec.residual_scale != 1) all["residual scale"] = text_of(spec.residual_scale);
  if (spec.logit_scale != 1) all["logit scale"] = text_of(spec.logit_scale);
  if (spec.attention_softcap != 0) all["attention softcap"] = text_of(spec.attention_softcap);
  if (spec.logit_softcap != 0) all["logit softcap"] = text_of(spec.logit_softcap);
  if (spec.temperature_scale != 0) all["temperature scale"] = text_of(spec.temperature_scale);
  if (!spec.layers.empty() && !spec.layers.back().attention_output.scales.empty()) {
    const MatrixSpec& matrix = spec.layers.back().attention_output;
    all["scale blocks"] =
        std::to_string(matrix.block_rows) + "x" + std::to_string(matrix.block_columns);
  }
  if (!spec.layers.empty() && spec.layers.back().has_latent()) {
    const LatentSpec& latent = spec.layers.back().latent;
    all["latent length"] = std::to_string(latent.length);
    all["latent norm epsilon"] = text_of(latent.norm_epsilon);
    all["query latent length"] = std::to_string(latent.query_length);
  }
  const auto with_state = std::ranges::find_if(spec.layers, &DecoderLayer::has_delta);
  if (with_state != spec.layers.end()) {
    const DeltaSpec& delta = with_state->delta;
    all["state key heads"] = std::to_string(delta.key_heads);
    all["state value heads"] = std::to_string(delta.value_heads);
    all["state key length"] = std::to_string(delta.key_length);
    all["state value length"] = std::to_string(delta.value_length);
    all["convolution taps"] = std::to_string(delta.taps);
  }
  if (!spec.layers.empty() && spec.layers.back().has_experts()) {
    const ExpertsSpec& experts = spec.layers.back().experts;
    all["experts"] = std::to_string(experts.count);
    all["experts used"] = std::to_string(experts.used);
    all["experts normalised"] = experts.is_normalised ? "yes" : "no";
    if (experts.has_shares()) {
      all["expert shares"] = experts.share == ExpertShare::sigmoid ? "sigmoid" : "softmax";
      all["expert groups"] = std::to_string(experts.groups);
      all["expert groups used"] = std::to_string(experts.groups_used);
      all["expert scale"] = text_of(experts.scale);
    }
    if (experts.has_shared()) {
      all["shared feed forward length"] = std::to_string(experts.shared_feed_forward);
    }
  }
  return all;
}

}  // namespace

std::string golden_settings(const DecoderSpec& spec) {
  std::string text;
  for (const auto& [name, value] : settings_of(spec)) {
    text += (text.empty() ? "" : ";") + name + "=" + value;
  }
  return text;
}

std::string different_setting(std::string_view text, const DecoderSpec& spec) {
  constexpr std::size_t longest = 60;
  const auto shortened = [](std::string_view value) {
    return std::string(value.substr(0, longest)) + (value.size() > longest ? "..." : "");
  };
  std::map<std::string, std::string, std::less<>> known;
  for (const auto& [name, value] : settings_of(spec)) known[name] = value;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t sign = one.find('=');
    if (sign == one.npos) continue;
    const auto found = known.find(one.substr(0, sign));
    if (found == known.end() || found->second == one.substr(sign + 1)) continue;
    return found->first + " " + shortened(one.substr(sign + 1)) + ", where this model has " +
           shortened(found->second);
  }
  return {};
}

namespace {

std::uint64_t numbers_digest_with(const DecoderSpec& spec, const RopeSpec& rope,
                                  std::uint64_t original_context) {
  Description all;
  all.add(spec.architecture);
  for (const std::uint64_t number :
       {spec.embedding, spec.vocabulary, spec.key_length, spec.value_length}) {
    all.add(number);
  }
  all.add(spec.norm_epsilon);
  all.add(spec.attention_scale);
  all.add(static_cast<std::uint64_t>(spec.gate));
  all.add(rope, original_context);
  all.add(spec.embedding_tensor);
  all.add(spec.output_norm);
  all.add(spec.output);
  for (const DecoderLayer& layer : spec.layers) all.add(layer);
  // What the first architectures lack has no part in their goldens.
  if (spec.norm_offset != 0) all.add(spec.norm_offset);
  if (spec.embedding_scale != 1) all.add(spec.embedding_scale);
  for (const auto& [name, number, usual] :
       {std::tuple{"residual", spec.residual_scale, 1.0},
        std::tuple{"logits", spec.logit_scale, 1.0},
        std::tuple{"attention cap", spec.attention_softcap, 0.0},
        std::tuple{"logits cap", spec.logit_softcap, 0.0}}) {
    if (number == usual) continue;
    all.add(std::string_view(name));
    all.add(number);
  }
  if (spec.has_row_norms) all.add(spec.has_row_norms);
  if (spec.is_parallel) all.add(std::string_view("parallel"));
  if (spec.has_layer_norms) all.add(std::string_view("layer norms"));
  if (spec.temperature_scale != 0) {
    all.add(spec.temperature_scale);
    all.add(spec.temperature_tokens);
  }
  if (spec.gate == GateKind::clamped_silu) {
    all.add(spec.gate_limit);
    all.add(spec.gate_slope);
  }
  if (std::ranges::any_of(spec.layers, &DecoderLayer::has_local_rope)) {
    all.add(spec.local_rope, original_context_of(spec.local_rope));
  }
  return all.digest();
}

}  // namespace

std::uint64_t numbers_digest(const DecoderSpec& spec) {
  return numbers_digest_with(spec, used_numbers(spec.rope), original_context_of(spec.rope));
}

std::uint64_t first_numbers_digest(const DecoderSpec& spec) {
  return numbers_digest_with(spec, spec.rope, spec.rope.original_context);
}

}  // namespace hiptool::reference
