// SPDX-License-Identifier: MIT
#include "model/torchao_tensor.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace hiptool::model {
namespace {

using TorchaoJson = nlohmann::json;

constexpr std::string_view packed_end = "_qdata";

// What __metadata__ states of the tensor; no object where it states nothing.
TorchaoJson statement_of(std::string_view packed_name, const Metadata& metadata) {
  constexpr std::size_t most_bytes = 65'536;
  const std::string_view whole = packed_name.substr(0, packed_name.size() - packed_end.size());
  const std::size_t dot = whole.rfind('.');
  if (dot == whole.npos || whole.substr(dot + 1, 1) != "_") return nullptr;
  std::string name(whole.substr(0, dot + 1));
  name += whole.substr(dot + 2);
  const auto* text = metadata.value<std::string>(name);
  if (text == nullptr || text->size() > most_bytes) return nullptr;
  return TorchaoJson::parse(*text, nullptr, false);
}

std::string text_in(const TorchaoJson& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found == json.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The product of the shape in the class's data.
std::optional<std::uint64_t> stated_elements(const TorchaoJson& data) {
  const auto shape = data.is_object() ? data.find("shape") : data.end();
  if (shape == data.end() || !shape->is_array() || shape->empty()) return std::nullopt;
  std::uint64_t product = 1;
  for (const TorchaoJson& extent : *shape) {
    if (!extent.is_number_unsigned() ||
        __builtin_mul_overflow(product, extent.get<std::uint64_t>(), &product)) {
      return std::nullopt;
    }
  }
  return product;
}

std::optional<std::uint64_t> of_4_bits(const TensorInfo& tensor) {
  std::uint64_t weights = 0;
  const std::uint64_t in_element = tensor.type.block_bits() / 4;
  if (__builtin_mul_overflow(tensor.elements, in_element, &weights)) return std::nullopt;
  return weights;
}

std::optional<std::uint64_t> of_class(const std::string& name, const TorchaoJson& data,
                                      const TensorInfo& tensor) {
  constexpr std::array<std::string_view, 3> whole{"Float8Tensor", "Int8Tensor",
                                                  "IntxUnpackedToInt8Tensor"};
  for (const std::string_view other : whole) {
    if (name == other) return tensor.elements;
  }
  if (name == "NVFP4Tensor") return of_4_bits(tensor);
  if (name == "MXTensor") {  // FP6 has a byte for each weight
    const auto type = data.is_object() ? data.find("elem_dtype") : data.end();
    if (type == data.end()) return std::nullopt;
    return text_in(*type, "_data").starts_with("float4") ? of_4_bits(tensor) : tensor.elements;
  }
  return std::nullopt;
}

// Int8Tensor has a row of scales for each output, Int4Tensor a column.
std::optional<std::uint64_t> of_signed_bytes(const TensorInfo& tensor, const TensorInfo* scale) {
  const std::size_t rank = tensor.shape.size();
  if (scale == nullptr) return std::nullopt;
  if (scale->elements == 1) return tensor.elements;
  if (rank < 2 || scale->shape.size() != rank) return std::nullopt;
  const std::uint64_t outputs = tensor.shape[rank - 2];
  const bool has_rows = scale->shape[rank - 2] == outputs;
  const bool has_columns = scale->shape[rank - 1] == outputs;
  if (has_rows == has_columns) return std::nullopt;
  return has_columns ? of_4_bits(tensor) : tensor.elements;
}

}  // namespace

std::optional<std::uint64_t> weights_of_torchao(const TensorInfo& tensor, const TensorInfo* scale,
                                                const Metadata& metadata) {
  const TorchaoJson statement = statement_of(tensor.name, metadata);
  const std::string name = text_in(statement, "_type");
  if (!name.empty()) {
    const TorchaoJson data = statement.value("_data", TorchaoJson());
    const auto weights = stated_elements(data);
    return weights ? weights : of_class(name, data, tensor);
  }
  if (tensor.type.name() == "I8") return of_signed_bytes(tensor, scale);
  const bool is_packed = tensor.type.name() == "U8" || tensor.type.name() == "I32";
  return is_packed ? of_4_bits(tensor) : tensor.elements;
}

}  // namespace hiptool::model
