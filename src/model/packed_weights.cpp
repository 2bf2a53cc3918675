// SPDX-License-Identifier: MIT
#include "model/packed_weights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/quantization_config.hpp"
#include "model/text.hpp"
#include "model/torchao_tensor.hpp"

namespace hiptool::model {
namespace {

// Names of a layer's tables after the name of its packed weights, by who writes them. A table
// counts no weights.
constexpr std::array<std::string_view, 22> tables_of_weight{
    // compressed-tensors, ModelOpt, Quark, fp8 of transformers and DeepSeek
    "_scale", "_scale_2", "_scale_inv", "_zero_point", "_shape", "_g_idx", "_global_scale",
    "_weight_scale", "_weight_scale_2", "_input_scale", "_bias_scale", "_scales",
    // bitsandbytes
    ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map",
    ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4", ".SCB",
    ".quant_state.bitsandbytes__nf8", "_format", "_scale_packed"};
constexpr std::array<std::string_view, 49> tables_of_module{
    // compressed-tensors, ModelOpt; fp8 of ComfyUI, DeepSeek
    ".input_scale", ".input_global_scale", ".input_zero_point", ".output_scale",
    ".activation_scale", ".scale", ".scale_weight", ".scale_input", ".comfy_quant",
    // GPTQ, AWQ, MLX, AQLM, Marlin, bitsandbytes, Nunchaku
    ".scales", ".qzeros", ".g_idx", ".biases", ".codebooks", ".s", ".workspace", ".SCB",
    ".weight_format", ".wscales", ".wzeros", ".wtscale", ".wcscales", ".smooth_factor",
    ".smooth_factor_orig",
    // HIGGS, Marlin with two of four weights, VPTQ
    ".tables", ".tables2", ".B_meta", ".meta", ".scale_packed", ".centroids.weight",
    ".res_centroids.weight", ".outlier_centroids.weight", ".outlier_indices", ".res_indices",
    ".weight_scale", ".weight_bias", ".perm",
    // FP-Quant, EXL3
    ".forward_hadamard_matrix", ".backward_hadamard_matrix", ".suh", ".svh", ".su", ".sv", ".mcg",
    ".mul1",
    // Gemma of transformers, Metal
    ".input_activation_scale", ".output_activation_scale", ".embedding_scale", ".qbiases"};
constexpr std::array<std::string_view, 8> tables_of_torchao{"_scale",
                                                            "_zero_point",
                                                            "_scale_and_zero",
                                                            "_per_tensor_scale",
                                                            "_act_per_tensor_scale",
                                                            "_act_pre_scale",
                                                            "_act_quant_scale",
                                                            "_act_quant_zero_point"};
constexpr std::array<std::string_view, 2> tables_of_sparse{".bitmask", ".shape"};
constexpr std::array<std::string_view, 2> tables_of_quanto{"._scale", "._shift"};
constexpr std::array<std::string_view, 6> tables_of_exl2{
    ".q_scale", ".q_scale_max", ".q_groups", ".q_invperm", ".q_perm", ".q_group_map"};
constexpr std::array<std::string_view, 21> tables_of_hqq{".scale",
                                                         ".zero",
                                                         ".meta",
                                                         ".axis",
                                                         ".channel_wise",
                                                         ".compute_dtype",
                                                         ".encoded_state_dict",
                                                         ".group_size",
                                                         ".nbits",
                                                         ".offload_meta",
                                                         ".optimize",
                                                         ".packing",
                                                         ".quant_scale",
                                                         ".quant_zero",
                                                         ".round_zero",
                                                         ".shape",
                                                         ".stores_quant_config",
                                                         ".unpack_view_dtype",
                                                         ".view_as_float",
                                                         ".zero_q",
                                                         ".scale_q"};

using Weights = std::optional<std::uint64_t>;

// Absent when the product is not a number of weights: each has at least one bit in this world.
Weights product_of(std::uint64_t left, std::uint64_t right) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result)) return std::nullopt;
  return result;
}

