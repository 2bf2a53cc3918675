// SPDX-License-Identifier: MIT
// Operations as families of the bench: judged, timed and rated at one shape and layout.
#include "measure/ops/timed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "base/units.hpp"
#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/ops/call_judge.hpp"
#include "measure/ops/sweep.hpp"
#include "ops/matmul_launch.hpp"
#include "system/host.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

// Primes, which do not align with any grid, row or other period.
constexpr std::uint64_t table_elements = 65521;
constexpr std::uint64_t table_rows = 61;
constexpr std::uint64_t table_columns = 4099;
constexpr std::uint64_t row_elements = 4096;

std::uint64_t count_of_dims(const Dims& dims) { return Layout(dims).element_count(); }

Dims rows_of_size(std::uint64_t size_bytes, DType dtype) {
  const std::uint64_t count = size_bytes / element_size_bytes(dtype);
  if (count < 2 * row_elements) return {count};
  return {count / row_elements, row_elements};
}

Dims of_rank(const OperationEntry& operation, Dims dims) {
  if (dims.size() < operation.rank) dims.insert(dims.begin(), operation.rank - dims.size(), 1);
  return dims;
}

Dims timed_dims(const OperationEntry& operation, const WorkContext& context, DType dtype) {
  return context.shape.empty() ? dims_of_size(operation, context.size_bytes, dtype)
                               : of_rank(operation, context.shape);
}

/// The part of that shape whose data repeats, and to which the reference is applied.
Dims table_dims(const OperationEntry& operation, Dims dims) {
  const std::size_t rank = dims.size();
  const bool repeats_everywhere = operation.is_elementwise ||
                                  operation.repeats == Repeats::anywhere ||
                                  operation.repeats == Repeats::summed;
  if (!repeats_everywhere) {
    if (rank > 1) dims[0] = std::min(dims[0], table_rows);
    return dims;
  }
  if (rank == 1) return {std::min(dims[0], table_elements)};
  std::uint64_t left = table_rows * table_columns;
  for (std::size_t axis = rank; axis-- > 0;) {
    const std::uint64_t most = axis + 1 == rank ? table_columns : std::min(table_rows, left);
    dims[axis] = std::min(dims[axis], most);
    left = std::max<std::uint64_t>(1, left / dims[axis]);
  }
  return dims;
}

/// Fills a packed tensor with another one of the same rank, repeated along each axis.
std::vector<std::byte> tiled(std::vector<std::byte> bytes, const Dims& from, const Dims& to,
                             std::size_t element_bytes) {
  std::size_t inner = element_bytes;
  for (std::size_t axis = to.size(); axis-- > 0; inner *= to[axis]) {
    if (from[axis] == to[axis]) continue;
    const std::size_t piece = from[axis] * inner;
    const std::size_t whole = to[axis] * inner;
    std::vector<std::byte> longer(bytes.size() / piece * whole);
    std::byte* out = longer.data();
    for (std::size_t at = 0; at < bytes.size(); at += piece, out += whole) {
      for (std::size_t done = 0; done < whole; done += piece) {
        std::memcpy(out + done, bytes.data() + at, std::min(piece, whole - done));
      }
    }
    bytes = std::move(longer);
  }
  return bytes;
}

/// Where an element of a part that begins where the whole does is in the whole.
std::uint64_t index_in_whole(std::uint64_t index, const Dims& part, const Dims& whole) {
  std::uint64_t found = 0;
  std::uint64_t scale = 1;
  for (std::size_t axis = part.size(); axis-- > 0;) {
    found += index % part[axis] * scale;
    index /= part[axis];
    scale *= whole[axis];
  }
  return found;
}

/// The elements of that part.
std::vector<std::byte> part_of(std::span<const std::byte> bytes, const Dims& part,
                               const Dims& whole, std::size_t element_bytes) {
  std::vector<std::byte> taken(count_of_dims(part) * element_bytes);
  const std::size_t row = part.empty() ? 1 : part.back();
  for (std::size_t i = 0; i * element_bytes < taken.size(); i += row) {
    std::memcpy(taken.data() + i * element_bytes,
                bytes.data() + index_in_whole(i, part, whole) * element_bytes, row * element_bytes);
  }
  return taken;
}

