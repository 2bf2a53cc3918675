// SPDX-License-Identifier: MIT
#include "model_writer/decoder_shapes.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "model_writer/writer_plan.hpp"

using namespace hiptool;
using namespace hiptool::model_writer;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

WriterPlan plan_of(const std::string& architecture, const std::string& type,
                   std::uint64_t size_bytes, ModelFormat format = ModelFormat::gguf) {
  ModelWriterOptions options;
  options.path = "m";
  options.format = format;
  options.types = {type};
  options.decoder = SampleDecoder{architecture};
  options.decoder->size_bytes = size_bytes;
  return plan_model(options);
}

std::vector<std::uint64_t> shape_of_tensor(const WriterPlan& plan, const std::string& name) {
  for (const PlannedTensor& tensor : plan.files.front().tensors) {
    if (tensor.name == name) return tensor.shape;
  }
  return {};
}

}  // namespace

TEST_CASE("a size near that of a published model gives its shape") {
  const WriterPlan plan = plan_of("llama", "q4_k", 4300 * mib);
  CHECK(plan.tensors == 32 * 9 + 3);
  // 8 029 995 008 weights in matrices; 144 bytes for 256 of them.
  CHECK(plan.tensor_bytes == 8'029'995'008 / 256 * 144 + (2 * 32 + 1) * 4096 * 4);
  CHECK(shape_of_tensor(plan, "token_embd.weight") == std::vector<std::uint64_t>{4096, 128256});
  CHECK(shape_of_tensor(plan, "blk.31.attn_k.weight") == std::vector<std::uint64_t>{4096, 1024});
  CHECK(shape_of_tensor(plan, "blk.31.ffn_down.weight") == std::vector<std::uint64_t>{14336, 4096});
  const WriterPlan half = plan_of("qwen2", "F16", std::uint64_t{15'231} * 1'000'000);
  CHECK(shape_of_tensor(half, "blk.27.attn_q.bias") == std::vector<std::uint64_t>{3584});
  CHECK(half.tensors == 28 * 12 + 3);
}

TEST_CASE("between published sizes the number of layers differs") {
  for (const std::string architecture : {"llama", "mistral", "qwen2", "qwen3"}) {
    const ModelFormat format =
        architecture == "mistral" ? ModelFormat::safetensors : ModelFormat::gguf;
    for (std::uint64_t size_bytes = 24 * mib; size_bytes < 200'000 * mib; size_bytes *= 2) {
      for (const std::string type : {"F16", "Q8_0", "Q4_K"}) {
        if (format == ModelFormat::safetensors && type != "F16") continue;
        CAPTURE(architecture);
        CAPTURE(type);
        CAPTURE(size_bytes);
        const WriterPlan plan = plan_of(architecture, type, size_bytes, format);
        const double ratio =
            static_cast<double>(plan.tensor_bytes) / static_cast<double>(size_bytes);
        CHECK(ratio > 0.75);
        CHECK(ratio < 1.3);
      }
    }
  }
}

TEST_CASE("columns of every matrix are whole blocks") {
  for (const std::string architecture : {"llama", "qwen2", "qwen3"}) {
    for (std::uint64_t size_bytes = mib; size_bytes < 100'000 * mib; size_bytes *= 3) {
      const WriterPlan plan = plan_of(architecture, "Q6_K", size_bytes);
      for (const PlannedTensor& tensor : plan.files.front().tensors) {
        if (tensor.type == "F32") continue;
        CAPTURE(tensor.name);
        CHECK(tensor.shape.front() % 256 == 0);
      }
    }
  }
}

TEST_CASE("a size below every shape gives the smallest one with three layers") {
  CHECK(plan_of("llama", "F32", 1).tensors == 3 * 9 + 3);
  CHECK(plan_of("llama", "F32", 0).tensors == 3 * 9 + 3);  // the one of odd sizes
}
