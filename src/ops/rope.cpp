// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/backend_state.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

void require_tables(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  require_same_dtype("rope", cosines, sines);
  require_same_dims("rope", cosines, sines);
  const std::size_t rank = x.layout().rank();
  const bool fits = rank >= 3 && cosines.dtype() == DType::f32 && cosines.layout().rank() == 2 &&
                    cosines.dims()[0] == x.dims()[rank - 3] &&
                    cosines.dims()[1] <= x.dims()[rank - 1] / 2;
  if (fits) return;
  throw Error(ErrorCode::invalid_argument, "rope",
              "rope: tables " + describe(cosines) + " do not fit " + describe(x) +
                  "; they are f32 [tokens, rotary / 2] for x [.., tokens, heads, width]");
}

/// The first elements of all pairs.
Tensor first_of_pairs(const Tensor& x, std::uint64_t pairs, bool are_neighbours) {
  std::vector<std::uint64_t> dims(x.dims().begin(), x.dims().end());
  std::vector<std::uint64_t> strides(x.layout().strides().begin(), x.layout().strides().end());
  dims.back() = pairs;
  if (are_neighbours) strides.back() *= 2;
  return x.with_layout(Layout::strided(dims, strides, x.layout().start_offset()));
}

/// A table seen from every pair.
Tensor table_of_pairs(const Tensor& table, std::span<const std::uint64_t> dims) {
  std::vector<std::uint64_t> strides(dims.size(), 0);
  strides[dims.size() - 3] = table.layout().strides()[0];
  strides[dims.size() - 1] = table.layout().strides()[1];
  return table.with_layout(Layout::strided(dims, strides, table.layout().start_offset()));
}

/// Whether runs of neighbouring pairs are aligned pieces of that operand.
bool has_pair_pieces(const Tensor& tensor, const hiptool_ops::Rotation& all, std::size_t operand,
                     std::uint64_t step) {
  const std::uint64_t size = element_size_bytes(tensor.dtype());
  if (all.pairs.run == 1 || step != 1 || all.pairs.strides[operand][0] != 2) return false;
  if (reinterpret_cast<std::uintptr_t>(tensor.address()) % 16 != 0) return false;
  for (std::size_t axis = 1; axis < all.pairs.axes; ++axis) {
    if (all.pairs.strides[operand][axis] * size % 16 != 0) return false;
  }
  return true;
}

void rotate_pairs(const Backend& backend, const Tensor& x, const Tensor& cosines,
                  const Tensor& sines, bool are_neighbours, Tensor& out) {
  const std::uint64_t pairs = cosines.dims()[1];
  const Tensor in_pairs = first_of_pairs(x, pairs, are_neighbours);
  const Tensor out_pairs = first_of_pairs(out, pairs, are_neighbours);
  const Tensor cosine = table_of_pairs(cosines, in_pairs.dims());
  const Tensor sine = table_of_pairs(sines, in_pairs.dims());
  hiptool_ops::Rotation all{};
  all.pairs = make_operands<4>({&in_pairs, &cosine, &sine, &out_pairs}, run_of(x.dtype()));
  const std::uint64_t steps = are_neighbours ? 1 : pairs;
  all.input_step = steps * x.layout().strides().back();
  all.output_step = steps * out.layout().strides().back();
  const std::uint64_t size = element_size_bytes(x.dtype());
  if (all.input_step * size % 16 != 0) all.pairs.packed &= ~1u;
  if (all.output_step * size % 16 != 0) all.pairs.packed &= ~8u;
  if (has_pair_pieces(x, all, 0, all.input_step)) all.in_pieces |= 1;
  if (has_pair_pieces(out, all, 3, all.output_step)) all.in_pieces |= 2;
  const Kernel kernel = state_of(backend).kernel(
      "ops_rope", "hiptool_rope_pairs_" + std::string(to_string(x.dtype())));
  launch_elements(backend, kernel, all.pairs.count, all.pairs.run, all, x.address(),
                  cosines.address(), sines.address(), out.address());
}

