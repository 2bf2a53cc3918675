// SPDX-License-Identifier: MIT
// Values that differ through no fault of the device: it must not be called wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "reference/prove/golden.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr std::uint32_t tokens = 5;

void write_bytes(const ModelFile& model, const TensorInfo& tensor, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  std::fstream file(model.files()[tensor.file].path,
                    std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(tensor.file_offset + offset));
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

std::vector<std::byte> read_bytes(const ModelFile& model, const TensorInfo& tensor) {
  std::ifstream file(model.files()[tensor.file].path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(tensor.file_offset));
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.size_bytes));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
  return bytes;
}

/// A small model with tensors that a test changes in the file before it is loaded.
struct EditedModel {
  explicit EditedModel(std::vector<std::string> types = {"F32"})
      : model(seeded_model(folder, ModelFormat::gguf, {"llama", RopeScaling::none, 0, false},
                           std::move(types), 1)) {}

  template <class Value>
  EditedModel& set(const std::string& tensor, std::uint64_t offset, Value value) {
    write_bytes(model, *model.find(tensor), offset, std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  EditedModel& scale(const std::string& name, float factor) {
    const TensorInfo& tensor = *model.find(name);
    std::vector<std::byte> bytes = read_bytes(model, tensor);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      value *= factor;
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    write_bytes(model, tensor, 0, bytes);
    return *this;
  }

  reference::ProveResult prove(const reference::ProveOptions& options = {}) {
    const ModelFile edited = ModelFile::open(model.path());
    const DecoderSpec spec = DecoderSpec::read(edited);
    const LoadedModel loaded = load_model(edited, backend.device());
    ModelRuntime::Options sizes;
    sizes.context_tokens = tokens;
    ModelRuntime runtime(backend, loaded, spec, sizes);
    const reference::ReferenceDecoder reference(edited, spec, {.sequence_tokens = tokens});
    return reference::prove(runtime, reference, prompt_ids(tokens), options);
  }
  void make_golden() const {
    const ModelFile edited = ModelFile::open(model.path());
    reference::ReferenceDecoder reference(edited, DecoderSpec::read(edited),
                                          {.sequence_tokens = tokens});
    reference::make_golden(reference, prompt_ids(tokens));
  }

  TemporaryFolder folder;
  ModelFile model;
  Platforms platforms;
  Backend backend{device(platforms)};
};

Error refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "test", "nothing was refused");
}

/// Both refuse the model with these words, and no device is named.
void check_refused(EditedModel& edited, ErrorCode code, const std::string& part) {
  for (const std::function<void()>& work : {std::function<void()>([&] { edited.prove(); }),
                                            std::function<void()>([&] { edited.make_golden(); })}) {
    const Error error = refusal_of(work);
    CHECK(error.code() == code);
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find(part) != std::string::npos);
    CHECK(std::string(error.what()).find(edited.backend.device().id()) == std::string::npos);
    CHECK(!error.hint().empty());
  }
}

}  // namespace

TEST_CASE("whose fault: NaN and infinity in the file are named with their tensor") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::uint64_t row = prompt_ids(tokens)[2];
  for (const std::string tensor :
       {"blk.1.attn_norm.weight", "blk.0.attn_q.weight", "blk.2.ffn_down.weight",
        "output_norm.weight", "output.weight"}) {
    CAPTURE(tensor);
    for (const float value : {nan, infinity, -infinity}) {
      EditedModel edited;
      edited.set(tensor, 44, value);
      check_refused(edited, ErrorCode::corrupt_data,
                    "tensor '" + tensor + "' has " + (value == value ? "infinity" : "NaN") +
                        " at element 11");
    }
  }
  EditedModel in_prompt;
  in_prompt.set("token_embd.weight", (row * 96 + 3) * 4, nan);
  check_refused(in_prompt, ErrorCode::corrupt_data, "'token_embd.weight' has NaN");
  EditedModel elsewhere;
  elsewhere.set("token_embd.weight", (330 * 96 + 3) * 4, nan);
  CHECK(elsewhere.prove().is_right());
  EditedModel scales({"Q4_0"});  // the scale of a block
  scales.set("blk.1.ffn_up.weight", 18, std::uint16_t{0x7E00});
  check_refused(scales, ErrorCode::corrupt_data, "'blk.1.ffn_up.weight' has NaN at element 32");
}

