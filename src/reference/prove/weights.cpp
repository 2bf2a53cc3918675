// SPDX-License-Identifier: MIT
#include "reference/prove/weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "model/parts.hpp"
#include "reference/prove/parallel.hpp"
#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

constexpr std::uint64_t chunk_bytes = 1u << 20;

// Eight sums, so that a processor can add two or four at a time; in the same order everywhere.
double dot_product(const double* left, const double* right, std::size_t count) {
  std::array<double, 8> sums{};
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += left[at + lane] * right[at + lane];
  }
  for (; at < count; ++at) sums[at % 8] += left[at] * right[at];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// The same of the squares of the terms.
double square_product(const double* left, const double* right, std::size_t count) {
  std::array<double, 8> sums{};
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double term = left[at + lane] * right[at + lane];
      sums[lane] += term * term;
    }
  }
  for (; at < count; ++at) sums[0] += left[at] * right[at] * left[at] * right[at];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// NaN where any of them is not finite; in eight sums, as above.
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

  std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * row_bytes));
    const std::uint64_t begin = offset + first * row_bytes;
    file->read_at(bytes, begin);
    if (weights->seen_->add(tensor, begin, bytes)) return bytes;
    throw changed(weights->model_, *tensor, "was read twice, with different bytes");
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
          columns / info.type.block_elements() * block_bytes};
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

std::vector<double> Weights::product(const MatrixSpec& matrix, std::span<const double> inputs,
                                     std::vector<double>* squares) const {
  const Rows rows = rows_of(matrix.weight, matrix.columns);
  const auto columns = static_cast<std::size_t>(matrix.columns);
  const auto height = static_cast<std::size_t>(matrix.rows);
  const std::size_t tokens = inputs.size() / columns;
  std::vector<double> outputs(tokens * height);
  if (!matrix.bias.empty()) {
    const std::vector<double> bias = vector(matrix.bias);
    for (std::size_t token = 0; token < tokens; ++token) {
      std::copy(bias.begin(), bias.end(),
                outputs.begin() + static_cast<std::ptrdiff_t>(token * height));
    }
  }
  if (squares != nullptr) {
    *squares = outputs;
    for (double& bias : *squares) bias *= bias;
  }
  const auto step =
      static_cast<std::size_t>(std::max<std::uint64_t>(1, chunk_bytes / rows.row_bytes));
  run_parallel(threads_, (height + step - 1) / step, [&](std::size_t chunk) {
    if (cancel_ != nullptr) cancel_->throw_if_cancelled("compute the reference");
    const std::size_t first = chunk * step;
    const std::size_t end = std::min(height, first + step);
    const std::vector<std::byte> bytes = rows.read(first, end - first);
    std::vector<double> values(columns);
    for (std::size_t row = first; row < end; ++row) {
      const auto row_bytes = static_cast<std::size_t>(rows.row_bytes);
      to_doubles(rows.type, std::span(bytes).subspan((row - first) * row_bytes, row_bytes), values);
      require_finite(matrix.weight, values, row * columns);
      for (std::size_t token = 0; token < tokens; ++token) {
        outputs[token * height + row] +=
            dot_product(values.data(), inputs.data() + token * columns, columns);
        if (squares == nullptr) continue;
        (*squares)[token * height + row] +=
            square_product(values.data(), inputs.data() + token * columns, columns);
      }
    }
  });
  return outputs;
}

}  // namespace hiptool::reference
