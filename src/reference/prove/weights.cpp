// SPDX-License-Identifier: MIT
#include "reference/prove/weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "model/parts.hpp"
#include "reference/prove/parallel.hpp"
#include "reference/prove/row_products.hpp"
#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

constexpr std::uint64_t chunk_bytes = 1u << 20;

// NaN where any of them is not finite; in eight sums, which a processor adds two at a time.
double sum_of_zeros(const std::vector<double>& values) {
  std::array<double, 8> sums{};
  std::size_t at = 0;
  for (; at + 8 <= values.size(); at += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += values[at + lane] * 0;
  }
  for (; at < values.size(); ++at) sums[0] += values[at] * 0;
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

Error changed(const ModelFile& model, const TensorInfo& tensor, const std::string& how) {
  return Error(ErrorCode::input_failed, "read weights",
               model.files()[tensor.file].path.string() + " changed while it was read: tensor '" +
                   tensor.name + "' " + how + "; the device is not to blame",
               "wait until nothing writes to the file and run the command again; if it repeats, "
               "test this host's disk and memory");
}

}  // namespace

class Weights::Seen {
 public:
  struct Range {
    std::uint64_t size_bytes = 0;
    std::uint64_t digest = 0;
  };
  using Ranges = std::map<std::uint64_t, Range>;

  /// False where an earlier read of the same range gave other bytes.
  bool add(const TensorInfo* tensor, std::uint64_t offset, std::span<const std::byte> bytes) {
    const Range range{bytes.size(), base::xxh3_64(bytes.data(), bytes.size())};
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = tensors_[tensor].try_emplace(offset, range);
    return is_new || known->second.size_bytes != range.size_bytes ||
           known->second.digest == range.digest;
  }
  std::map<const TensorInfo*, Ranges> get() {
    const std::lock_guard lock(mutex_);
    return tensors_;
  }

 private:
  std::mutex mutex_;
  std::map<const TensorInfo*, Ranges> tensors_;
};

struct Weights::Rows {
  const Weights* weights;
  const TensorInfo* tensor;
  const base::File* file;
  ElementType type;
  std::uint64_t offset;
  std::uint64_t columns;
  std::uint64_t row_bytes;
  std::optional<ToDoubles> read_values;  // absent of packed experts
  std::uint64_t first_row = 0;           // of the tensor
  std::uint64_t row_step = 1;
  const TensorInfo* scales = nullptr;  // of packed experts: a byte for each 16 of the rows
  const base::File* scales_file = nullptr;
  std::vector<double> block_scales = {};  // of numbers in FP8: rows of blocks, one after the other
  std::uint64_t block_rows = 0;
  std::uint64_t block_columns = 0;