/// Replaces each element by itself times the number of its repetitions.
void multiply_by_repetitions(DType dtype, const Dims& whole, Values& values) {
  for (std::size_t i = 0; i < values.at.size(); ++i) {
    std::uint64_t times = 1;
    std::uint64_t rest = i;
    for (std::size_t axis = whole.size(); axis-- > 0;) {
      const std::uint64_t length = values.dims[axis];
      times *= whole[axis] / length + (rest % length < whole[axis] % length ? 1 : 0);
      rest /= length;
    }
    long double& value = values.at[i];
    if (is_floating_point(dtype)) {
      value *= static_cast<long double>(times);
    } else {  // wraps
      value = static_cast<long double>(static_cast<std::int64_t>(
          static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) * times));
    }
  }
}

/// Gives each row the number of any other row with the same elements.
void move_row_ids(std::vector<std::byte>& ids, std::uint64_t period, std::uint64_t rows) {
  std::uint32_t state = 1;
  for (std::size_t at = 0; at < ids.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t id = 0;
    std::memcpy(&id, ids.data() + at, sizeof(id));
    state = state * 1664525U + 1013904223U;
    id += static_cast<std::uint32_t>((state >> 8) % (rows / period) * period);
    std::memcpy(ids.data() + at, &id, sizeof(id));
  }
}

