// SPDX-License-Identifier: MIT
#include "model/writer_plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/checked.hpp"
#include "model/gguf.hpp"
#include "model/safetensors.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint32_t most_tensors = 1'000'000;
constexpr std::uint64_t most_size_bytes = std::uint64_t{1} << 60;
constexpr std::uint64_t gguf_alignment = 32;
constexpr std::uint64_t long_row = 4096;
constexpr std::uint64_t short_row = 256;

/// A tensor's part in a model, with its share of the bytes in thousandths of an attention matrix.
struct Role {
  std::string_view name;
  std::uint64_t weight;
  bool is_vector;
};

constexpr Role embedding{"token_embd.weight", 8000, false};
constexpr Role output_norm{"output_norm.weight", 2, true};
constexpr std::array block_roles{
    Role{"attn_norm.weight", 2, true},       Role{"attn_q.weight", 1000, false},
    Role{"attn_k.weight", 250, false},       Role{"attn_v.weight", 250, false},
    Role{"attn_output.weight", 1000, false}, Role{"ffn_norm.weight", 2, true},
    Role{"ffn_gate.weight", 2700, false},    Role{"ffn_up.weight", 2700, false},
    Role{"ffn_down.weight", 2700, false}};

const Role& role_of(std::uint32_t tensor) {
  if (tensor == 0) return embedding;
  if (tensor == 1) return output_norm;
  return block_roles[(tensor - 2) % block_roles.size()];
}

std::uint64_t block_of(std::uint32_t tensor) { return (tensor - 2) / block_roles.size(); }

std::string name_of(std::uint32_t tensor) {
  const std::string role(role_of(tensor).name);
  return tensor < 2 ? role : "blk." + std::to_string(block_of(tensor)) + "." + role;
}

/// A type of either format: how many elements, in how many bytes, are the least that a tensor can
/// grow by, and how to fill them.
struct Type {
  std::string_view name;
  std::uint64_t elements = 1;
  std::uint64_t bytes = 1;
  std::uint32_t bits = 8;  // of an element, for the order in safetensors
  const GgufType* gguf = nullptr;
  const SafetensorsType* safetensors = nullptr;
};

Type type_of(const GgufType& type) {
  return {type.entry.name, type.entry.block_elements, type.entry.block_bits / 8, 0, &type, nullptr};
}

Type type_of(const SafetensorsType& type) {
  const std::uint32_t bits = type.entry.block_bits;
  std::uint64_t elements = 1;
  while (elements * bits % 8 != 0) ++elements;
  return {type.entry.name, elements, elements * bits / 8, bits, nullptr, &type};
}

std::vector<Type> all_types(ModelFormat format) {
  std::vector<Type> types;
  if (format == ModelFormat::gguf) {
    for (const GgufType& type : gguf_types()) {
      if (!type.entry.name.empty()) types.push_back(type_of(type));
    }
  } else {
    for (const SafetensorsType& type : safetensors_types()) types.push_back(type_of(type));
  }
  return types;
}

std::vector<Type> chosen_types(const ModelWriterOptions& options) {
  const std::vector<Type> known = all_types(options.format);
  std::vector<std::string> names = options.types;
  if (names.empty()) {
    names = options.format == ModelFormat::gguf
                ? std::vector<std::string>{"F32", "F16", "Q4_K", "Q6_K", "Q8_0"}
                : std::vector<std::string>{"F32", "F16", "BF16", "I8"};
  }
  std::vector<Type> chosen;
  for (const std::string& name : names) {
    if (name == "all") {
      chosen.insert(chosen.end(), known.begin(), known.end());
      continue;
    }
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Type& type) { return type.name == name; });
    if (found == known.end()) {
      std::string hint = "known are all";
      for (const Type& type : known) hint.append(", ").append(type.name);
      throw Error(ErrorCode::invalid_argument, "make-model",
                  std::string(to_string(options.format)) + " has no tensor type " + in_quotes(name),
                  hint);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

void check_options(const ModelWriterOptions& options) {
  if (options.tensors == 0 || options.tensors > most_tensors) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "a model of " + std::to_string(options.tensors) + " tensors is not possible",
                "ask for 1 to 1000000 tensors");
  }
  if (options.size_bytes > most_size_bytes) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "a model of " + std::to_string(options.size_bytes) + " bytes is not possible",
                "ask for at most 2^60 bytes");
  }
}

// The shape, fastest dimension first, of about that many blocks; never more than them.
std::vector<std::uint64_t> shape_of(const Type& type, std::uint64_t blocks, bool is_vector) {
  const std::uint64_t elements = blocks * type.elements;
  for (const std::uint64_t row : {long_row, short_row}) {
    const std::uint64_t rows = elements / row;
    if (!is_vector && rows >= 16 && row % type.elements == 0) return {row, rows};
  }
  return {elements};
}