  /// Of this matrix, from the first row to the last, with the rows of the tensor between them.
  std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const {
    return read_bytes(*tensor, *file, offset + (first_row + first * row_step) * row_bytes,
                      ((count - 1) * row_step + 1) * row_bytes);
  }
  std::vector<std::byte> read_scales(std::uint64_t first, std::uint64_t count) const {
    if (scales == nullptr) return {};
    const std::uint64_t of_row = row_bytes / 16;
    return read_bytes(*scales, *scales_file,
                      scales->file_offset + (first_row + first * row_step) * of_row,
                      ((count - 1) * row_step + 1) * of_row);
  }
  std::vector<std::byte> read_bytes(const TensorInfo& from, const base::File& source,
                                    std::uint64_t begin, std::uint64_t count) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    source.read_at(bytes, begin);
    if (weights->seen_->add(&from, begin, bytes)) return bytes;
    throw changed(weights->model_, from, "was read twice, with different bytes");
  }

  /// Columns of some rows from the first one on, of what read() and read_scales() gave.
  void to_piece(std::span<const std::byte> bytes, std::span<const std::byte> exponents,
                std::size_t first, std::size_t count, std::size_t column,
                std::vector<double>& piece) const {
    const std::size_t width =
        std::min(RowProducts::piece_columns, static_cast<std::size_t>(columns) - column);
    const std::size_t elements = scales != nullptr ? 2 : type.block_elements();
    const std::size_t block_bytes = scales != nullptr ? 1 : type.block_bits() / 8;
    piece.resize(count * width);
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t at = (first + row) * static_cast<std::size_t>(row_step * row_bytes) +
                             column / elements * block_bytes;
      const auto own = bytes.subspan(at, width / elements * block_bytes);
      const auto numbers = std::span(piece).subspan(row * width, width);
      if (read_values) {
        (*read_values)(own, numbers);
      } else {
        packed_to_doubles(own, exponents.subspan(at / 16, own.size() / 16), numbers);
      }
    }
  }
  /// Of such a piece, whose first row is that one of the matrix.
  void scale(std::uint64_t row, std::size_t count, std::uint64_t column,
             std::vector<double>& piece) const {
    if (block_scales.empty()) return;
    const std::uint64_t blocks_of_row = (columns + block_columns - 1) / block_columns;
    const std::uint64_t end = column + piece.size() / count;
    double* number = piece.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t of_tensor = first_row + (row + i) * row_step;
      const std::uint64_t first_block = of_tensor / block_rows * blocks_of_row;
      for (std::uint64_t at = column; at < end;) {
        const std::uint64_t block = at / block_columns;
        const double scale = block_scales[static_cast<std::size_t>(first_block + block)];
        for (const std::uint64_t past = std::min(end, (block + 1) * block_columns); at < past;
             ++at) {
          *number++ *= scale;
        }
      }
    }
  }
};

Weights::Weights(ModelFile model, std::uint32_t threads, const CancelToken* cancel)
    : model_(std::move(model)),
      files_(model::open_unchanged(model_)),
      seen_(std::make_unique<Seen>()),
      threads_(threads),
      cancel_(cancel) {}

Weights::~Weights() = default;

const TensorInfo& Weights::find(const std::string& tensor) const {
  const TensorInfo* info = model_.find(tensor);
  if (info != nullptr) return *info;
  throw Error(ErrorCode::input_failed, "read weights",
              model_.path().string() + ": tensor '" + tensor + "' is missing",
              "use the model that the description was read from");
}

void Weights::check(const std::string& tensor, std::uint64_t columns) const {
  const TensorInfo& info = find(tensor);
  const std::string name(info.type.name());
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::input_failed, "read weights",
                model_.path().string() + ": tensor '" + tensor + "' of type " + name + " " + why,
                "use a model with weights of a supported type");
  };
  if (!has_values(info.type)) refuse("cannot be computed with");
  if (columns % info.type.block_elements() != 0) {
    refuse("has rows of " + std::to_string(columns) + " elements, which are not whole blocks");
  }
}

Weights::Rows Weights::rows_of(const std::string& tensor, std::uint64_t columns) const {
  const TensorInfo& info = find(tensor);
  const std::uint64_t block_bytes = info.type.block_bits() / 8;
  return {this,
          &info,
          &files_[info.file],
          info.type,
          info.file_offset,
          columns,
          columns / info.type.block_elements() * block_bytes,
          ToDoubles(info.type)};
}

// Codes and exponents of Hugging Face's MXFP4.
Weights::Rows Weights::packed_rows_of(const ExpertMatrices& matrices) const {
  const TensorInfo& codes = find(matrices.weights.front());
  const TensorInfo& scales = find(matrices.scales);
  return {this,
          &codes,
          &files_[codes.file],
          codes.type,
          codes.file_offset,
          matrices.columns,
          matrices.columns / 2,
          std::nullopt,
          0,
          1,
          &scales,
          &files_[scales.file]};
}

void Weights::give_scales(Rows& rows, const std::string& scales, std::uint64_t block_rows,
                          std::uint64_t block_columns) const {
  if (scales.empty()) return;
  rows.block_scales = vector(scales);
  rows.block_rows = block_rows;
  rows.block_columns = block_columns;
}