/// The inputs repeat a small table, as far as the operation allows. The reference judges the part
/// of the result that belongs to the table; all other elements must equal that part, bit by bit.
class OperationWork final : public KernelWork {
 public:
  OperationWork(const Device& device, const WorkContext& context, const OperationEntry& operation)
      : operation_(operation),
        dtype_(dtype_from_name(context.dtype).value()),
        arrangement_(arrangement_from_name(context.layout).value()),
        dims_(timed_dims(operation, context, dtype_)),
        backend_(context.backend()) {
    if (operation.needs_contiguous && !is_in_one_piece(arrangement_)) {
      throw Error(ErrorCode::unsupported, operation.name,
                  operation.name + " takes tensors in one piece, not " + context.layout);
    }
    make_cases(context);
    rate_ = rate_of(device, context);
    require_host_memory();
    const auto allocate = [&](std::size_t bytes) { return Buffer(device, bytes); };
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      inputs_.push_back(
          place(allocate, call_.inputs[i].dtype, call_.inputs[i].dims, arrangement_, i));
    }
    if (arrangement_ != Arrangement::in_place) {
      out_ = place(allocate, call_.result_dtype, call_.result_dims, arrangement_, std::nullopt);
    }
    for (const PlacedTensor& input : inputs_) tensors_.push_back(input.tensor);
  }

  Figures figures() const override {
    Figures figures;
    figures.elements = count_of_dims(call_.result_dims);
    figures.size_bytes = count_of_dims(dims_) * element_size_bytes(dtype_);
    figures.flops = operation_.flops * static_cast<double>(count_of_dims(dims_));
    figures.tolerance = operation_.is_exact ? 0 : 1;  // errors are shares of the bound
    for (const PlacedTensor& input : inputs_) figures.bytes += bytes_read(input.tensor);
    figures.bytes += static_cast<double>(figures.elements * element_size_bytes(call_.result_dtype));
    if (call_.flops > 0) {
      figures.size_bytes =
          count_of_dims(call_.inputs[0].dims) * element_size_bytes(call_.inputs[0].dtype);
      figures.bytes = 0;
      figures.flops = call_.flops;
    }
    return figures;
  }

  void reset() override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const InputData& table = table_.inputs[i];
      std::vector<std::byte> bytes =
          tiled(table.bytes, table.dims, call_.inputs[i].dims, element_size_bytes(table.dtype));
      if (call_.row_ids == i) move_row_ids(bytes, table_.inputs[0].dims[0], dims_[0]);
      inputs_[i].write(bytes);
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
    if (seen.wrong) {
      seen.wrong->reread_agrees = out().elements_of(out().read()) == elements;
      return seen;
    }
    right_digest_ = digest;
    find_damage(image, seen);
    return seen;
  }

  std::string shape() const override { return shape_text(dims_); }
  std::string digest() const override { return digest_; }
  std::optional<double> per_clock() const override { return rate_; }

 private:
  std::optional<double> rate_of(const Device& device, const WorkContext& context) const {
    if (call_.flops == 0) return std::nullopt;
    const bool is_half = element_size_bytes(dtype_) == 2;
    if (!is_half) return multiply_add_rate(context.arch, context.dtype);
    const bool has_units =
        call_.by_matrix_units &&
        ops::matrix_units_of(device.platform(), context.arch) != ops::MatrixUnits::none;
    return has_units ? matrix_rate(context.arch) : std::nullopt;
  }

  PlacedTensor& out() { return out_ ? *out_ : inputs_[*call_.in_place]; }

  /// The calls of the whole shape and of the table, which alone has data.
  void make_cases(const WorkContext& context) {
    const std::string name = operation_.name + " of " + context.dtype;
    const bool is_of_size = context.shape.empty();
    std::vector<OperationCase> cases;
    if (count_of_dims(dims_) > 0) {
      InputMaker maker(DataKind::none, context.seed);
      cases = operation_.cases(dtype_, dims_, maker);
    }
    if (cases.empty() && is_of_size) throw TooSmall(name, context.size_bytes);
    const bool is_in_place = arrangement_ == Arrangement::in_place;
    if (cases.empty() || (is_in_place && !cases.front().in_place)) {
      throw Error(ErrorCode::unsupported, operation_.name,
                  name + " has no " +
                      (is_in_place ? "form in place" : "case of shape " + shape_text(dims_)));
    }
    call_ = std::move(cases.front());
    InputMaker maker(DataKind::random, context.seed);
    table_ = std::move(operation_.cases(dtype_, table_dims(operation_, dims_), maker).front());
  }

  /// Inputs, output and what it is compared with are on the host too.
  void require_host_memory() const {
    const auto bytes_of = [](DType dtype, const Dims& dims) {
      return static_cast<double>(count_of_dims(dims)) *
             static_cast<double>(element_size_bytes(dtype));
    };
    double bytes = 4 * bytes_of(call_.result_dtype, call_.result_dims);
    for (const InputData& input : call_.inputs) bytes += bytes_of(input.dtype, input.dims);
    const std::uint64_t free_bytes = system::available_memory_bytes("/");
    if (bytes <= static_cast<double>(free_bytes)) return;
    throw Error(ErrorCode::out_of_memory, operation_.name,
                "to judge " + operation_.name + " of shape " + shape_text(dims_) + " takes " +
                    format_size(static_cast<std::uint64_t>(std::min(bytes, 0x1p63))) +
                    " of the host's memory, and " + format_size(free_bytes) + " are free",
                "choose a smaller shape or size");
  }

  /// Bytes that have to be read at least: an element that repeats counts once.
  static double bytes_read(const Tensor& tensor) {
    const Layout& layout = tensor.layout();
    double bytes = static_cast<double>(element_size_bytes(tensor.dtype()));
    for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
      if (layout.strides()[axis] != 0) bytes *= static_cast<double>(layout.dims()[axis]);
    }
    return bytes;
  }

  void compare(std::span<const std::byte> elements, Comparison& seen) {
    const DType dtype = call_.result_dtype;
    const std::size_t size = element_size_bytes(dtype);
    const Dims& part = table_.result_dims;
    const Dims& whole = call_.result_dims;
    std::vector<std::byte> judged_part = part_of(elements, part, whole, size);
    CallResult judged = compare_elements(dtype, judged_part, expect_part());
    seen.max_error = judged.max_error;
    if (judged.wrong && !judged.wrong->element) {
      seen.missed_fault = judged.wrong->what;
    } else if (judged.wrong) {
      seen.wrong = std::move(judged.wrong->element);
      seen.wrong->first_index = index_in_whole(*seen.wrong->first_index, part, whole);
    } else if (operation_.is_elementwise || operation_.repeats != Repeats::never) {
      compare_bits(dtype, elements, tiled(std::move(judged_part), part, whole, size), seen);
    }
  }

  static void compare_bits(DType dtype, std::span<const std::byte> got,
                           std::span<const std::byte> wanted, Comparison& seen) {
    if (std::memcmp(got.data(), wanted.data(), got.size()) == 0) return;
    const std::size_t size = element_size_bytes(dtype);
    const auto value = [&](std::span<const std::byte> bytes, std::size_t at) {
      return element_value(dtype,
                           reference::values_of(dtype, bytes.subspan(at, size), Dims{1}).at[0]);
    };
    for (std::size_t at = 0; at < got.size(); at += size) {
      std::uint64_t difference = 0;
      for (std::size_t k = 0; k < size; ++k) {
        difference |= std::to_integer<std::uint64_t>(got[at + k] ^ wanted[at + k]) << (8 * k);
      }
      if (difference == 0) continue;
      if (!seen.wrong) {
        seen.wrong.emplace();
        seen.wrong->first_index = at / size;
        seen.wrong->expected = value(wanted, at);
        seen.wrong->got = value(got, at);
      }
      seen.wrong->xor_bits |= difference;
      ++seen.wrong->count;
    }
  }

  /// Of what the inputs really hold there: a layout that repeats elements holds others.
  Expected expect_part() const {
    std::vector<Values> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto& [dtype, dims, bytes] = table_.inputs[i];
      const std::vector<std::byte> part = part_of(inputs_[i].elements_of(inputs_[i].image), dims,
                                                  call_.inputs[i].dims, element_size_bytes(dtype));
      values.push_back(reference::values_of(dtype, part, dims));
      if (call_.row_ids == i) {
        for (long double& id : values[i].at) {
          id = std::fmod(id, static_cast<long double>(table_.inputs[0].dims[0]));
        }
      }
      if (operation_.repeats == Repeats::summed) {
        multiply_by_repetitions(dtype, call_.inputs[i].dims, values[i]);
      }
    }
    return table_.reference(values);
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
  OperationCase call_;   ///< of the whole shape, whose inputs have no bytes
  OperationCase table_;  ///< of the table
  std::optional<double> rate_;
  std::vector<PlacedTensor> inputs_;
  std::optional<PlacedTensor> out_;
  std::vector<Tensor> tensors_;
  std::uint64_t runs_ = 0;
  std::optional<std::uint64_t> right_digest_;
  std::string digest_;
};

}  // namespace

Dims dims_of_size(const OperationEntry& operation, std::uint64_t size_bytes, DType dtype) {
  return of_rank(operation, operation.dims_of_size ? operation.dims_of_size(size_bytes, dtype)
                                                   : rows_of_size(size_bytes, dtype));
}

std::unique_ptr<KernelWork> operation_work(const Device& device, const WorkContext& context,
                                           const OperationEntry& operation) {
  return std::make_unique<OperationWork>(device, context, operation);
}

void add_operation_families(std::vector<FamilyEntry>& families) {
  const auto names_of = [](const std::vector<DType>& types) {
    std::vector<std::string> names;
    for (const DType dtype : types) names.emplace_back(to_string(dtype));
    return names;
  };
  for (const OperationEntry& operation : operations()) {
    KernelFamily family{operation.name, operation.group, operation.description,
                        names_of(operation.dtypes)};
    family.usual_dtypes = names_of(operation.usual_dtypes);
    family.is_operation = true;
    family.is_in_all = !operation.usual_dtypes.empty();
    families.push_back({std::move(family), operation.arrays,
                        [&operation](const Device& device, const WorkContext& context) {
                          return operation_work(device, context, operation);
                        }});
  }
}

}  // namespace hiptool::measure
