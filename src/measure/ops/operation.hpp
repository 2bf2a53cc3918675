// SPDX-License-Identifier: MIT
/// The operations of the library as data: what run-kernel judges and rates. A family is one short
/// source with one function that is declared and listed at the end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/backend.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::measure {

using Dims = std::vector<std::uint64_t>;

/// How the numbers of inputs are chosen.
enum class DataKind {
  whole,     ///< whole numbers from -8 to 8, exact in every type: a misplaced term shows
  random,    ///< any bits and, for reals, numbers from -4 to 4: NaN, rounding, wrapping
  all_bits,  ///< all pairs of 8-bit patterns, or all 16-bit patterns with random ones
  none       ///< no bytes, for cases of which only types, shapes and calls are wanted
};
std::string_view to_string(DataKind kind) noexcept;

/// The elements of an input in row-major order.
struct InputData {
  DType dtype;
  Dims dims;
  std::vector<std::byte> bytes;
};

/// Makes the inputs of one case, the same for the same seed on every machine.
class InputMaker {
 public:
  InputMaker(DataKind kind, std::uint64_t seed) : kind_(kind), random_(seed) {}

  /// Numbers of the kind; the position counts calls.
  InputData numbers(DType dtype, std::span<const std::uint64_t> dims);
  /// The same with every NaN the canonical one, for operations that keep bits.
  InputData canonical_numbers(DType dtype, std::span<const std::uint64_t> dims);
  /// The same with floating-point numbers of magnitude 64 and less only, for operations whose
  /// intermediate results could overflow and whose reference has no overflow.
  InputData moderate_numbers(DType dtype, std::span<const std::uint64_t> dims);
  /// Whole numbers from 0 to below the limit.
  InputData indices(DType dtype, std::span<const std::uint64_t> dims, std::uint64_t limit);
  std::uint64_t next() { return random_(); }

 private:
  DataKind kind_;
  std::mt19937_64 random_;
  unsigned made_ = 0;
};

/// One call of an operation and what it should give.
struct OperationCase {
  std::string variant;  ///< "to f16", "axis 1"; empty where there is only one
  std::vector<InputData> inputs;
  DType result_dtype;
  Dims result_dims;
  /// Queues the call; for elementwise operations it serves tensors of any dimensions.
  std::function<void(const Backend&, std::span<const Tensor> inputs, Tensor& out)> run;
  std::function<reference::Expected(std::span<const reference::Values> inputs)> reference;
  std::optional<std::size_t> in_place;  ///< the input that the output may be
  /// An input of u32 that names rows of the first one.
  std::optional<std::size_t> row_ids = std::nullopt;
  double flops = 0;              ///< where they take the time, and not moving bytes
  bool by_matrix_units = false;  ///< of halves, on devices that have such units
};

/// How inputs may repeat so that the result repeats too, and a part of it shows the whole.
enum class Repeats {
  anywhere,  ///< along every axis: each element depends on its place only, axes may change places
  rows,      ///< along the first of several axes: each row depends on nothing but that row
  summed,    ///< along every axis: the result is one sum over all elements
  never      ///< but the first rows are the same however many follow
};

struct OperationEntry {
  std::string name;
  std::string group;  ///< "binary"
  std::string description;
  std::vector<DType> dtypes;
  /// Tensors of about the size of the first input, itself and the output included.
  std::uint64_t arrays = 2;
  /// Element i of the result depends on nothing but element i of each input.
  bool is_elementwise = true;
  bool is_exact = true;  ///< the reference has no slack
  /// Inputs and output must be in one piece: layouts that are not are left out.
  bool needs_contiguous = false;
  /// The cases for inputs of that type and shape; none where the shape does not fit. Only the first
  /// one is timed. Those that share inputs should copy them: only the first has all bits.
  std::function<std::vector<OperationCase>(DType, std::span<const std::uint64_t> dims, InputMaker&)>
      cases = nullptr;
  Repeats repeats = Repeats::rows;  ///< of the first case; elementwise: anywhere
  /// Types that run where none is chosen. `all` runs the operations that have them.
  std::vector<DType> usual_dtypes = {};
  double flops = 0;  ///< for each element of the shape; 0: only bytes are rated
  /// The shape for an input of about that size; null: rows of 4096 elements.
  std::function<Dims(std::uint64_t size_bytes, DType)> dims_of_size = nullptr;
  /// Shapes of fewer dimensions are timed with dimensions of 1 in front.
  std::size_t rank = 0;
};

/// Of the families in family_conv.cpp.
inline constexpr std::string_view convolution_group = "convolution";

/// The shape that is timed for an input of about that size; 0 elements if none is so small.
Dims dims_of_size(const OperationEntry& operation, std::uint64_t size_bytes, DType dtype);

/// Every operation, in the order in which `ops` runs them; opens no driver.
const std::vector<OperationEntry>& operations();

/// The operation of that name, or null.
const OperationEntry* find_operation(std::string_view name);

/// The one case of an elementwise operation whose inputs all have the same type and shape.
OperationCase elementwise_case(std::size_t inputs, DType dtype, std::span<const std::uint64_t> dims,
                               InputMaker& maker, DType result_dtype);

/// Makes every NaN the canonical one.
void make_canonical(InputData& data);

/// The shape as [images, channels, height, width], with dimensions of 1 in front; nothing for more
/// than four dimensions.
std::optional<Dims> image_dims(std::span<const std::uint64_t> dims, std::size_t rank = 4);

/// As many images of these dimensions as fit the size, up to a limit; without one the elements in
/// one row.
Dims dims_of_images(std::uint64_t size_bytes, DType dtype, const Dims& image, std::uint64_t most);

/// Replaces one element by a value rounded to the type, such as NaN.
void put_number(InputData& data, std::uint64_t index, long double value);

/// Poolings by MIOpen or cuDNN, judged like the operations of that name; one that our kernels
/// computed instead is Error(unsupported). Not among operations().
std::vector<OperationEntry> library_pool_operations();

// Families, each in family_NAME.cpp.
void add_binary_operations(std::vector<OperationEntry>& operations);
void add_compare_operations(std::vector<OperationEntry>& operations);
void add_unary_operations(std::vector<OperationEntry>& operations);
void add_elementwise_operations(std::vector<OperationEntry>& operations);
void add_reduce_operations(std::vector<OperationEntry>& operations);
void add_rows_operations(std::vector<OperationEntry>& operations);
void add_gate_operations(std::vector<OperationEntry>& operations);
void add_movement_operations(std::vector<OperationEntry>& operations);
void add_indexing_operations(std::vector<OperationEntry>& operations);
void add_matmul_operations(std::vector<OperationEntry>& operations);
void add_pool_operations(std::vector<OperationEntry>& operations);
void add_conv_operations(std::vector<OperationEntry>& operations);
void add_layer_operations(std::vector<OperationEntry>& operations);
void add_random_operations(std::vector<OperationEntry>& operations);

}  // namespace hiptool::measure