void Weights::require_finite(const std::string& tensor, const std::vector<double>& values,
                             std::uint64_t first) const {
  if (sum_of_zeros(values) == 0) return;
  const auto bad =
      std::ranges::find_if_not(values, [](double value) { return std::isfinite(value); });
  const auto element = first + static_cast<std::uint64_t>(bad - values.begin());
  throw Error(ErrorCode::corrupt_data, "read weights",
              model_.path().string() + ": tensor '" + tensor + "' has " +
                  (std::isnan(*bad) ? "NaN" : "infinity") + " at element " +
                  std::to_string(element) + ", with which no device computes numbers",
              "`hiptool load MODEL --check-tensors` lists all NaN and infinities; use a sound copy "
              "of the model");
}

void Weights::require_unchanged(std::span<const std::uint64_t> digests) const {
  constexpr std::uint64_t block_bytes = 16384;
  model::check_unchanged(model_, files_);
  std::vector<std::byte> bytes;
  for (const auto& [tensor, ranges] : seen_->get()) {
    const base::File& file = files_[tensor->file];
    for (const auto& [offset, range] : ranges) {
      if (cancel_ != nullptr) cancel_->throw_if_cancelled("compare the files");
      bytes.resize(static_cast<std::size_t>(range.size_bytes));
      file.read_at(bytes, offset);
      if (base::xxh3_64(bytes.data(), bytes.size()) == range.digest) continue;
      throw changed(model_, *tensor, "has other bytes now than those that the reference used");
    }
    const auto index = static_cast<std::size_t>(tensor - model_.tensors().data());
    if (index >= digests.size() || digests[index] == 0) continue;
    std::vector<std::uint64_t> blocks;
    for (std::uint64_t at = 0; at < tensor->size_bytes; at += block_bytes) {
      if (cancel_ != nullptr) cancel_->throw_if_cancelled("compare the files");
      bytes.resize(static_cast<std::size_t>(std::min(block_bytes, tensor->size_bytes - at)));
      file.read_at(bytes, tensor->file_offset + at);
      blocks.push_back(load::block_digest(bytes));
    }
    if (load::tensor_digest(blocks) == digests[index]) continue;
    throw changed(model_, *tensor,
                  "has other bytes now than those that were verified on the device");
  }
}

void Weights::require_finite(const Rows& rows, const std::vector<double>& piece, std::uint64_t row,
                             std::uint64_t column) const {
  if (sum_of_zeros(piece) == 0) return;
  const std::uint64_t width =
      std::min<std::uint64_t>(RowProducts::piece_columns, rows.columns - column);
  for (std::size_t at = 0; at < piece.size(); at += static_cast<std::size_t>(width)) {
    const std::vector<double> part(piece.begin() + static_cast<std::ptrdiff_t>(at),
                                   piece.begin() + static_cast<std::ptrdiff_t>(at + width));
    const std::uint64_t of_tensor = rows.first_row + (row + at / width) * rows.row_step;
    require_finite(rows.tensor->name, part, of_tensor * rows.columns + column);
  }
}

std::vector<double> Weights::vector(const std::string& tensor) const {
  const std::uint64_t count = find(tensor).elements;
  const Rows rows = rows_of(tensor, count);
  std::vector<double> values(static_cast<std::size_t>(count));
  to_doubles(rows.type, rows.read(0, 1), values);
  require_finite(tensor, values, 0);
  return values;
}

std::vector<double> Weights::row(const MatrixSpec& matrix, std::uint64_t row) const {
  const Rows rows = rows_of(matrix.weight, matrix.columns);
  std::vector<double> values(static_cast<std::size_t>(matrix.columns));
  to_doubles(rows.type, rows.read(row, 1), values);
  require_finite(matrix.weight, values, row * matrix.columns);
  return values;
}

