// SPDX-License-Identifier: MIT
#include "ops/rows.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/backend_state.hpp"

namespace hiptool::ops {
namespace {

std::size_t find_axis(std::string_view operation, const Tensor& x, std::size_t axis) {
  const std::size_t rank = x.layout().rank();
  if (axis == last_axis && rank > 0) return rank - 1;
  if (axis < rank) return axis;
  throw Error(ErrorCode::out_of_bounds, std::string(operation),
              std::string(operation) + ": " + describe(x) + " has no " +
                  (axis == last_axis ? "axis" : "axis " + std::to_string(axis)));
}

bool has_row_pieces(const Tensor& tensor, const hiptool_ops::Rows& all, std::size_t operand) {
  const std::uint64_t size = element_size_bytes(tensor.dtype());
  if (all.strides[operand] != 1 || all.width % run_of(tensor.dtype()) != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(tensor.address()) % 16 != 0) return false;
  for (std::size_t axis = 0; operand < 2 && axis < all.rows.axes; ++axis) {
    const std::uint64_t stride = all.rows.strides[operand][axis];
    if (all.rows.dims[axis] > 1 && stride * size % 16 != 0) return false;
  }
  return true;
}

/// A launch of rows of x along an axis, and of results in `out`.
struct RowLaunch {
  RowLaunch(const Tensor& x, std::size_t axis, const Tensor& out) {
    std::vector<std::uint64_t> dims;
    std::vector<std::uint64_t> in_strides;
    std::vector<std::uint64_t> out_strides;
    for (std::size_t i = 0; i < x.layout().rank(); ++i) {
      if (i == axis) continue;
      dims.push_back(x.dims()[i]);
      in_strides.push_back(x.layout().strides()[i]);
      out_strides.push_back(out.layout().strides()[i]);
    }
    const Layout in_rows = Layout::strided(dims, in_strides);
    const Layout out_rows = Layout::strided(dims, out_strides);
    const std::array<const Layout*, 2> layouts{&in_rows, &out_rows};
    const JoinedAxes axes = join_axes(layouts, 1);
    all.rows.count = in_rows.element_count();
    set_axes(axes, all.rows.divisors, all.rows.dims, all.rows.axes, all.rows.is_wide);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < axes.count; ++i) all.rows.strides[k][i] = axes.strides[k][i];
    }
    all.width = x.dims()[axis];
    all.strides[0] = x.layout().strides()[axis];
    all.strides[1] = out.layout().strides()[axis];
    if (has_row_pieces(x, all, 0)) all.pieces |= 1;
    if (has_row_pieces(out, all, 1)) all.pieces |= 2;
    all.group = 32;
    if (all.width > hiptool_ops::short_row) all.group = hiptool_ops::row_threads;
    const std::uint64_t turns =
        ceil_divide(all.width, std::uint64_t{all.group} * run_of(x.dtype()));
    all.stashed = turns <= hiptool_ops::stash_pieces_most ? 1 : 0;
    config.block.x = hiptool_ops::row_threads;
    config.shared_bytes = hiptool_ops::join_bytes;
    if (all.stashed != 0) {
      config.shared_bytes += static_cast<std::uint32_t>(turns * hiptool_ops::row_threads * 16);
    }
    const std::uint64_t blocks = ceil_divide(all.rows.count, hiptool_ops::row_threads / all.group);
    config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, 0x7FFFFFFF));
  }

  void add_weights(const Tensor& weights, std::size_t operand) {
    all.strides[operand] = weights.layout().strides()[0];
    if (has_row_pieces(weights, all, operand)) all.pieces |= 1u << operand;
  }

  hiptool_ops::Rows all{};
  LaunchConfig config;
};

/// The kernel of norm_whole.hip that serves: pieces of 16 bytes that a thread has of a row, or 0.
unsigned whole_pieces(const RowLaunch& work, DType dtype, unsigned operands) {
  const unsigned all_pieces = (1u << operands) - 1;
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  const std::uint64_t turn = std::uint64_t{hiptool_ops::row_threads} * run_of(dtype);
  if (work.all.group != hiptool_ops::row_threads || work.all.width > 4 * turn ||
      (work.all.pieces & all_pieces) != all_pieces) {
    return 0;
  }
  return work.all.width <= 2 * turn ? 2 : 4;
}

std::string whole_kernel(std::string_view function, unsigned pieces, DType dtype) {
  return "hiptool_" + std::string(function) + "_whole_" + std::to_string(pieces) + "_" +
         std::string(to_string(dtype));
}

