// SPDX-License-Identifier: MIT
// Operations as families of the bench: judged, timed and rated at one shape and layout.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "base/xxh3.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel/work.hpp"
#include "measure/ops/judge.hpp"
#include "measure/ops/sweep.hpp"

namespace hiptool::measure {
namespace {

using ops::reference::Expected;
using ops::reference::Values;

/// A prime, which does not align with any grid or row.
constexpr std::uint64_t period = 65521;
constexpr std::uint64_t row_elements = 4096;

Dims dims_of_size(std::uint64_t size_bytes, DType dtype) {
  const std::uint64_t count = std::max<std::uint64_t>(1, size_bytes / element_size_bytes(dtype));
  if (count < 2 * row_elements) return {count};
  return {count / row_elements, row_elements};
}

std::uint64_t count_of_dims(const Dims& dims) { return Layout(dims).element_count(); }

/// The bytes of a table, repeated.
std::vector<std::byte> repeated(const std::vector<std::byte>& table, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t done = 0; done < bytes; done += table.size()) {
    std::memcpy(all.data() + done, table.data(), std::min(table.size(), bytes - done));
  }
  return all;
}

/// Elementwise operations have inputs that repeat with a period, so that the reference computes no
/// more than that; others are computed as a whole.
class OperationWork final : public KernelWork {
 public:
  OperationWork(const Device& device, const WorkContext& context, const OperationEntry& operation)
      : operation_(operation),
        dtype_(dtype_from_name(context.dtype).value()),
        arrangement_(arrangement_from_name(context.layout).value()),
        dims_(context.shape.empty() ? dims_of_size(context.size_bytes, dtype_) : context.shape),
        backend_(context.backend()) {
    if (operation.needs_contiguous && !is_in_one_piece(arrangement_)) {
      throw Error(ErrorCode::unsupported, operation.name,
                  operation.name + " takes tensors in one piece, not " + context.layout);
    }
    const std::uint64_t count = count_of_dims(dims_);
    InputMaker maker(DataKind::random, context.seed);
    const Dims table{std::min(count, period)};
    std::vector<OperationCase> cases =
        operation.cases(dtype_, operation.is_elementwise ? table : dims_, maker);
    const bool is_in_place = arrangement_ == Arrangement::in_place;
    if (cases.empty() || (is_in_place && !cases.front().in_place)) {
      throw Error(ErrorCode::unsupported, operation.name,
                  operation.name + " of " + context.dtype + " has no " +
                      (is_in_place ? "form in place" : "case of shape " + shape_text(dims_)));
    }
    call_ = std::move(cases.front());
    if (operation.is_elementwise) stretch(count);
    const auto allocate = [&](std::size_t bytes) { return Buffer(device, bytes); };
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      inputs_.push_back(
          place(allocate, call_.inputs[i].dtype, call_.inputs[i].dims, arrangement_, i));
    }
    if (!is_in_place) {
      out_ = place(allocate, call_.result_dtype, call_.result_dims, arrangement_, std::nullopt);
    }
    for (const PlacedTensor& input : inputs_) tensors_.push_back(input.tensor);
  }

  Figures figures() const override {
    Figures figures;
    figures.elements = count_of_dims(call_.result_dims);
    figures.size_bytes = count_of_dims(dims_) * element_size_bytes(dtype_);
    figures.tolerance = operation_.is_exact ? 0 : 1;  // errors are shares of the bound
    for (const PlacedTensor& input : inputs_) figures.bytes += bytes_read(input.tensor);
    figures.bytes += static_cast<double>(figures.elements * element_size_bytes(call_.result_dtype));
    return figures;
  }

