// SPDX-License-Identifier: MIT
// Mixtures of experts: right ones, faults in what only they have, and ties of the router.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "reference/prove/golden.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

std::string where_wrong(const reference::ProveResult& result) {
  if (!result.first_wrong) return result.is_right() ? "" : "logits";
  const reference::WrongValue& wrong = *result.first_wrong;
  CHECK(wrong.repeats == true);
  std::size_t layers = 0;
  for (const reference::LayerResult& layer : result.layers) layers += layer.wrong ? 1U : 0U;
  CHECK(layers == 1);
  return std::to_string(wrong.layer.value_or(99)) + " " + wrong.stage +
         (wrong.tensor.empty() ? "" : " " + wrong.tensor);
}

/// Changes the choice of experts of one layer on the device, token by token.
class ChosenExperts {
 public:
  using Change = std::function<void(std::span<const float> scores, std::span<std::uint32_t> ids)>;

  ChosenExperts(std::size_t layer, Change change) : layer_(layer), change_(std::move(change)) {}

  ModelRuntime::Probe probe() {
    return [this](const DecoderStage& stage) {
      if (stage.layer != layer_) return;
      if (stage.name == "router") scores_ = stage.values.to_host<float>(stage.stream);
      if (stage.name != "experts") return;
      std::vector<std::uint32_t> ids = stage.values.to_host<std::uint32_t>(stage.stream);
      const std::size_t tokens = static_cast<std::size_t>(stage.values.dims()[0]);
      const std::size_t count = scores_.size() / tokens;
      const std::size_t used = ids.size() / tokens;
      for (std::size_t token = 0; token < tokens; ++token) {
        change_(std::span(scores_).subspan(token * count, count),
                std::span(ids).subspan(token * used, used));
      }
      Tensor same = stage.values;
      same.copy_from_host(std::span<const std::uint32_t>(ids), stage.stream);
    };
  }

 private:
  std::optional<std::size_t> layer_;
  Change change_;
  std::vector<float> scores_;
};

reference::ProveResult with_choice(const ProvedSample& sample, std::size_t layer,
                                   ChosenExperts::Change change) {
  ChosenExperts chosen(layer, std::move(change));
  reference::ProveOptions options;
  options.alter = chosen.probe();
  return sample.prove(sample.spec, options);
}

/// The ranks 1 to `used` in place of 0 to used - 1.
void choose_one_further(std::span<const float> scores, std::span<std::uint32_t> ids) {
  std::vector<std::uint32_t> order(scores.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  std::copy_n(order.begin() + 1, ids.size(), ids.begin());
}

constexpr std::uint32_t first_twin = 2;
constexpr std::uint32_t second_twin = 5;

/// In the file, expert 5 of each router gets the weights of expert 2, but for the lowest bit of one
/// of them where they are not the same.
void make_twins(const ModelFile& model, bool are_same) {
  std::fstream file(model.path(), std::ios::in | std::ios::out | std::ios::binary);
  for (const DecoderLayer& layer : DecoderSpec::read(model).layers) {
    const MatrixSpec& router = layer.experts.router;
    const auto row_bytes = static_cast<std::streamoff>(router.columns * sizeof(float));
    const auto begin = static_cast<std::streamoff>(model.find(router.weight)->file_offset);
    std::vector<char> row(static_cast<std::size_t>(row_bytes));
    file.seekg(begin + first_twin * row_bytes);
    file.read(row.data(), row_bytes);
    if (!are_same) row[0] = static_cast<char>(row[0] ^ 1);
    file.seekp(begin + second_twin * row_bytes);
    file.write(row.data(), row_bytes);
  }
  CHECK(file.good());
}

/// The other of the two where one of them is chosen; counts such choices.
ChosenExperts::Change other_twin(std::size_t& changed) {
  return [&changed](std::span<const float>, std::span<std::uint32_t> ids) {
    const auto has = [&](std::uint32_t id) { return std::ranges::find(ids, id) != ids.end(); };
    if (has(first_twin) == has(second_twin)) return;
    ++changed;
    for (std::uint32_t& id : ids) {
      if (id == first_twin || id == second_twin) id = first_twin + second_twin - id;
    }
  };
}

/// A golden of a model with twins; devices are compared with it in chunks of 3 tokens.
struct TwinGolden {
  static constexpr std::uint32_t token_count = 7;

  ProvedSample sample;
  reference::ReferenceDecoder reference{
      sample.model, sample.spec, {.sequence_tokens = token_count}};
  reference::Golden golden = reference::make_golden(reference, prompt_ids(token_count));

  explicit TwinGolden(bool are_same)
      : sample(ModelFormat::gguf, {"qwen3moe"}, {"F32"}, 1,
               [&](const ModelFile& model) { make_twins(model, are_same); }) {}

  reference::ProveResult check(ModelRuntime::Probe alter = {}) {
    ModelRuntime::Options sizes;
    sizes.context_tokens = token_count;
    sizes.chunk_tokens = 3;
    ModelRuntime runtime(sample.backend, sample.model, sample.weights, sample.spec, sizes);
    reference::ProveOptions options;
    options.alter = std::move(alter);
    return reference::check_golden(runtime, reference, golden, options);
  }
  reference::ProveResult check(std::size_t layer, ChosenExperts::Change change) {
    ChosenExperts chosen(layer, std::move(change));
    return check(chosen.probe());
  }
};

}  // namespace