/// Sets up a launch of a kernel of norm_many.hip, and returns its name; empty: none serves.
std::string many_kernel(RowLaunch& work, std::string_view function, DType dtype,
                        unsigned operands) {
  const hiptool_ops::Rows& all = work.all;
  if (whole_pieces(work, dtype, operands) != 2 || all.rows.axes != 1 ||
      all.rows.count < hiptool_ops::norm_many_rows || all.rows.count > 0x7FFFFFFF) {
    return {};
  }
  const unsigned pieces = all.width <= 2048 ? 8 : 16;
  constexpr unsigned warps = 2;  // of a row
  constexpr unsigned rows_of_block = hiptool_ops::norm_many_threads / 32 / warps;
  work.config.grid.x = static_cast<std::uint32_t>(ceil_divide(all.rows.count, rows_of_block));
  work.config.block.x = hiptool_ops::norm_many_threads;
  work.config.shared_bytes = hiptool_ops::norm_many_join_bytes;
  return "hiptool_" + std::string(function) + "_many_" + std::to_string(warps) + "_" +
         std::to_string(pieces) + "_" + std::string(to_string(dtype));
}

/// Norms by a kernel of norm_whole.hip keep weights and biases in shared memory for all rows of a
/// block: as many blocks as a multiprocessor's registers take at once.
void keep_weights(const Backend& backend, RowLaunch& work, unsigned pieces, unsigned operands) {
  const std::uint64_t blocks =
      hiptool_ops::whole_pieces_at_once / pieces * state_of(backend).multiprocessors;
  work.config.grid.x = static_cast<std::uint32_t>(std::min(work.all.rows.count, blocks));
  work.config.shared_bytes =
      hiptool_ops::join_bytes + operands * pieces * hiptool_ops::row_threads * 16;
}

void run_softmax(const Backend& backend, std::string_view name, bool is_log, const Tensor& x,
                 std::size_t axis, Tensor& out) {
  const std::array<const Tensor*, 2> tensors{&x, &out};
  require_device(backend, name, tensors);
  require_real(name, x);
  const std::size_t along = find_axis(name, x, axis);
  require_output(name, std::span(tensors).first(1), out, x.dtype(), x.dims());
  if (x.element_count() == 0) return;
  RowLaunch work(x, along, out);
  const std::string many = is_log ? std::string() : many_kernel(work, "softmax", x.dtype(), 2);
  if (!many.empty()) {
    launch(state_of(backend).kernel("ops_norm_many", many), work.config, backend.stream(), work.all,
           x.address(), out.address());
    return;
  }
  const unsigned pieces = is_log ? 0 : whole_pieces(work, x.dtype(), 2);
  if (pieces != 0) {
    work.config.shared_bytes = hiptool_ops::join_bytes;
    const std::string whole = whole_kernel("softmax", pieces, x.dtype());
    launch(state_of(backend).kernel("ops_norm_whole", whole), work.config, backend.stream(),
           work.all, x.address(), out.address());
    return;
  }
  const std::string type(to_string(x.dtype()));
  launch(state_of(backend).kernel("ops_norm", "hiptool_softmax_rows_" + type), work.config,
         backend.stream(), work.all, std::uint32_t{is_log ? 1u : 0u}, x.address(), out.address());
}

void require_weights(std::string_view operation, const Tensor& x, const Tensor& weights) {
  require_same_dtype(operation, x, weights);
  if (weights.layout().rank() == 1 && x.layout().rank() > 0 &&
      weights.dims()[0] == x.dims().back()) {
    return;
  }
  throw Error(ErrorCode::invalid_argument, std::string(operation),
              std::string(operation) + ": weights " + describe(weights) +
                  " do not fit the last axis of " + describe(x));
}

/// A single row by the mean of squares that hiptool_norm_one_f32 takes.
bool is_one_row(const RowLaunch& work, DType dtype, bool is_centred) {
  constexpr unsigned all_pieces = 7;
  return dtype == DType::f32 && !is_centred && work.all.rows.count == 1 &&
         work.all.group == hiptool_ops::row_threads && work.all.stashed != 0 &&
         (work.all.pieces & all_pieces) == all_pieces;
}

