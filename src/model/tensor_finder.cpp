// SPDX-License-Identifier: MIT
#include "model/tensor_finder.hpp"

#include <algorithm>
#include <utility>

#include "model/text.hpp"

namespace hiptool::model {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace

std::string TensorFinder::vector(std::string name, std::uint64_t extent) {
  return check(std::move(name), {extent});
}

std::string TensorFinder::matrix(std::string name, std::uint64_t rows, std::uint64_t columns) {
  // GGUF writes the fastest extent first.
  if (is_gguf_) return check(std::move(name), {columns, rows});
  return check(std::move(name), {rows, columns});
}

MatrixSpec TensorFinder::product(const std::string& name, std::uint64_t rows, std::uint64_t columns,
                                 Bias bias) {
  MatrixSpec product;
  product.weight = matrix(name + ".weight", rows, columns);
  product.rows = rows;
  product.columns = columns;
  find_scales(product, rows);
  const bool has_bias = bias == Bias::where_stored && has(name + ".bias");
  if (has_bias || bias == Bias::always) product.bias = vector(name + ".bias", rows);
  return product;
}

MatrixSpec TensorFinder::row(const std::string& name, std::uint64_t columns) {
  const TensorInfo* const tensor = is_gguf_ ? model_.find(name + ".weight") : nullptr;
  if (tensor == nullptr || tensor->shape.size() != 1) {
    return product(name, 1, columns, Bias::never);
  }
  MatrixSpec product;
  product.weight = vector(name + ".weight", columns);
  product.rows = 1;
  product.columns = columns;
  return product;
}

MatrixSpec TensorFinder::part(const std::string& name, std::uint64_t first_row, std::uint64_t rows,
                              std::uint64_t tensor_rows, std::uint64_t columns) {
  MatrixSpec product;
  product.weight = matrix(name + ".weight", tensor_rows, columns);
  product.rows = rows;
  product.columns = columns;
  product.first_row = first_row;
  product.tensor_rows = tensor_rows;
  find_scales(product, tensor_rows);
  return product;
}

ExpertMatrices TensorFinder::experts(const std::string& prefix, const TensorNames& names,
                                     std::string_view part, std::uint64_t count, std::uint64_t rows,
                                     std::uint64_t columns, Bias bias) {
  ExpertMatrices all;
  all.rows = rows;
  all.columns = columns;
  if (is_gguf_) {
    const std::string name = prefix + std::string(part) + ".weight";
    all.weights.push_back(check(name, {columns, rows, count}));
    if (bias == Bias::always) {
      all.bias = check(prefix + std::string(part) + ".bias", {rows, count});
    }
    return all;
  }
  for (std::uint64_t expert = 0; expert < count; ++expert) {
    all.weights.push_back(matrix(prefix + std::string(names.experts) + std::to_string(expert) +
                                     "." + std::string(part) + ".weight",
                                 rows, columns));
    const std::string scales = scales_of(all.weights.back(), rows, columns);
    if (scales.empty()) continue;
    all.block_scales.push_back(scales);
    all.block_rows = block_rows_;
    all.block_columns = block_columns_;
  }
  if (!all.block_scales.empty() && all.block_scales.size() != count) {
    refuse_decoder(model_.path(),
                   "some of " + in_quotes(prefix + std::string(part)) + " are in FP8",
                   "use a model whose experts are of one type");
  }
  return all;
}

ExpertMatrices TensorFinder::joined_experts(const std::string& name, std::uint64_t count,
                                            std::uint64_t first_row, std::uint64_t rows,
                                            std::uint64_t tensor_rows, std::uint64_t columns) {
  ExpertMatrices all;
  all.rows = rows;
  all.columns = columns;
  all.first_row = first_row;
  if (tensor_rows > rows) all.tensor_rows = tensor_rows;
  all.weights.push_back(is_gguf_ ? check(name, {columns, tensor_rows, count})
                                 : check(name, {count, tensor_rows, columns}));
  return all;
}

ExpertMatrices TensorFinder::packed_experts(const std::string& prefix, std::uint64_t count,
                                            std::uint64_t first_row, std::uint64_t row_step,
                                            std::uint64_t rows, std::uint64_t columns) {
  constexpr std::uint64_t block = 32;
  if (columns % block != 0) {
    refuse_decoder(model_.path(),
                   "rows of " + std::to_string(columns) + " elements are not whole blocks of 32",
                   "metadata and tensors must belong to one model");
  }
  ExpertMatrices all;
  all.rows = rows;
  all.columns = columns;
  all.first_row = first_row;
  all.row_step = row_step;
  all.weights.push_back(
      check(prefix + "blocks", {count, row_step * rows, columns / block, block / 2}));
  all.scales = check(prefix + "scales", {count, row_step * rows, columns / block});
  for (const std::string& name : {all.weights.front(), all.scales}) {
    if (model_.find(name)->type.name() == "U8") continue;
    refuse_decoder(model_.path(), "tensor " + in_quotes(name) + " is not of type U8",
                   "use experts in MXFP4");
  }
  all.bias = check(prefix + "bias", {count, row_step * rows});
  return all;
}

std::string TensorFinder::convolution(const std::string& name, std::uint64_t channels,
                                      std::uint64_t taps) {
  if (is_gguf_) return check(name, {taps, channels});
  return check(name, {channels, 1, taps});
}

MatrixSpec TensorFinder::head_matrices(const std::string& name, std::uint64_t heads,
                                       std::uint64_t rows, std::uint64_t columns) {
  MatrixSpec product;
  product.weight = check(name + ".weight", {columns, rows, heads});
  product.rows = heads * rows;
  product.columns = columns;
  return product;
}

void TensorFinder::leave_out_layers(std::string_view prefix, std::uint64_t first,
                                    std::uint64_t count) {
  for (std::uint64_t layer = first; layer < first + count; ++layer) {
    left_out_.push_back(std::string(prefix) + std::to_string(layer) + ".");
  }
}

void TensorFinder::refuse_others(const DecoderSpec& spec) const {
  for (const TensorInfo& tensor : model_.tensors()) {
    if (used_.count(tensor.name) > 0 || is_known_copy(tensor.name)) continue;
    if (is_part_ && is_of_images(tensor.name)) continue;
    const auto has_name = [&](const std::string& prefix) {
      return tensor.name.compare(0, prefix.size(), prefix) == 0;
    };
    if (std::ranges::any_of(left_out_, has_name)) continue;
    refuse_decoder(model_.files()[tensor.file].path,
                   "tensor " + in_quotes(tensor.name) + " has no place in the architecture " +
                       spec.architecture,
                   "models with further tensors (adapters, experts) are not supported yet");
  }
}

std::string TensorFinder::scales_of(const std::string& weight, std::uint64_t rows,
                                    std::uint64_t columns) {
  if (block_rows_ == 0 || model_.find(weight)->type.name() != "F8_E4M3") return {};
  const auto blocks = [](std::uint64_t extent, std::uint64_t block) {
    return (extent + block - 1) / block;
  };
  return matrix(weight + "_scale_inv", blocks(rows, block_rows_), blocks(columns, block_columns_));
}

void TensorFinder::find_scales(MatrixSpec& product, std::uint64_t tensor_rows) {
  product.scales = scales_of(product.weight, tensor_rows, product.columns);
  if (product.scales.empty()) return;
  product.block_rows = block_rows_;
  product.block_columns = block_columns_;
}

std::string TensorFinder::name_in_file(const std::string& name) const {
  constexpr std::string_view whole = "model.";
  if (!is_part_) return name;
  for (const std::string& longer :
       {"language_model." + name,
        name.starts_with(whole) ? "model.language_model." + name.substr(whole.size()) : name}) {
    if (model_.find(longer) != nullptr) return longer;
  }
  return name;
}

bool TensorFinder::is_of_images(std::string_view name) {
  constexpr std::string_view whole = "model.";
  if (name.starts_with(whole)) name.remove_prefix(whole.size());
  return name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.") ||
         name.starts_with("visual.");
}

std::string TensorFinder::check(std::string name, const std::vector<std::uint64_t>& shape) {
  name = name_in_file(name);
  const TensorInfo* tensor = model_.find(name);
  if (tensor == nullptr) {
    refuse_decoder(model_.path(), "tensor " + in_quotes(name) + " is missing",
                   "use a complete model; all files of a set must be there");
  }
  if (tensor->shape != shape) {
    refuse_decoder(model_.files()[tensor->file].path,
                   "tensor " + in_quotes(name) + " has the shape " + shape_text(tensor->shape) +
                       " in place of " + shape_text(shape),
                   "metadata and tensors must belong to one model");
  }
  used_.insert(name);
  return name;
}

bool TensorFinder::is_known_copy(std::string_view name) {
  constexpr std::string_view frequencies = ".rotary_emb.inv_freq";
  return name.size() > frequencies.size() &&
         name.substr(name.size() - frequencies.size()) == frequencies;
}

}  // namespace hiptool::model