TEST_CASE("experts: a right computation, whatever the file and the chunks") {
  for (const auto& [format, types] :
       {std::pair{ModelFormat::gguf, std::vector<std::string>{"Q4_0", "F32", "Q8_0"}},
        std::pair{ModelFormat::safetensors, std::vector<std::string>{"BF16", "F32", "F16"}}}) {
    const ProvedSample sample(format, {"qwen3moe", RopeScaling::none, 5, false}, types);
    const reference::ProveResult whole = sample.prove(sample.spec, {}, 11);
    CHECK(where_wrong(whole) == "");
    CHECK(whole.router_ties == 0);
    REQUIRE(whole.logits.has_value());
    CHECK(whole.logits->max_error < 0.1 * whole.logits->bound);
    for (const reference::LayerResult& layer : whole.layers) {
      CHECK(layer.max_error > 0);
      CHECK(layer.max_error < 0.7 * layer.bound);
    }
    const reference::ProveResult in_chunks = sample.prove(sample.spec, {}, 11, 4);
    CHECK(where_wrong(in_chunks) == "");
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(in_chunks.layers[i].max_error == whole.layers[i].max_error);
    }
    CHECK(where_wrong(sample.prove(sample.spec, {}, 1)) == "");
  }
}

TEST_CASE("experts: choices that are none of the highest scores") {
  const ProvedSample sample(ModelFormat::gguf, {"qwen3moe"}, {"F32"});
  const std::string router = sample.spec.layers[1].experts.router.weight;
  CHECK(where_wrong(with_choice(sample, 1, choose_one_further)) == "1 experts " + router);
  const auto repeat = [](std::span<const float>, std::span<std::uint32_t> ids) { ids[1] = ids[0]; };
  CHECK(where_wrong(with_choice(sample, 2, repeat)) ==
        "2 experts " + sample.spec.layers[2].experts.router.weight);
  const auto swap = [](std::span<const float>, std::span<std::uint32_t> ids) {
    std::swap(ids[0], ids[1]);
  };
  CHECK(where_wrong(with_choice(sample, 1, swap)) == "1 expert_weights");
  DecoderSpec fault = sample.spec;
  for (DecoderLayer& layer : fault.layers) layer.experts.is_normalised = false;
  const reference::ProveResult result = sample.prove(fault);
  REQUIRE(result.first_wrong.has_value());
  CHECK(result.first_wrong->stage == "expert_weights");
  CHECK(result.first_wrong->layer == 0u);
}

TEST_CASE("experts: two of them exchanged in device memory, and a bit of one") {
  ProvedSample sample(ModelFormat::gguf, {"qwen3moe"}, {"F32"});
  const ExpertsSpec& experts = sample.spec.layers[1].experts;
  std::vector<std::uint32_t> used;
  const reference::ProveResult right =
      with_choice(sample, 1, [&](std::span<const float>, std::span<std::uint32_t> ids) {
        used.insert(used.end(), ids.begin(), ids.end());
      });
  CHECK(where_wrong(right) == "");
  const std::string& up = experts.up.weights.front();
  const std::size_t expert_bytes =
      static_cast<std::size_t>(experts.up.rows * experts.up.columns) * 4;
  const std::uint32_t one = used[0];
  const std::uint32_t other = used[1];
  sample.change(up, [&](std::span<std::byte> bytes) {
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(one * expert_bytes),
                     bytes.begin() + static_cast<std::ptrdiff_t>((one + 1) * expert_bytes),
                     bytes.begin() + static_cast<std::ptrdiff_t>(other * expert_bytes));
  });
  reference::ProveResult result = sample.prove();
  CHECK(where_wrong(result) == "1 up " + up);
  REQUIRE(result.first_wrong.has_value());
  CHECK((result.first_wrong->expert == one || result.first_wrong->expert == other));
  sample.restore(up);

  const std::string& down = experts.down.weights.front();
  const std::size_t row_bytes = static_cast<std::size_t>(experts.down.columns) * 4;
  const std::size_t at = (one * static_cast<std::size_t>(experts.down.rows) + 17) * row_bytes + 22;
  sample.change(down, [&](std::span<std::byte> bytes) { bytes[at] ^= std::byte{0x20}; });
  result = sample.prove();
  CHECK(where_wrong(result) == "1 expert_down " + down);
  REQUIRE(result.first_wrong.has_value());
  CHECK(result.first_wrong->expert == one);
  CHECK(result.first_wrong->row % experts.down.rows == 17);
  sample.restore(down);
}

