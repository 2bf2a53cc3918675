// SPDX-License-Identifier: MIT
/// Tensors on the cpu platform, whose launches are recorded.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/platform_state.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "interop/launch_recorder.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::test {

using Dims = std::vector<std::uint64_t>;
enum class Data { any_bits, numbers };

class Recorder {
 public:
  explicit Recorder(const std::string& folder)
      : launches_(folder),
        platforms_(core::make_platforms(Platforms::Options{}, launches_.binder())),
        backend_(find_device(platforms_, "cpu")) {}

  const Backend& backend() const { return backend_; }
  std::size_t launch_count() const { return launches_.launch_count(); }

  void begin(const std::string& operation, DType dtype, std::string_view layout) {
    launches_.set_label(operation + " " + std::string(to_string(dtype)) + " " +
                        std::string(layout));
    random_.seed(++tensors_);
  }

  /// Memory of 0xFF bytes; strided: every other element along each axis of larger memory; rows:
  /// every other row.
  Tensor empty(DType dtype, const Dims& dims, std::string_view layout) {
    if (layout == "packed") {
      const Tensor whole = backend_.empty(dtype, dims);
      fill(Buffer(whole.buffer()), std::byte{0xFF}, backend_.stream());
      return whole;
    }
    Dims outer = dims;
    const std::size_t doubled = layout == "rows" ? 1 : outer.size();
    for (std::size_t axis = 0; axis < doubled; ++axis) outer[axis] = 2 * outer[axis] + 1;
    const Tensor whole = backend_.empty(dtype, outer);
    fill(Buffer(whole.buffer()), std::byte{0xFF}, backend_.stream());
    Dims strides(whole.layout().strides().begin(), whole.layout().strides().end());
    const std::uint64_t start = layout == "rows" ? strides[0] : 1;
    for (std::size_t axis = 0; axis < doubled; ++axis) strides[axis] *= 2;
    return whole.with_layout(Layout::strided(dims, strides, start));
  }

  /// Half small whole numbers, half any bits or numbers with a fraction.
  Tensor tensor(DType dtype, const Dims& dims, std::string_view layout,
                Data data = Data::any_bits) {
    const Tensor result = empty(dtype, dims, layout);
    const std::size_t size = element_size_bytes(dtype);
    const bool has_sign = dtype != DType::u8 && dtype != DType::u32;
    reference::Values values{dims, {}};
    for (std::uint64_t i = 0; i < result.element_count(); ++i) {
      auto value = static_cast<long double>(random_() % 17) - (has_sign ? 8 : 0);
      if (data == Data::numbers && is_floating_point(dtype) && random_() % 2 == 0) {
        value += static_cast<long double>(random_() % 4096) / 4096;
      }
      values.at.push_back(value);
    }
    std::vector<std::byte> bytes = reference::bytes_of(dtype, values);
    for (std::uint64_t i = 0; data == Data::any_bits && i < result.element_count(); ++i) {
      if (random_() % 2 == 0) continue;
      for (std::size_t k = 0; k < size; ++k) {
        bytes[i * size + k] = static_cast<std::byte>(random_());
      }
    }
    write(result, bytes);
    return result;
  }

  Tensor ids(DType dtype, const Dims& dims, std::string_view layout, std::uint64_t below) {
    const Tensor result = empty(dtype, dims, layout);
    reference::Values values{dims, {}};
    for (std::uint64_t i = 0; i < result.element_count(); ++i) {
      values.at.push_back(static_cast<long double>(random_() % below));
    }
    std::vector<std::byte> bytes = reference::bytes_of(dtype, values);
    // The largest number of the type chooses nothing.
    const std::size_t size = element_size_bytes(dtype);
    std::fill_n(bytes.begin(), size, std::byte{0xFF});
    if (dtype == DType::i64) bytes[size - 1] = std::byte{0x7F};
    write(result, bytes);
    return result;
  }

  /// Matrices whose lines begin at multiples of 16 bytes, in memory of 0xFF bytes; turned: columns
  /// are lines.
  Tensor matrices(DType dtype, const Dims& dims, bool is_turned) {
    Dims outer = dims;
    if (is_turned) std::swap(outer[1], outer[2]);
    outer[2] = (outer[2] + 15) / 8 * 8;
    const Tensor whole = empty(dtype, outer, "packed");
    const std::array<std::uint64_t, 3> strides{outer[1] * outer[2], is_turned ? 1 : outer[2],
                                               is_turned ? outer[2] : 1};
    return whole.with_layout(Layout::strided(dims, strides, 0));
  }

  /// Fills a tensor with whole numbers from -8 to 8, or with reals, and gives them back.
  reference::Values write_factors(const Tensor& tensor, bool is_whole) {
    reference::Values values{{tensor.dims().begin(), tensor.dims().end()}, {}};
    for (std::uint64_t i = 0; i < tensor.element_count(); ++i) {
      const std::uint64_t number = random_();
      values.at.push_back(is_whole ? static_cast<long double>(number % 17) - 8
                                   : static_cast<long double>(number % 65536) / 4096 - 8);
    }
    const auto bytes = reference::bytes_of(tensor.dtype(), values);
    write(tensor, bytes);
    return reference::values_of(tensor.dtype(), bytes, values.dims);
  }

  /// The elements of that tensor may differ from the cpu platform's as far as `expected` allows.
  void set_bounds(const Tensor& tensor, const reference::Expected& expected) {
    std::vector<Bounds> bounds;
    for (std::uint64_t i = 0; i < tensor.element_count(); ++i) {
      const long double value = expected.values.at[i];
      const long double slack = expected.slack[i];
      bounds.push_back({tensor.layout().offset_at(i) * element_size_bytes(tensor.dtype()),
                        static_cast<double>(value - slack), static_cast<double>(value + slack)});
    }
    launches_.set_bounds(tensor.buffer().address(), tensor.dtype(), bounds);
  }

  /// Kernels find memory by addresses that stand in this buffer.
  void follow(const Buffer& table) { launches_.follow(table.address()); }
  void launch_first_blocks(unsigned count) { launches_.launch_first_blocks(count); }

  void finish() { backend_.synchronize(); }

 private:
  void write(const Tensor& tensor, const std::vector<std::byte>& bytes) {
    backend_.synchronize();
    const std::size_t size = element_size_bytes(tensor.dtype());
    std::vector<std::byte> all(tensor.buffer().size_bytes(), std::byte{0xFF});
    for (std::uint64_t i = 0; i < tensor.element_count(); ++i) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                  all.begin() + static_cast<std::ptrdiff_t>(tensor.layout().offset_at(i) * size));
    }
    copy_h2d_and_wait(Buffer(tensor.buffer()), all);
  }

  LaunchRecorder launches_;
  Platforms platforms_;
  Backend backend_;
  std::mt19937_64 random_;
  std::uint64_t tensors_ = 0;
};

/// Products of matrices of every type, without and with matrix units.
void record_all_products(Recorder& recorder);
/// Softmax and norms of f16 and bf16 rows that threads keep in registers.
void record_row_kernels(Recorder& recorder);
/// Reductions of rows and of columns, of every type.
void record_all_reductions(Recorder& recorder);
/// Convolutions, pooling and upsampling.
void record_all_images(Recorder& recorder);
/// Kernels that verify, those that test and fill memory, and benchmarks.
void record_all_checks(Recorder& recorder);
/// Mixtures of experts.
void record_all_experts(Recorder& recorder);
/// Layers with a state in place of keys and values.
void record_all_delta(Recorder& recorder);
/// What a decoder fuses for a single token.
void record_all_decoding(Recorder& recorder);

}  // namespace hiptool::test