std::vector<PlannedTensor> plan_tensors(const ModelWriterOptions& options,
                                        const std::vector<Type>& types) {
  std::uint64_t total_weight = 0;
  for (std::uint32_t index = 0; index < options.tensors; ++index) {
    total_weight += role_of(index).weight;
  }
  std::vector<PlannedTensor> tensors;
  tensors.reserve(options.tensors);
  std::uint64_t weight = 0;
  std::uint64_t used_bytes = 0;
  for (std::uint32_t index = 0; index < options.tensors; ++index) {
    const Role& role = role_of(index);
    const Type& type = types[index % types.size()];
    weight += role.weight;
    // size * weight / total without leaving 64 bits: weights stay below 2^31.
    const std::uint64_t ideal_end = options.size_bytes / total_weight * weight +
                                    options.size_bytes % total_weight * weight / total_weight;
    // What one tensor's rounding leaves over goes to the next; the last is cut to the block.
    const std::uint64_t wanted = ideal_end > used_bytes ? ideal_end - used_bytes : 0;
    const bool is_last = index + 1 == options.tensors;
    PlannedTensor tensor;
    tensor.name = name_of(index);
    tensor.type = type.name;
    tensor.shape =
        shape_of(type, std::max<std::uint64_t>(1, wanted / type.bytes), role.is_vector || is_last);
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : tensor.shape) elements *= extent;
    tensor.size_bytes = elements / type.elements * type.bytes;
    const std::uint64_t seed = tensor_seed(options.seed, index);
    if (type.gguf != nullptr) {
      tensor.type_id = type.gguf->id;
      tensor.pattern = Pattern::of(*type.gguf, seed);
    } else {
      tensor.pattern = Pattern::of(*type.safetensors, seed);
      std::reverse(tensor.shape.begin(), tensor.shape.end());
    }
    used_bytes += tensor.size_bytes;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Collects the fields of a GGUF header.
class GgufHeader {
 public:
  template <typename Number>
  void number(Number value) {
    std::array<char, sizeof value> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    text_.append(bytes.data(), bytes.size());
  }
  void raw(std::string_view bytes) { text_.append(bytes); }
  void string(std::string_view bytes) {
    number<std::uint64_t>(bytes.size());
    raw(bytes);
  }
  void key(std::string_view name, GgufValueType type) {
    string(name);
    number(static_cast<std::uint32_t>(type));
  }
  void pair(std::string_view name, std::uint32_t value) {
    key(name, GgufValueType::u32);
    number(value);
  }
  void pair(std::string_view name, std::string_view value) {
    key(name, GgufValueType::text);
    string(value);
  }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

// Enough for official readers and for tools that size a KV cache; in all 15 pairs.
void write_metadata(GgufHeader& header, std::uint32_t tensors) {
  const std::uint64_t blocks = tensors > 2 ? block_of(tensors - 1) + 1 : 1;
  header.pair("general.architecture", "llama");
  header.pair("general.name", "hiptool make-model");
  header.key("general.tags", GgufValueType::array);
  header.number(static_cast<std::uint32_t>(GgufValueType::text));
  header.number<std::uint64_t>(2);
  header.string("synthetic");
  header.string("random");
  header.pair("general.file_type", 1025);  // mostly F16, marked as a guess
  header.pair("general.quantization_version", 2);
  header.pair("llama.block_count", static_cast<std::uint32_t>(blocks));
  header.pair("llama.context_length", 4096);
  header.pair("llama.embedding_length", 4096);
  header.pair("llama.feed_forward_length", 11008);
  header.pair("llama.attention.head_count", 32);
  header.pair("llama.attention.head_count_kv", 8);
  header.key("llama.attention.layer_norm_rms_epsilon", GgufValueType::f32);
  header.number(1e-5f);
  header.pair("llama.rope.dimension_count", 128);
  header.pair("llama.vocab_size", 32000);
  header.pair("tokenizer.ggml.model", "none");
}

void finish_gguf(WriterPlan& plan) {
  GgufHeader header;
  header.raw(gguf_magic);
  header.number<std::uint32_t>(3);
  header.number<std::uint64_t>(plan.tensors.size());
  header.number<std::uint64_t>(15);
  write_metadata(header, static_cast<std::uint32_t>(plan.tensors.size()));
  std::uint64_t offset = 0;
  for (PlannedTensor& tensor : plan.tensors) {
    tensor.offset = offset;
    offset = *checked_align(offset + tensor.size_bytes, gguf_alignment);
    header.string(tensor.name);
    header.number(static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t extent : tensor.shape) header.number(extent);
    header.number(tensor.type_id);
    header.number(tensor.offset);
  }
  plan.header = std::move(header.text());
  plan.header.resize(static_cast<std::size_t>(*checked_align(plan.header.size(), gguf_alignment)));
  plan.data_bytes = offset;
}

void finish_safetensors(WriterPlan& plan) {
  // The official writer's order: wide elements first keeps every tensor aligned without padding.
  std::map<std::uint32_t, std::vector<PlannedTensor>, std::greater<>> by_width;
  for (PlannedTensor& tensor : plan.tensors) {
    const std::uint32_t width_bits = find_safetensors_type(tensor.type)->entry.block_bits;
    by_width[width_bits].push_back(std::move(tensor));
  }
  plan.tensors.clear();
  for (auto& [width_bits, tensors] : by_width) {
    std::move(tensors.begin(), tensors.end(), std::back_inserter(plan.tensors));
  }
  std::string json = R"({"__metadata__":{"format":"pt","generator":"hiptool make-model"})";
  std::uint64_t offset = 0;
  for (PlannedTensor& tensor : plan.tensors) {
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
  json.resize(static_cast<std::size_t>(*checked_align(json.size(), 8)), ' ');
  if (json.size() > most_safetensors_header_bytes) {
    throw Error(ErrorCode::invalid_argument, "make-model",
                "the header of " + std::to_string(plan.tensors.size()) +
                    " tensors is above the 100000000 bytes that safetensors allows",
                "ask for fewer tensors");
  }
  GgufHeader header;
  header.string(json);  // safetensors, too, begins with a length of 64 bits
  plan.header = std::move(header.text());
  plan.data_bytes = offset;
}

}  // namespace

WriterPlan plan_model(const ModelWriterOptions& options) {
  check_options(options);
  WriterPlan plan;
  plan.tensors = plan_tensors(options, chosen_types(options));
  for (const PlannedTensor& tensor : plan.tensors) plan.tensor_bytes += tensor.size_bytes;
  if (options.format == ModelFormat::gguf) {
    finish_gguf(plan);
  } else {
    finish_safetensors(plan);
  }
  return plan;
}

}  // namespace hiptool::model
