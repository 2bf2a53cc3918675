// SPDX-License-Identifier: MIT
#include "model_writer/writer_plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/text.hpp"
#include "model_writer/decoder_plan.hpp"
#include "model_writer/decoder_values.hpp"
#include "model_writer/writer_headers.hpp"

namespace hiptool::model_writer {
namespace {

using model::GgufType;
using model::SafetensorsType;

constexpr std::uint32_t most_written_tensors = 1'000'000;
constexpr std::uint64_t most_size_bytes = std::uint64_t{1} << 60;
constexpr std::uint32_t most_shards = 65'535;  // split.count is a u16
constexpr std::uint64_t most_tokens = 10'000'000;
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

std::uint32_t block_of(std::uint32_t tensor) {
  return (tensor - 2) / std::uint32_t{block_roles.size()};
}

std::string name_of(std::uint32_t tensor) {
  const std::string role(role_of(tensor).name);
  return tensor < 2 ? role : "blk." + std::to_string(block_of(tensor)) + "." + role;
}

PlannedType type_of(const GgufType& type) {
  return {type.entry.name, type.entry.block_elements, type.entry.block_bits / 8, &type, nullptr};
}

PlannedType type_of(const SafetensorsType& type) {
  const std::uint32_t bits = type.entry.block_bits;
  std::uint64_t elements = 1;
  while (elements * bits % 8 != 0) ++elements;
  return {type.entry.name, elements, elements * bits / 8, nullptr, &type};
}

std::vector<PlannedType> all_types(ModelFormat format) {
  std::vector<PlannedType> types;
  if (format == ModelFormat::gguf) {
    for (const GgufType& type : model::gguf_types()) {
      if (!type.entry.name.empty()) types.push_back(type_of(type));
    }
  } else {
    for (const SafetensorsType& type : model::safetensors_types()) types.push_back(type_of(type));
  }
  return types;
}

std::vector<PlannedType> chosen_types(const ModelWriterOptions& options) {
  const std::vector<PlannedType> known = all_types(options.format);
  std::vector<std::string> names = options.types;
  if (names.empty() && options.decoder) names = {"F32"};
  if (names.empty()) {
    names = options.format == ModelFormat::gguf
                ? std::vector<std::string>{"F32", "F16", "Q4_K", "Q6_K", "Q8_0"}
                : std::vector<std::string>{"F32", "F16", "BF16", "I8"};
  }
  std::vector<PlannedType> chosen;
  for (const std::string& name : names) {
    if (name == "all" && options.decoder) {
      std::copy_if(known.begin(), known.end(), std::back_inserter(chosen),
                   [](const PlannedType& type) { return can_be_weights(type.name); });
      continue;
    }
    if (name == "all") {
      chosen.insert(chosen.end(), known.begin(), known.end());
      continue;
    }
    const auto found = std::ranges::find_if(known, [&](const PlannedType& type) {
      return base::equals_ignoring_case(type.name, name);
    });
    if (found == known.end()) {
      std::string hint = "use all";
      for (const PlannedType& type : known) hint.append(", ").append(type.name);
      throw Error(
          ErrorCode::invalid_argument, "make-model",
          std::string(to_string(options.format)) + " has no tensor type " + model::in_quotes(name),
          hint);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

void check_options(const ModelWriterOptions& options) {
  const auto require = [](bool is_possible, const std::string& message, const char* hint) {
    if (!is_possible) throw Error(ErrorCode::invalid_argument, "make-model", message, hint);
  };
  require(options.tensors > 0 && options.tensors <= most_written_tensors,
          "invalid number of tensors " + std::to_string(options.tensors),
          "use 1 to 1000000 tensors");
  const std::uint64_t tensors =
      options.decoder ? least_decoder_tensors(*options.decoder) : options.tensors;
  require(options.shards > 0 && options.shards <= most_shards && options.shards <= tensors,
          "cannot split " + base::plain_count_of(tensors, "tensor") + " over " +
              base::plain_count_of(options.shards, "file"),
          "use 1 to 65535 files, at most one per tensor");
  require(options.vocabulary == 0 ||
              (options.vocabulary <= most_tokens && options.format == ModelFormat::gguf),
          "invalid vocabulary of " + base::plain_count_of(options.vocabulary, "token"),
          "use at most 10000000 tokens, in a GGUF");
  require(options.size_bytes <= most_size_bytes,
          "invalid model size of " + base::plain_count_of(options.size_bytes, "byte"),
          "use at most 2^60 bytes");
}

// The shape, fastest dimension first, of about that many blocks; never more than them.
std::vector<std::uint64_t> shape_of(const PlannedType& type, std::uint64_t blocks, bool is_vector) {
  const std::uint64_t elements = blocks * type.elements;
  for (const std::uint64_t row : {long_row, short_row}) {
    const std::uint64_t rows = elements / row;
    if (!is_vector && rows >= 16 && row % type.elements == 0) return {row, rows};
  }
  return {elements};
}

std::vector<PlannedTensor> plan_tensors(const ModelWriterOptions& options,
                                        const std::vector<PlannedType>& types) {
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
    const PlannedType& type = types[index % types.size()];
    weight += role.weight;
    // size * weight / total without leaving 64 bits: weights stay below 2^31.
    const std::uint64_t ideal_end = options.size_bytes / total_weight * weight +
                                    options.size_bytes % total_weight * weight / total_weight;
    // The rounding error of a tensor goes to the next one; the last is cut to whole blocks.
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
      std::ranges::reverse(tensor.shape);
    }
    used_bytes += tensor.size_bytes;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// The index of the first tensor of each file: sizes are as equal as whole tensors allow, and every
// file gets at least one tensor.
std::vector<std::size_t> cuts_of(const std::vector<PlannedTensor>& tensors, std::size_t files,
                                 std::uint64_t tensor_bytes) {
  std::vector<std::size_t> cuts{0};
  std::uint64_t bytes = 0;
  for (std::size_t index = 0; cuts.size() < files; ++index) {
    bytes += tensors[index].size_bytes;
    // bytes / tensor_bytes >= cuts / files, where the products may leave 64 bits.
    const double share = static_cast<double>(bytes) / static_cast<double>(tensor_bytes);
    const bool is_full = share * static_cast<double>(files) >= static_cast<double>(cuts.size());
    const bool needs_rest = tensors.size() - index - 1 == files - cuts.size();
    if (is_full || needs_rest) cuts.push_back(index + 1);
  }
  cuts.push_back(tensors.size());
  return cuts;
}

}  // namespace

WriterPlan plan_model(const ModelWriterOptions& options) {
  check_options(options);
  WriterPlan plan;
  const std::vector<PlannedType> types = chosen_types(options);
  std::optional<DecoderPlan> decoder;
  if (options.decoder) decoder = plan_decoder(options, types);
  std::vector<PlannedTensor> tensors =
      decoder ? std::move(decoder->tensors) : plan_tensors(options, types);
  plan.tensors = static_cast<std::uint32_t>(tensors.size());
  for (const PlannedTensor& tensor : tensors) plan.tensor_bytes += tensor.size_bytes;
  const std::vector<std::size_t> cuts = cuts_of(tensors, options.shards, plan.tensor_bytes);
  const std::uint32_t layers = plan.tensors > 2 ? block_of(plan.tensors - 1) + 1 : 1;
  plan.files.resize(options.shards);
  for (std::uint32_t number = 0; number < options.shards; ++number) {
    PlannedFile& file = plan.files[number];
    file.path = shard_path(options.path, options.format, number, options.shards);
    const auto at = [&](std::size_t cut) {
      return tensors.begin() + static_cast<std::ptrdiff_t>(cut);
    };
    file.tensors.assign(std::make_move_iterator(at(cuts[number])),
                        std::make_move_iterator(at(cuts[number + 1])));
    if (options.format == ModelFormat::gguf) {
      finish_gguf(file, {number, options.shards, plan.tensors, layers, options.vocabulary,
                         decoder ? &*decoder : nullptr});
    } else {
      finish_safetensors(file);
    }
  }
  const bool has_index = options.shards > 1 && options.format == ModelFormat::safetensors;
  if (has_index) {
    plan.entry = plan.files.size();
    plan.files.push_back(make_index(options.path, plan));
  }
  if (decoder && options.format == ModelFormat::safetensors) {
    PlannedFile config;
    config.path = options.path.parent_path() / "config.json";
    config.header = decoder_config(*decoder);
    plan.files.push_back(std::move(config));
  }
  return plan;
}

}  // namespace hiptool::model_writer
