// SPDX-License-Identifier: MIT
#include "model_writer/writer_headers.hpp"

#include <array>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "hiptool/error.hpp"
#include "model/checked.hpp"
#include "model/gguf.hpp"
#include "model/safetensors.hpp"
#include "model_writer/decoder_plan.hpp"
#include "model_writer/gguf_fields.hpp"
#include "report/tree.hpp"

namespace hiptool::model_writer {
namespace {

using model::GgufValueType;

constexpr std::uint64_t gguf_alignment = 32;

// Enough for official readers and for tools that size a KV cache.
void write_metadata(GgufHeader& header, const GgufFacts& facts) {
  const std::uint64_t vocabulary = facts.vocabulary == 0 ? 32'000 : facts.vocabulary;
  header.pair("general.architecture", "llama");
  header.pair("general.name", name_of_made_models);
  header.array("general.tags", GgufValueType::text, 2);
  header.string("synthetic");
  header.string("random");
  header.pair("general.file_type", 1025);  // mostly F16, marked as a guess
  header.pair("general.quantization_version", 2);
  header.pair("llama.block_count", facts.layers);
  header.pair("llama.context_length", 4096);
  header.pair("llama.embedding_length", 4096);
  header.pair("llama.feed_forward_length", 11008);
  header.pair("llama.attention.head_count", 32);
  header.pair("llama.attention.head_count_kv", 8);
  header.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  header.pair("llama.rope.dimension_count", 128);
  header.pair("llama.vocab_size", static_cast<std::uint32_t>(vocabulary));
  header.pair("tokenizer.ggml.model", "none");
  if (facts.vocabulary > 0) write_tokens(header, facts.vocabulary);
}

// Every shard says which of how many it is (llama.cpp's tools/gguf-split).
void write_split(GgufHeader& header, const GgufFacts& facts) {
  header.key("split.no", GgufValueType::u16);
  header.number(static_cast<std::uint16_t>(facts.shard));
  header.key("split.count", GgufValueType::u16);
  header.number(static_cast<std::uint16_t>(facts.shards));
  header.key("split.tensors.count", GgufValueType::i32);
  header.number(static_cast<std::int32_t>(facts.tensors));
}

// NAME without the ending that its format has.
std::filesystem::path stem_of(const std::filesystem::path& path, std::string_view ending) {
  return path.extension() == ending ? path.parent_path() / path.stem() : path;
}

std::string_view ending_of(ModelFormat format) {
  return format == ModelFormat::gguf ? ".gguf" : ".safetensors";
}

std::filesystem::path index_path(const std::filesystem::path& path) {
  std::filesystem::path index = stem_of(path, ending_of(ModelFormat::safetensors));
  return index += ".safetensors.index.json";
}

}  // namespace

void write_tokens(GgufHeader& header, std::uint64_t count) {
  header.array("tokenizer.ggml.tokens", GgufValueType::text, count);
  for (std::uint64_t token = 0; token < count; ++token) {
    header.string("token" + std::to_string(token));
  }
}

void finish_gguf(PlannedFile& file, const GgufFacts& facts) {
  GgufHeader pairs;
  if (facts.shard == 0 && facts.decoder != nullptr) {
    write_decoder_keys(pairs, *facts.decoder);
  } else if (facts.shard == 0) {
    write_metadata(pairs, facts);
  }
  if (facts.shards > 1) write_split(pairs, facts);
  GgufHeader header;
  header.raw(model::gguf_magic);
  header.number<std::uint32_t>(3);
  header.number<std::uint64_t>(file.tensors.size());
  header.number(pairs.pairs());
  header.raw(pairs.text());
  std::uint64_t offset = 0;
  for (PlannedTensor& tensor : file.tensors) {
    tensor.offset = offset;
    offset = *model::checked_align(offset + tensor.size_bytes, gguf_alignment);
    header.string(tensor.name);
    header.number(static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t extent : tensor.shape) header.number(extent);
    header.number(tensor.type_id);
    header.number(tensor.offset);
  }
  file.header = std::move(header.text());
  file.header.resize(
      static_cast<std::size_t>(*model::checked_align(file.header.size(), gguf_alignment)));
  file.data_bytes = offset;
}

void finish_safetensors(PlannedFile& file) {
  // The official writer's order: wide elements first keeps every tensor aligned without padding.
  std::map<std::uint32_t, std::vector<PlannedTensor>, std::greater<>> by_width;
  for (PlannedTensor& tensor : file.tensors) {
    const std::uint32_t width_bits = model::find_safetensors_type(tensor.type)->entry.block_bits;
    by_width[width_bits].push_back(std::move(tensor));
  }
  file.tensors.clear();
  for (auto& [width_bits, tensors] : by_width) {
    std::move(tensors.begin(), tensors.end(), std::back_inserter(file.tensors));
  }
  std::string json = R"({"__metadata__":{"format":"pt","generator":"hiptool make-model"})";
  std::uint64_t offset = 0;
  for (PlannedTensor& tensor : file.tensors) {
    tensor.offset = offset;
    json.append(",\"").append(tensor.name).append("\":{\"dtype\":\"").append(tensor.type);
    json.append("\",\"shape\":[");
    for (const std::uint64_t extent : tensor.shape) {
      if (json.back() != '[') json += ',';
      json.append(std::to_string(extent));
    }
    json.append("],\"data_offsets\":[").append(std::to_string(offset)).append(",");
    offset += tensor.size_bytes;
    json.append(std::to_string(offset)).append("]}");
  }
  json += '}';
  json.resize(static_cast<std::size_t>(*model::checked_align(json.size(), 8)), ' ');
  if (json.size() > model::most_safetensors_header_bytes) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "the header of " + std::to_string(file.tensors.size()) +
                    " tensors is above the 100000000 bytes that safetensors allows",
                "use fewer tensors");
  }
  GgufHeader header;
  header.string(json);  // safetensors, too, begins with a length of 64 bits
  file.header = std::move(header.text());
  file.data_bytes = offset;
}

std::filesystem::path shard_path(const std::filesystem::path& path, ModelFormat format,
                                 std::uint32_t shard, std::uint32_t shards) {
  if (shards == 1) return path;
  std::array<char, 32> number;
  std::snprintf(number.data(), number.size(), "-%05u-of-%05u", shard + 1, shards);
  std::filesystem::path named = stem_of(path, ending_of(format));
  named += number.data();
  named += ending_of(format);
  return named;
}

std::vector<std::filesystem::path> files_of_set(const std::filesystem::path& path,
                                                ModelFormat format, std::uint32_t shards) {
  std::vector<std::filesystem::path> files;
  for (std::uint32_t i = 0; i < shards; ++i) files.push_back(shard_path(path, format, i, shards));
  if (format == ModelFormat::safetensors) files.push_back(index_path(path));
  return files;
}

PlannedFile make_index(const std::filesystem::path& path, const WriterPlan& plan) {
  PlannedFile index;
  index.path = index_path(path);
  std::string& json = index.header;
  json = "{\n  \"metadata\": {\"total_size\": " + std::to_string(plan.tensor_bytes) +
         "},\n  \"weight_map\": {";
  const char* separator = "\n";
  for (const PlannedFile& file : plan.files) {
    const std::string quoted = report::json_text(file.path.filename().string());
    for (const PlannedTensor& tensor : file.tensors) {
      json.append(separator).append("    \"").append(tensor.name).append("\": ").append(quoted);
      separator = ",\n";
    }
  }
  json.append("\n  }\n}\n");
  return index;
}

}  // namespace hiptool::model_writer