std::uint64_t last(const TensorInfo& tensor) { return tensor.shape.back(); }

// Elements of words of that many bits for each weight.
Weights unpacked(const TensorInfo& tensor, std::uint64_t bits) {
  if (bits == 0 || bits > tensor.type.block_bits()) return std::nullopt;
  const auto total = product_of(tensor.elements, tensor.type.block_bits());
  return total ? Weights(*total / bits) : std::nullopt;
}

// Bits of a weight, if as many words hold that many weights.
std::uint64_t bits_of(std::uint64_t words, std::uint64_t word_bits, std::uint64_t weights) {
  const auto total = product_of(words, word_bits);
  return !total || weights == 0 || *total % weights != 0 ? 0 : *total / weights;
}

class WeightCounter {
 public:
  explicit WeightCounter(Contents& contents)
      : contents_(contents),
        config_(read_quantization_config(contents.parts.front().path.parent_path())) {}

  void count() {
    for (TensorInfo& tensor : contents_.tensors) count(tensor);
    if (undecided_ == 0) look_for_unknown_layout();
    if (undecided_ == 0) return;
    std::string warning =
        "parameters and bits per weight count the elements of packed tensors: how many weights an "
        "element of " +
        in_quotes(first_undecided_) + " holds";
    if (undecided_ > 1) {
      warning += " (and of " + base::count_of(undecided_ - 1, "other tensor") + ")";
    }
    warning += config_.method.empty() ? " is not stated" : " is not known for " + config_.method;
    contents_.warnings.push_back(std::move(warning));
  }

 private:
  // A quantised model most of whose bytes are integers that no rule is for.
  void look_for_unknown_layout() {
    std::uint64_t packed_bytes = 0;
    for (const TensorInfo& tensor : contents_.tensors) {
      const bool is_packed = is_word(tensor) || tensor.type.name() == "U8" ||
                             tensor.type.name() == "I16" ||
                             tensor.type.name() == "I64";  // QuIP#, SpQR
      if (!is_packed || tensor.weights != tensor.elements) continue;
      if (packed_bytes == 0) first_undecided_ = tensor.name;
      packed_bytes += tensor.size_bytes;
      ++undecided_;
    }
    const bool has_most = packed_bytes > decided_bytes_ + contents_.tensor_bytes / 2;
    if (config_.method.empty() || !has_most) undecided_ = 0;
  }

  const TensorInfo* find(std::string_view stem, std::string_view end) const {
    const std::string name = std::string(stem) + std::string(end);
    return contents_.index.find(contents_.tensors, name);
  }
  // One with at least that many dimensions.
  const TensorInfo* find(std::string_view stem, std::string_view end, std::size_t rank) const {
    const TensorInfo* found = find(stem, end);
    return found == nullptr || found->shape.size() < rank ? nullptr : found;
  }

  void clear_tables(std::string_view stem, std::span<const std::string_view> ends) {
    for (const std::string_view end : ends) {
      const TensorInfo* found = find(stem, end);
      if (found == nullptr) continue;
      contents_.tensors[static_cast<std::size_t>(found - contents_.tensors.data())].weights = 0;
    }
  }

  void set(TensorInfo& tensor, Weights weights) {
    // No format has less than a bit for a weight.
    if (weights && *weights / 8 <= tensor.size_bytes) {
      tensor.weights = *weights;
      if (*weights == tensor.elements) decided_bytes_ += tensor.size_bytes;
    } else if (undecided_++ == 0) {
      first_undecided_ = tensor.name;
    }
  }