TEST_CASE("experts: each has tensors of its own in a Hugging Face folder") {
  ProvedSample sample(ModelFormat::safetensors, {"qwen3moe", RopeScaling::none, 0, true}, {"F32"});
  const ExpertsSpec& experts = sample.spec.layers[2].experts;
  REQUIRE(experts.gate.weights.size() == 7);
  std::vector<bool> is_used(7);
  const reference::ProveResult right =
      with_choice(sample, 2, [&](std::span<const float>, std::span<std::uint32_t> ids) {
        for (const std::uint32_t id : ids) is_used[id] = true;
      });
  CHECK(where_wrong(right) == "");
  std::size_t wrong = 0;
  for (std::uint32_t expert = 0; expert < 7; ++expert) {
    CAPTURE(expert);
    const std::string& gate = experts.gate.weights[expert];
    sample.change(gate, [](std::span<std::byte> bytes) { bytes[40 * 4 + 2] ^= std::byte{0x20}; });
    const reference::ProveResult result = sample.prove();
    CHECK(where_wrong(result) == (is_used[expert] ? "2 gate " + gate : ""));
    if (is_used[expert] && result.first_wrong) CHECK(result.first_wrong->expert == expert);
    wrong += result.is_right() ? 0U : 1U;
    sample.restore(gate);
  }
  CHECK(wrong >= 3);
}

TEST_CASE("experts: ties of a router, where either choice is right") {
  for (const bool are_same : {true, false}) {
    CAPTURE(are_same);
    const ProvedSample sample(ModelFormat::gguf, {"qwen3moe"}, {"F32"}, 1,
                              [&](const ModelFile& model) { make_twins(model, are_same); });
    const reference::ProveResult right = sample.prove();
    CHECK(where_wrong(right) == "");
    CHECK(right.router_ties > 0);
    // The other of the two, which are neighbours in the order.
    std::size_t changed = 0;
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const reference::ProveResult other = with_choice(sample, layer, other_twin(changed));
      CHECK(where_wrong(other) == "");
      CHECK(other.router_ties >= 1);
    }
    CHECK(changed > 0);
    CHECK(where_wrong(with_choice(sample, 1, choose_one_further)) ==
          "1 experts " + sample.spec.layers[1].experts.router.weight);
  }
}

TEST_CASE("experts: a golden follows the choice of a device where either is right") {
  // Rounding decides otherwise than the reference where one bit of one weight differs.
  TwinGolden near(false);
  const reference::ProveResult right = near.check();
  CHECK(where_wrong(right) == "");
  CHECK(right.layers.size() == 3);
  CHECK(right.router_ties == 1);

  TwinGolden same(true);
  CHECK(same.check().router_ties == 0);
  std::size_t followed = 0;
  for (std::size_t layer = 0; layer < 3; ++layer) {
    CAPTURE(layer);
    std::size_t changed = 0;
    const reference::ProveResult other = same.check(layer, other_twin(changed));
    CHECK(where_wrong(other) == "");
    CHECK((other.router_ties > 0) == (changed > 0));
    followed += other.router_ties;
    CHECK(where_wrong(near.check(layer, other_twin(changed))) == "");
  }
  CHECK(followed > 0);
}

TEST_CASE("experts: a golden with ties still finds what no rounding decides") {
  TwinGolden twins(false);
  const std::string router = twins.sample.spec.layers[1].experts.router.weight;
  CHECK(where_wrong(twins.check(1, choose_one_further)) == "1 experts " + router);
  const auto none = [](std::span<const float>, std::span<std::uint32_t> ids) { ids[0] = 1U << 31; };
  CHECK(where_wrong(twins.check(1, none)) == "1 experts " + router);

  // Beside the choice that rounding decides, one wrong value, which was there once.
  const auto alter = [&, count = 0](const DecoderStage& stage) mutable {
    if (stage.name != "output" || stage.layer != 2u || count++ > 0) return;
    const std::vector<float> numbers = stage.values.to_host<float>(stage.stream);
    std::vector<double> values(numbers.begin(), numbers.end());
    values[5] += 100;
    write_values(twins.sample.backend, stage.values, values);
  };
  const reference::ProveResult result = twins.check(alter);
  CHECK(result.router_ties > 0);
  REQUIRE(result.first_wrong.has_value());
  CHECK(result.first_wrong->layer == 2u);
  CHECK(result.first_wrong->stage == "output_projections");
  CHECK(result.first_wrong->position == 0);
}

TEST_CASE("experts: a golden with ties that is wrong itself is not the device's fault") {
  TwinGolden twins(false);
  twins.golden.projections[0] += twins.golden.sizes[0];
  CHECK(code_of([&] { twins.check(); }) == ErrorCode::corrupt_data);
}

TEST_CASE("experts: a right device is never accused") {
  for (std::uint64_t seed = 1; seed <= (is_sanitized ? 4 : 100); ++seed) {
    CAPTURE(seed);
    const bool is_gguf = seed % 2 == 0;
    const ProvedSample sample(is_gguf ? ModelFormat::gguf : ModelFormat::safetensors,
                              {"qwen3moe", RopeScaling::none, seed % 3, seed % 4 < 2},
                              {seed % 5 == 0 ? "F16" : "F32"}, seed);
    const reference::ProveResult result = sample.prove(sample.spec, {}, 5);
    CHECK(where_wrong(result) == "");
  }
}