TEST_CASE("whose fault: a file that changes during the proof") {
  EditedModel edited;
  reference::ProveOptions options;
  options.alter = [&, was_changed = false](const DecoderStage& stage) mutable {
    if (was_changed || stage.layer != 1u) return;
    was_changed = true;
    edited.set("blk.2.attn_q.weight", 44, 0.5f);
  };
  const Error error = refusal_of([&] { edited.prove(options); });
  CHECK(error.code() == ErrorCode::input_failed);
  CHECK(std::string(error.what()).find("changed while it was read") != std::string::npos);
}

TEST_CASE("whose fault: bytes that were verified on the device, and that the file does not have") {
  ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  const std::string name = "blk.1.attn_k.weight";
  // A bad read by the load: the device got these bytes, and verified them.
  std::vector<std::uint64_t> blocks;
  sample.change(name, [&](std::span<std::byte> bytes) {
    bytes[43] ^= std::byte{0x10};
    for (std::size_t at = 0; at < bytes.size(); at += 16384) {
      blocks.push_back(
          load::block_digest(bytes.subspan(at, std::min<std::size_t>(16384, bytes.size() - at))));
    }
  });
  std::vector<std::uint64_t> digests = sample.loaded.report().verification->tensor_digests;
  reference::ProveOptions options;
  options.digests = digests;
  // The verified bytes are those of the file: the device has others now.
  CHECK(sample.prove(sample.spec, options).first_wrong->tensor == name);
  const auto index =
      static_cast<std::size_t>(sample.model.find(name) - sample.model.tensors().data());
  digests[index] = load::tensor_digest(blocks);
  const Error error = refusal_of([&] { sample.prove(sample.spec, options); });
  CHECK(error.code() == ErrorCode::input_failed);
  CHECK(std::string(error.what())
            .find("'" + name +
                  "' has other bytes now than those that were "
                  "verified") != std::string::npos);
}

TEST_CASE("whose fault: activations that leave the range of f32") {
  EditedModel down;
  down.scale("blk.0.ffn_down.weight", 1e20f);
  check_refused(down, ErrorCode::input_failed,
                "activations leave the range of f32 in layer 1 (attention_norm)");
  EditedModel scores;
  scores.scale("blk.1.attn_q.weight", 1e20f).scale("blk.1.attn_k.weight", 1e20f);
  check_refused(scores, ErrorCode::input_failed, "of f32 in layer 1 (attention)");
  EditedModel gate;
  gate.scale("blk.2.ffn_gate.weight", 1e25f).scale("blk.2.ffn_up.weight", 1e25f);
  check_refused(gate, ErrorCode::input_failed, "of f32 in layer 2 (activation)");
  EditedModel logits;
  logits.scale("output_norm.weight", 1e30f).scale("output.weight", 1e30f);
  check_refused(logits, ErrorCode::input_failed, "(logits)");
  EditedModel large;  // but within it
  large.scale("blk.0.ffn_down.weight", 1e8f);
  CHECK(large.prove().is_right());
}

TEST_CASE("whose fault: a device that leaves the range of f32 by itself is wrong") {
  const ProvedSample sample(ModelFormat::gguf, {"llama"}, {"F32"});
  for (const double value :
       {3e38, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    reference::ProveOptions options;
    options.alter = [&](const DecoderStage& stage) {
      if (stage.name != "down" || stage.layer != 0u) return;
      const std::vector<float> numbers = stage.values.to_host<float>(stage.stream);
      std::vector<double> values(numbers.begin(), numbers.end());
      values[7] = value;
      write_values(sample.backend, stage.values, values);
    };
    const reference::ProveResult result = sample.prove(sample.spec, options);
    REQUIRE(result.first_wrong.has_value());
    CHECK(result.first_wrong->layer == 0u);
    CHECK(result.first_wrong->stage == "down");
    CHECK(result.first_wrong->row == 7);
  }
}