  void reset() override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (input_bytes_.empty()) {
        inputs_[i].write(call_.inputs[i].bytes);
      } else {
        inputs_[i].write(repeated(call_.inputs[i].bytes, input_bytes_[i]));
      }
    }
    if (out_) out_->poison();
    runs_ = 0;
    right_digest_.reset();
  }

  void queue() override {
    call_.run(backend_, tensors_, out().tensor);
    ++runs_;
  }

  Comparison check() override {
    backend_.synchronize();
    Comparison seen;
    const bool is_spent = !out_ && runs_ > 1;
    if (is_spent) return seen;  // the first check has judged the only run with known inputs
    const std::vector<std::byte> image = out().read();
    const std::vector<std::byte> elements = out().elements_of(image);
    const std::uint64_t digest = base::xxh3_64(elements.data(), elements.size());
    seen.checked = elements.size() / element_size_bytes(call_.result_dtype);
    digest_ = base::to_hex(digest);
    if (right_digest_ != digest) compare(elements, seen);
    if (seen.wrong) return seen;
    right_digest_ = digest;
    find_damage(image, seen);
    return seen;
  }

  std::string shape() const override { return shape_text(dims_); }
  std::string digest() const override { return digest_; }

 private:
  PlacedTensor& out() { return out_ ? *out_ : inputs_[*call_.in_place]; }

  /// Bytes that have to be read at least: an element that repeats counts once.
  static double bytes_read(const Tensor& tensor) {
    const Layout& layout = tensor.layout();
    double bytes = static_cast<double>(element_size_bytes(tensor.dtype()));
    for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
      if (layout.strides()[axis] != 0) bytes *= static_cast<double>(layout.dims()[axis]);
    }
    return bytes;
  }

  void stretch(std::uint64_t count) {
    for (InputData& input : call_.inputs) {
      input_bytes_.push_back(count * element_size_bytes(input.dtype));
      input.dims = dims_;
    }
    call_.result_dims = dims_;
  }

  void compare(std::span<const std::byte> elements, Comparison& seen) {
    const std::size_t size = element_size_bytes(call_.result_dtype);
    const std::uint64_t count = elements.size() / size;
    const std::uint64_t step = operation_.is_elementwise ? std::min(count, period) : count;
    // Where an axis is repeated, the inputs are not periodic.
    const bool is_periodic = arrangement_ != Arrangement::broadcast;
    std::optional<Expected> expected;
    for (std::uint64_t first = 0; first < count; first += step) {
      const std::uint64_t length = std::min(step, count - first);
      const bool is_whole = length == step;
      if (!expected || !is_periodic || !is_whole) expected = expected_from(first, length);
      const CallResult judged = compare_elements(
          call_.result_dtype, elements.subspan(first * size, length * size), *expected);
      merge(judged, first, seen);
    }
  }

  /// The reference of this part of the elements; of all of them where it is no elementwise one.
  Expected expected_from(std::uint64_t first, std::uint64_t length) const {
    std::vector<Values> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::size_t size = element_size_bytes(call_.inputs[i].dtype);
      if (!operation_.is_elementwise) {
        values.push_back(ops::reference::values_of(
            call_.inputs[i].dtype, inputs_[i].elements_of(inputs_[i].image), call_.inputs[i].dims));
        continue;
      }
      std::vector<std::byte> part(length * size);
      for (std::uint64_t k = 0; k < length; ++k) {
        std::memcpy(
            part.data() + k * size,
            inputs_[i].image.data() + inputs_[i].tensor.layout().offset_at(first + k) * size, size);
      }
      values.push_back(ops::reference::values_of(call_.inputs[i].dtype, part, Dims{length}));
    }
    return call_.reference(values);
  }

  static void merge(const CallResult& judged, std::uint64_t first, Comparison& seen) {
    seen.max_error = std::max(seen.max_error, judged.max_error);
    if (!judged.wrong) return;
    if (!judged.wrong->element) {
      seen.missed_fault = judged.wrong->what;
      return;
    }
    const report::WrongData& wrong = *judged.wrong->element;
    if (!seen.wrong) {
      seen.wrong = wrong;
      seen.wrong->first_index = *wrong.first_index + first;
      seen.wrong->reread_agrees = true;
      return;
    }
    seen.wrong->count += wrong.count;
    seen.wrong->xor_bits |= wrong.xor_bits;
  }

  void find_damage(std::span<const std::byte> image, Comparison& seen) {
    if (!out().is_intact(image)) seen.missed_fault = "wrote outside of the output's elements";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!out_ && i == *call_.in_place) continue;
      if (inputs_[i].read() != inputs_[i].image) {
        seen.missed_fault = "changed input " + std::to_string(i);
      }
    }
  }

  const OperationEntry& operation_;
  DType dtype_;
  Arrangement arrangement_;
  Dims dims_;
  Backend backend_;
  OperationCase call_;
  std::vector<std::size_t> input_bytes_;  ///< of inputs that are repeated tables; else empty
  std::vector<PlacedTensor> inputs_;
  std::optional<PlacedTensor> out_;
  std::vector<Tensor> tensors_;
  std::uint64_t runs_ = 0;
  std::optional<std::uint64_t> right_digest_;
  std::string digest_;
};

}  // namespace

void add_operation_families(std::vector<FamilyEntry>& families) {
  for (const OperationEntry& operation : operations()) {
    const bool is_taken =
        std::any_of(families.begin(), families.end(), [&](const FamilyEntry& entry) {
          return entry.family.name == operation.name || entry.family.group == operation.name;
        });
    if (is_taken) continue;
    KernelFamily family{operation.name, operation.group, operation.description, {}};
    for (const DType dtype : operation.dtypes) family.dtypes.emplace_back(to_string(dtype));
    FamilyEntry entry{std::move(family), operation.arrays, nullptr, true};
    entry.make = [&operation](const Device& device, const WorkContext& context) {
      return std::make_unique<OperationWork>(device, context, operation);
    };
    families.push_back(std::move(entry));
  }
}

}  // namespace hiptool::measure