  void count(TensorInfo& tensor) {
    if (tensor.type.block_elements() != 1 || tensor.shape.empty()) return;
    const std::string_view name = tensor.name;
    const std::size_t dot = name.rfind('.');
    const std::string_view module = name.substr(0, dot == name.npos ? 0 : dot);
    const std::string_view leaf = dot == name.npos ? name : name.substr(dot + 1);
    if (leaf == "qweight") return count_qweight(tensor, module);
    if (name.ends_with("_qdata")) return count_torchao(tensor, name.substr(0, name.size() - 6));
    if (leaf == "q_weight") return count_exl2(tensor, module);
    if (leaf == "W_q") return count_hqq(tensor, module);
    if (leaf == "trellis" || leaf == "codes" || leaf == "B") return count_rest(tensor, module);
    if (leaf == "B_24" && is_word(tensor)) return count_marlin_24(tensor, module, ".s");
    if (leaf == "compressed") return count_half(tensor, module);
    if (leaf == "indices") return count_vptq(tensor, module);
    if (leaf == "_data") return count_quanto(tensor, module);
    const bool may_be_gemma = config_.method == "gemma" && is_byte(tensor);
    if (may_be_gemma && (leaf == "weight" || leaf == "embedding_quantized")) {
      return count_gemma(tensor, module);
    }
    if (name.ends_with("_packed")) {
      return count_packed(tensor, name.substr(0, name.size() - 7), module);
    }
    if (name.ends_with("_blocks") && is_byte(tensor)) {
      const std::string_view stem = name.substr(0, name.size() - 7);
      if (find(stem, "_scales") == nullptr) return;
      clear_tables(stem, tables_of_weight);
      return set(tensor, unpacked(tensor, 4));  // MXFP4 of gpt-oss
    }
    count_plain(tensor, leaf == "weight" ? module : name, module);
  }

  static bool is_byte(const TensorInfo& tensor) {
    return tensor.type.name() == "U8" || tensor.type.name() == "I8";
  }
  static bool is_word(const TensorInfo& tensor) {
    return tensor.type.name() == "I32" || tensor.type.name() == "U32";
  }

  void count_torchao(TensorInfo& tensor, std::string_view stem) {
    clear_tables(stem, tables_of_torchao);
    set(tensor, weights_of_torchao(tensor, find(stem, "_scale"), contents_.metadata));
  }

  // Weights of 2 or 4 bits are in U8, those of 8 bits in I8.
  void count_gemma(TensorInfo& tensor, std::string_view module) {
    clear_tables(module, tables_of_module);
    const bool is_packed = tensor.type.name() == "U8";
    set(tensor, is_packed ? unpacked(tensor, config_.bits_by_pattern(module)) : tensor.elements);
  }

  // GPTQ packs along the rows, AWQ along the columns; scales have a column for each output.
  void count_qweight(TensorInfo& tensor, std::string_view module) {
    clear_tables(module, tables_of_module);
    if (tensor.type.block_bits() == 8 && find(module, ".wscales") != nullptr) {
      return set(tensor, unpacked(tensor, 4));  // Nunchaku
    }
    const std::uint64_t word_bits = tensor.type.block_bits();
    const TensorInfo* scales = find(module, ".scales", 2);
    // FP-Quant: FP4 with the scales of a row in a row.
    if (scales != nullptr && is_byte(tensor) && scales->shape[0] == tensor.shape[0]) {
      return set(tensor, unpacked(tensor, 4));
    }
    if (scales == nullptr || tensor.shape.size() != 2) {
      return set(tensor, unpacked(tensor, config_.of(module).bits));
    }
    const std::uint64_t outputs = last(*scales);
    const std::uint64_t rows = tensor.shape[0];
    const std::uint64_t columns = tensor.shape[1];
    if (columns > 0 && outputs > columns && outputs % columns == 0) {
      return set(tensor, product_of(rows, outputs));
    }
    const TensorInfo* inputs = find(module, ".g_idx", 1);
    if (columns == outputs && inputs != nullptr && inputs->elements > rows) {
      return set(tensor, product_of(inputs->elements, outputs));
    }
    const TensorInfo* zeros = find(module, ".qzeros", 2);
    std::uint64_t bits = 0;
    if (columns == outputs && zeros != nullptr) bits = bits_of(last(*zeros), word_bits, outputs);
    set(tensor, unpacked(tensor, bits > 0 ? bits : config_.of(module).bits));
  }