void run_norm(const Backend& backend, std::string_view name, const Tensor& x, const Tensor& weight,
              const Tensor* bias, bool is_centred, double epsilon, Tensor& out) {
  std::vector<const Tensor*> tensors{&x, &weight};
  if (bias != nullptr) tensors.push_back(bias);
  const std::size_t inputs = tensors.size();
  tensors.push_back(&out);
  require_device(backend, name, tensors);
  require_real(name, x);
  require_weights(name, x, weight);
  if (bias != nullptr) require_weights(name, x, *bias);
  require_output(name, std::span<const Tensor* const>(tensors).first(inputs), out, x.dtype(),
                 x.dims());
  if (x.element_count() == 0) return;
  RowLaunch work(x, x.layout().rank() - 1, out);
  work.add_weights(weight, 2);
  if (is_one_row(work, x.dtype(), is_centred)) {
    work.config.shared_bytes = hiptool_ops::join_bytes;
    launch(state_of(backend).kernel("ops_norm", "hiptool_norm_one_f32"), work.config,
           backend.stream(), work.all.width, epsilon, x.address(), weight.address(), out.address());
    return;
  }
  void* bias_address = nullptr;
  if (bias != nullptr) {
    work.add_weights(*bias, 3);
    bias_address = bias->address();
  }
  const unsigned operands = bias != nullptr ? 2 : 1;
  const unsigned pieces = whole_pieces(work, x.dtype(), 2 + operands);
  if (pieces != 0) {
    const std::string_view function = is_centred ? "layernorm" : "rmsnorm";
    const std::string many = many_kernel(work, function, x.dtype(), 2 + operands);
    if (many.empty()) keep_weights(backend, work, pieces, operands);
    const Kernel kernel =
        many.empty()
            ? state_of(backend).kernel("ops_norm_whole", whole_kernel(function, pieces, x.dtype()))
            : state_of(backend).kernel("ops_norm_many", many);
    if (is_centred) {
      launch(kernel, work.config, backend.stream(), work.all, epsilon, x.address(),
             weight.address(), bias_address, out.address());
    } else {
      launch(kernel, work.config, backend.stream(), work.all, epsilon, x.address(),
             weight.address(), out.address());
    }
    return;
  }
  const std::string type(to_string(x.dtype()));
  launch(state_of(backend).kernel("ops_norm", "hiptool_norm_rows_" + type), work.config,
         backend.stream(), work.all, std::uint32_t{is_centred ? 1u : 0u}, epsilon, x.address(),
         weight.address(), bias_address, out.address());
}

}  // namespace

void require_real(std::string_view operation, const Tensor& x) {
  const DType dtype = x.dtype();
  if (is_floating_point(dtype) && dtype != DType::f8e4m3) return;
  throw Error(ErrorCode::unsupported, std::string(operation),
              std::string(operation) + ": " + describe(x) + "; it takes f16, bf16, f32 and f64");
}

void softmax_into(const Backend& backend, Tensor& out, const Tensor& x, std::size_t axis) {
  run_softmax(backend, "softmax", false, x, axis, out);
}
Tensor softmax(const Backend& backend, const Tensor& x, std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  softmax_into(backend, out, x, axis);
  return out;
}

void log_softmax_into(const Backend& backend, Tensor& out, const Tensor& x, std::size_t axis) {
  run_softmax(backend, "log_softmax", true, x, axis, out);
}
Tensor log_softmax(const Backend& backend, const Tensor& x, std::size_t axis) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  log_softmax_into(backend, out, x, axis);
  return out;
}

void layernorm_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& weight,
                    const Tensor& bias, double epsilon) {
  run_norm(backend, "layernorm", x, weight, &bias, true, epsilon, out);
}
void layernorm_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& weight,
                    double epsilon) {
  run_norm(backend, "layernorm", x, weight, nullptr, true, epsilon, out);
}
Tensor layernorm(const Backend& backend, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 double epsilon) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  layernorm_into(backend, out, x, weight, bias, epsilon);
  return out;
}
Tensor layernorm(const Backend& backend, const Tensor& x, const Tensor& weight, double epsilon) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  layernorm_into(backend, out, x, weight, epsilon);
  return out;
}

void rmsnorm_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& weight,
                  double epsilon) {
  run_norm(backend, "rmsnorm", x, weight, nullptr, false, epsilon, out);
}
Tensor rmsnorm(const Backend& backend, const Tensor& x, const Tensor& weight, double epsilon) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  rmsnorm_into(backend, out, x, weight, epsilon);
  return out;
}

}  // namespace hiptool::ops