std::uint64_t Weights::rows_at_a_time(std::uint64_t rows, std::uint64_t row_bytes) const {
  // Threads that are done early take what is left, in reads that are worth their call.
  constexpr std::uint64_t pieces_of_thread = 4;
  constexpr std::uint64_t least_bytes = 1u << 16;
  const std::uint64_t fair = rows / (pieces_of_thread * threads_) + 1;
  const std::uint64_t least = least_bytes / row_bytes + 1;
  const std::uint64_t wanted = std::max(fair, least);
  const std::uint64_t whole = (wanted + RowProducts::most_rows - 1) / RowProducts::most_rows;
  return std::max<std::uint64_t>(1,
                                 std::min(whole * RowProducts::most_rows, chunk_bytes / row_bytes));
}

std::vector<double> Weights::product(const MatrixSpec& matrix, std::span<const double> inputs,
                                     std::vector<double>* squares, std::size_t squared) const {
  const auto columns = static_cast<std::size_t>(matrix.columns);
  const auto height = static_cast<std::size_t>(matrix.rows);
  const std::size_t tokens = inputs.size() / columns;
  if (squares == nullptr) squared = 0;
  squared = std::min(squared, tokens);
  std::vector<double> outputs(tokens * height);
  if (!matrix.bias.empty()) {
    const std::vector<double> bias = vector(matrix.bias);
    for (std::size_t token = 0; token < tokens; ++token) {
      std::copy(bias.begin(), bias.end(),
                outputs.begin() + static_cast<std::ptrdiff_t>(token * height));
    }
  }
  if (squares != nullptr) {
    squares->assign(outputs.begin(),
                    outputs.begin() + static_cast<std::ptrdiff_t>(squared * height));
    for (double& bias : *squares) bias *= bias;
  }
  Rows rows = rows_of(matrix.weight, matrix.columns);
  rows.first_row = matrix.first_row;
  give_scales(rows, matrix.scales, matrix.block_rows, matrix.block_columns);
  add_product(rows, height, inputs, outputs, squares, squared);
  return outputs;
}

std::vector<double> Weights::expert_product(const ExpertMatrices& matrices, std::uint64_t experts,
                                            std::span<const std::uint32_t> ids,
                                            std::span<const double> inputs,
                                            std::vector<double>* squares) const {
  const auto columns = static_cast<std::size_t>(matrices.columns);
  const auto height = static_cast<std::size_t>(matrices.rows);
  const std::size_t slots_of_input = ids.size() / (inputs.size() / columns);
  std::vector<double> outputs(ids.size() * height);
  if (squares != nullptr) squares->assign(outputs.size(), 0.0);
  std::vector<double> biases;
  if (!matrices.bias.empty()) biases = vector(matrices.bias);
  for (std::uint32_t expert = 0; expert < experts; ++expert) {
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      if (ids[slot] == expert) slots.push_back(slot);
    }
    if (slots.empty()) continue;
    const bool is_stacked = matrices.weights.size() == 1;
    const std::string& tensor = matrices.weights[is_stacked ? 0 : expert];
    const bool is_packed = !matrices.scales.empty();
    Rows rows = is_packed ? packed_rows_of(matrices) : rows_of(tensor, matrices.columns);
    const std::uint64_t of_expert =
        matrices.tensor_rows > 0 ? matrices.tensor_rows : matrices.rows * matrices.row_step;
    if (is_stacked) rows.first_row = expert * of_expert;
    rows.first_row += matrices.first_row;
    rows.row_step = matrices.row_step;
    if (!matrices.block_scales.empty()) {
      give_scales(rows, matrices.block_scales[expert], matrices.block_rows, matrices.block_columns);
    }
    std::vector<double> own_inputs;
    std::vector<double> own(slots.size() * height);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto input = inputs.subspan(slots[i] / slots_of_input * columns, columns);
      own_inputs.insert(own_inputs.end(), input.begin(), input.end());
      if (biases.empty()) continue;
      for (std::size_t row = 0; row < height; ++row) {
        own[i * height + row] =
            biases[(expert * height + row) * static_cast<std::size_t>(matrices.row_step) +
                   static_cast<std::size_t>(matrices.first_row)];
      }
    }
    std::vector<double> own_squares;
    if (squares != nullptr) {
      own_squares = own;
      for (double& bias : own_squares) bias *= bias;
    }
    add_product(rows, height, own_inputs, own, squares != nullptr ? &own_squares : nullptr,
                squares != nullptr ? slots.size() : 0);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto from = static_cast<std::ptrdiff_t>(i * height);
      const auto to = static_cast<std::ptrdiff_t>(slots[i] * height);
      std::copy_n(own.begin() + from, height, outputs.begin() + to);
      if (squares != nullptr)
        std::copy_n(own_squares.begin() + from, height, squares->begin() + to);
    }
  }
  return outputs;
}