  // Rows have different bits; the permutation has one number for each input.
  void count_exl2(TensorInfo& tensor, std::string_view module) {
    const TensorInfo* inputs = find(module, ".q_invperm", 1);
    if (inputs == nullptr) inputs = find(module, ".q_perm", 1);
    set(tensor, inputs == nullptr ? std::nullopt : product_of(inputs->elements, last(tensor)));
    clear_tables(module, tables_of_exl2);
  }

  void count_hqq(TensorInfo& tensor, std::string_view module) {
    const Quantization& usual = config_.of(module);
    const TensorInfo* scale = find(module, ".scale");
    clear_tables(module, tables_of_hqq);
    if (scale != nullptr && usual.group_size > 0) {
      return set(tensor, product_of(scale->elements, usual.group_size));
    }
    // Ten weights of 3 bits are in one word.
    if (is_word(tensor) && usual.bits == 3) return set(tensor, product_of(tensor.elements, 10));
    set(tensor, unpacked(tensor, usual.bits));
  }

  void count_rest(TensorInfo& tensor, std::string_view module) {
    const bool is_trellis = tensor.name.ends_with("trellis");
    const TensorInfo* books = find(module, ".codebooks", 4);
    if (is_trellis && tensor.shape.size() == 3) {  // EXL3: tiles of 16 x 16
      const auto tiles = product_of(tensor.shape[0], tensor.shape[1]);
      set(tensor, tiles ? product_of(*tiles, 256) : std::nullopt);
    } else if (tensor.name.ends_with("codes") && books != nullptr && last(tensor) > 0) {  // AQLM
      const auto group = product_of(books->shape[2], books->shape[3]);
      set(tensor, group ? product_of(tensor.elements / last(tensor), *group) : std::nullopt);
    } else if (is_word(tensor) && find(module, ".s", 2) != nullptr) {  // Marlin
      set(tensor, unpacked(tensor, 4));
    } else {
      return;
    }
    clear_tables(module, tables_of_module);
  }

  // Half of the weights in tiles of 16, which scales have a column for each output of.
  void count_marlin_24(TensorInfo& tensor, std::string_view module, std::string_view scales_end) {
    const TensorInfo* scales = find(module, scales_end, 2);
    if (scales == nullptr) return;
    const auto words = product_of(last(tensor), 2);
    const std::uint64_t outputs = last(*scales);
    const std::uint64_t bits = words && outputs > 0 ? *words / outputs : 0;
    const Weights kept = unpacked(tensor, bits);
    set(tensor, kept ? product_of(*kept, 2) : std::nullopt);
    clear_tables(module, tables_of_module);
  }

  // Two of four weights, and a bit for each of the four.
  void count_half(TensorInfo& tensor, std::string_view module) {
    const TensorInfo* mask = find(module, ".bitmask");
    if (mask == nullptr || !is_byte(*mask)) return;
    set(tensor, product_of(mask->elements, 8));
    clear_tables(module, tables_of_module);
    clear_tables(module, tables_of_sparse);
  }

  // An index for some outputs of each input, packed with the residual's.
  void count_vptq(TensorInfo& tensor, std::string_view module) {
    if (find(module, ".centroids.weight") == nullptr) return;
    const Quantization& layer = config_.of(module);
    Weights weights = product_of(layer.inputs, layer.outputs);
    const TensorInfo* inputs = find(module, ".perm", 1);
    if (inputs == nullptr) inputs = find(module, ".weight_scale", 1);
    if (weights == std::uint64_t{0} && inputs != nullptr && tensor.shape.size() == 3) {
      const auto outputs = product_of(tensor.shape[1], layer.vector_length);
      weights = outputs ? product_of(*outputs, inputs->elements) : std::nullopt;
    }
    set(tensor, weights == std::uint64_t{0} ? std::nullopt : weights);
    clear_tables(module, tables_of_module);
  }