void copy_unrotated(const Backend& backend, const Tensor& x, std::uint64_t rotary, Tensor& out) {
  const std::size_t last = x.layout().rank() - 1;
  const std::uint64_t rest = x.dims()[last] - rotary;
  if (rest == 0 || x.address() == out.address()) return;
  const Tensor from = x.with_layout(x.layout().narrow(last, rotary, rest));
  const Tensor to = out.with_layout(out.layout().narrow(last, rotary, rest));
  const auto operands = make_operands<2>({&from, &to}, 1);
  const Kernel kernel = state_of(backend).kernel(
      "ops_rope", "hiptool_rope_rest_" + std::string(to_string(x.dtype())));
  launch_elements(backend, kernel, operands.count, 1, operands, from.address(), to.address());
}

}  // namespace

void rope_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& cosines,
               const Tensor& sines, RopePairs pairs) {
  const std::array<const Tensor*, 4> tensors{&x, &cosines, &sines, &out};
  if (pairs > RopePairs::halves) require_known("rope", unknown_name);
  require_device(backend, "rope", tensors);
  require_real("rope", x);
  require_tables(x, cosines, sines);
  require_output("rope", std::span(tensors).first(3), out, x.dtype(), x.dims());
  if (x.element_count() == 0) return;
  if (cosines.element_count() > 0) {
    rotate_pairs(backend, x, cosines, sines, pairs == RopePairs::neighbours, out);
  }
  copy_unrotated(backend, x, 2 * cosines.dims()[1], out);
}

Tensor rope(const Backend& backend, const Tensor& x, const Tensor& cosines, const Tensor& sines,
            RopePairs pairs) {
  Tensor out = backend.empty(x.dtype(), x.dims());
  rope_into(backend, out, x, cosines, sines, pairs);
  return out;
}

void gate_into(const Backend& backend, Tensor& out, Gate kind, const Tensor& gates,
               const Tensor& up) {
  const std::array<const Tensor*, 3> tensors{&gates, &up, &out};
  if (kind > Gate::sigmoid) require_known("gate", unknown_name);
  require_device(backend, "gate", tensors);
  require_real("gate", gates);
  require_same_dtype("gate", gates, up);
  require_same_dims("gate", gates, up);
  require_output("gate", std::span(tensors).first(2), out, gates.dtype(), gates.dims());
  if (out.element_count() == 0) return;
  const auto operands = make_operands<3>(tensors, run_of(gates.dtype()));
  const std::string type(to_string(gates.dtype()));
  const std::string form = operands.run == 1 ? "apart_" : "runs_";
  const bool is_narrow = gates.dtype() == DType::f16 || gates.dtype() == DType::bf16;
  if (is_narrow && (kind == Gate::silu || kind == Gate::sigmoid)) {
    const std::string name = (kind == Gate::silu ? "silu_" : "sigmoid_") + type;
    if (are_packed(tensors)) {
      const Kernel kernel =
          state_of(backend).kernel("ops_narrow", "hiptool_narrow_gate_packed_" + name);
      launch(kernel, elements_grid(operands.count, run_of(gates.dtype()), 128), backend.stream(),
             operands.count, gates.address(), up.address(), out.address());
      return;
    }
    const Kernel kernel =
        state_of(backend).kernel("ops_narrow", "hiptool_narrow_gate_" + form + name);
    launch_elements(backend, kernel, operands.count, operands.run, operands, gates.address(),
                    up.address(), out.address());
    return;
  }
  const Kernel kernel = state_of(backend).kernel("ops_rope", "hiptool_gate_" + form + type);
  launch_elements(backend, kernel, operands.count, operands.run, static_cast<std::uint32_t>(kind),
                  operands, gates.address(), up.address(), out.address());
}

Tensor gate(const Backend& backend, Gate kind, const Tensor& gates, const Tensor& up) {
  Tensor out = backend.empty(gates.dtype(), gates.dims());
  gate_into(backend, out, kind, gates, up);
  return out;
}

}  // namespace hiptool::ops