std::vector<double> Weights::transposed_product(const MatrixSpec& matrix, std::size_t heads,
                                                std::span<const double> inputs,
                                                std::vector<double>* squares) const {
  const auto columns = static_cast<std::size_t>(matrix.columns);
  const std::size_t length = static_cast<std::size_t>(matrix.rows) / heads;
  const std::size_t tokens = inputs.size() / length;
  const Rows rows = rows_of(matrix.weight, matrix.columns);
  std::vector<double> outputs(tokens * heads * columns);
  if (squares != nullptr) squares->assign(outputs.size(), 0.0);
  run_parallel(threads_, heads, [&](std::size_t head) {
    if (cancel_ != nullptr) cancel_->throw_if_cancelled("compute the reference");
    std::vector<double> values(length * columns);
    to_doubles(rows.type, rows.read(head * length, length), values);
    require_finite(matrix.weight, values, head * length * columns);
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::size_t first = (token * heads + head) * columns;
      for (std::size_t at = 0; at < values.size(); ++at) {
        const double term = values[at] * inputs[token * length + at / columns];
        outputs[first + at % columns] += term;
        if (squares != nullptr) (*squares)[first + at % columns] += term * term;
      }
    }
  });
  return outputs;
}

// Adds W x to the outputs, tokens x height, and squares of the terms for the first `squared`.
void Weights::add_product(const Rows& rows, std::size_t height, std::span<const double> inputs,
                          std::span<double> outputs, std::vector<double>* squares,
                          std::size_t squared) const {
  const auto columns = static_cast<std::size_t>(rows.columns);
  const std::size_t tokens = inputs.size() / columns;
  const auto step =
      static_cast<std::size_t>(rows_at_a_time(height, rows.row_step * rows.row_bytes));
  run_parallel(threads_, (height + step - 1) / step, [&](std::size_t chunk) {
    const std::size_t end = std::min(height, (chunk + 1) * step);
    const std::vector<std::byte> bytes = rows.read(chunk * step, end - chunk * step);
    const std::vector<std::byte> exponents = rows.read_scales(chunk * step, end - chunk * step);
    RowProducts products(inputs, columns, squared);
    std::vector<double> piece;
    for (std::size_t first = chunk * step; first < end; first += RowProducts::most_rows) {
      if (cancel_ != nullptr) cancel_->throw_if_cancelled("compute the reference");
      const std::size_t count = std::min(RowProducts::most_rows, end - first);
      products.start();
      for (std::size_t column = 0; column < columns; column += RowProducts::piece_columns) {
        rows.to_piece(bytes, exponents, first - chunk * step, count, column, piece);
        require_finite(rows, piece, first, column);
        rows.scale(first, count, column, piece);
        products.add(piece, count);
      }
      for (std::size_t token = 0; token < tokens; ++token) {
        for (std::size_t row = 0; row < count; ++row) {
          outputs[token * height + first + row] += products.sum(row, token);
          if (token >= squared) continue;
          (*squares)[token * height + first + row] += products.sum_of_squares(row, token);
        }
      }
    }
  });
}

}  // namespace hiptool::reference