  // NAME.weight._data, or with 2 or 4 bits NAME.weight._data._data, of which several rows are in
  // one; each row has a scale.
  void count_quanto(TensorInfo& tensor, std::string_view stem) {
    constexpr std::string_view inner = "._data";
    const bool is_packed = stem.ends_with(inner) && is_byte(tensor);
    if (is_packed) stem.remove_suffix(inner.size());
    const TensorInfo* scale = find(stem, "._scale");
    if (scale == nullptr) return;
    if (is_packed) {
      const bool has_rows = scale->shape.size() == 2 && tensor.shape.size() == 2;
      set(tensor, has_rows ? product_of(scale->shape[0], last(tensor)) : std::nullopt);
    }
    clear_tables(stem, tables_of_quanto);
    clear_tables(stem.substr(0, stem.rfind('.')), tables_of_module);
  }

  // Bits of the words of HIGGS: its table has a value for each combination of them.
  std::uint64_t bits_of_higgs(std::string_view module) const {
    const TensorInfo* table = find(module, ".tables", 1);
    if (table == nullptr || table->elements == 0) return 0;
    return static_cast<std::uint64_t>(std::bit_width(table->elements)) - 1;
  }

  // compressed-tensors; `stem` is the name before "_packed".
  void count_packed(TensorInfo& tensor, std::string_view stem, std::string_view module) {
    const TensorInfo* scale = find(stem, "_scale");
    if (scale == nullptr && is_word(tensor)) {
      return count_marlin_24(tensor, module, ".scale_packed");
    }
    if (scale == nullptr || !(is_byte(tensor) || is_word(tensor))) return;
    clear_tables(stem, tables_of_weight);
    clear_tables(module, tables_of_module);
    set(tensor, unpacked(tensor, bits_of_packed(tensor, *scale)));
  }

  // By the scales of a row, else by the config where its groups agree; 0: not decided.
  std::uint64_t bits_of_packed(const TensorInfo& tensor, const TensorInfo& scale) const {
    const std::uint64_t scales = scale.shape.size() < 2 ? 1 : last(scale);
    const auto fits = [&](const Quantization& group) {
      const auto inputs = product_of(scales, group.group_size);
      return inputs && scales > 1 &&
             bits_of(last(tensor), tensor.type.block_bits(), *inputs) == group.bits;
    };
    const auto group = std::ranges::find_if(config_.groups, fits);
    if (group != config_.groups.end()) return group->bits;
    const std::uint64_t float_bits = is_byte(tensor) ? bits_of_floats(tensor, scale) : 0;
    if (float_bits > 0) return float_bits;
    // A row with one scale is of a group without a size, if there is one.
    std::vector<std::uint64_t> bits;
    for (const bool is_whole : {true, false}) {
      for (const Quantization& each : config_.groups) {
        const bool is_possible = !is_whole || (scales == 1 && each.group_size == 0);
        if (is_possible && bits.empty()) bits.push_back(each.bits);
        if (is_possible && bits.front() != each.bits) return 0;
      }
      if (!bits.empty()) return bits.front();
    }
    return config_.usual.bits;
  }

  // A tensor with an ordinary name, whose tables say that it is quantised.
  void count_plain(TensorInfo& tensor, std::string_view stem, std::string_view module) {
    if (tensor.type.name() == "I16" && stem == module && find(module, ".tables2") != nullptr) {
      clear_tables(module, tables_of_module);
      return set(tensor, unpacked(tensor, bits_of_higgs(module)));
    }
    const bool is_8_bit = tensor.type.block_bits() == 8;
    if (!is_8_bit && !is_word(tensor)) return;
    const bool is_bnb = find(tensor.name, ".quant_map") != nullptr;
    const TensorInfo* scale = nullptr;
    for (const std::string_view end : {"_scale", "_weight_scale", "_scale_inv", "_scales"}) {
      if (scale == nullptr) scale = find(tensor.name, end);
    }
    for (const std::string_view end : {".scale", ".scales", ".scale_weight", ".SCB"}) {
      if (scale == nullptr && stem == module) scale = find(module, end);
    }
    if (scale == nullptr && !is_bnb) return;
    if (scale == &tensor) return;
    clear_tables(tensor.name, tables_of_weight);
    if (stem == module) clear_tables(module, tables_of_module);
    if (is_bnb) {
      const TensorInfo* map = find(tensor.name, ".quant_map");
      return set(tensor, unpacked(tensor, map->elements <= 16 ? 4 : 8));
    }
    set(tensor, is_word(tensor) ? in_words(tensor, *scale, module) : in_bytes(tensor, *scale));
  }

  // MLX has a scale for each group of a row; Quark packs rows or columns whole.
  Weights in_words(const TensorInfo& tensor, const TensorInfo& scale, std::string_view module) {
    if (scale.shape.empty() || last(tensor) == 0) return std::nullopt;
    if (tensor.type.name() == "I32") {
      const std::uint64_t outputs = last(scale);
      if (outputs > last(tensor) && outputs % last(tensor) == 0) {
        return product_of(tensor.elements / last(tensor), outputs);
      }
      return unpacked(tensor, config_.of(module).bits);
    }
    Quantization group = config_.of(module);
    if (group.group_size == 0 && group.bits == 0) group.group_size = 64;  // MLX's default
    const auto inputs = product_of(last(scale), group.group_size);
    const std::uint64_t bits = inputs ? bits_of(last(tensor), 32, *inputs) : 0;
    return unpacked(tensor, bits > 0 ? bits : group.bits);
  }

  // Small floats in bytes: NVFP4 has a scale for 16 of them, MXFP4 and MXFP6 a byte for 32. 0:
  // none.
  static std::uint64_t bits_of_floats(const TensorInfo& tensor, const TensorInfo& scale) {
    if (scale.shape.size() != tensor.shape.size() || last(scale) == 0) return 0;
    if (last(tensor) % last(scale) != 0) return 0;
    const std::uint64_t bytes_per_scale = last(tensor) / last(scale);
    if (bytes_per_scale == 8) return 4;
    if (scale.type.block_bits() != 8) return 0;
    return bytes_per_scale == 16 ? 4 : bytes_per_scale == 24 ? 6 : 0;
  }

  Weights in_bytes(const TensorInfo& tensor, const TensorInfo& scale) const {
    if (!is_byte(tensor)) return tensor.elements;
    const bool is_unsigned = tensor.type.name() == "U8";
    if (config_.method == "bitnet" && is_unsigned) return unpacked(tensor, 2);
    std::uint64_t bits = bits_of_floats(tensor, scale);
    const bool has_pairs_of_rows = scale.shape.size() == tensor.shape.size() &&
                                   scale.shape[0] == tensor.shape[0] * 2;  // ModelOpt's INT4
    if (bits == 0) bits = has_pairs_of_rows ? 4 : 8;
    // A whole weight of fewer bits may be in a signed byte.
    const bool is_possible = config_.may_have(bits) || (bits == 8 && !is_unsigned);
    return is_possible ? unpacked(tensor, bits) : std::nullopt;
  }

  Contents& contents_;
  QuantizationConfig config_;
  std::uint64_t decided_bytes_ = 0;  // of tensors with one weight in each element
  std::uint64_t undecided_ = 0;
  std::string first_undecided_;
};

}  // namespace

void count_weights(Contents& contents) {
  for (TensorInfo& tensor : contents.tensors) tensor.weights = tensor.elements;
  const bool may_be_packed = contents.format == ModelFormat::safetensors &&
                             std::ranges::any_of(contents.tensors, [](const TensorInfo& tensor) {
                               return tensor.type.block_bits() == 8 ||
                                      tensor.type.name().find('I') == 0 ||
                                      tensor.type.name() == "U32";
                             });
  if (may_be_packed) WeightCounter(contents).count();
}

}  // namespace hiptool::model
