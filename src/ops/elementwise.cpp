// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/faults.hpp"
#include "ops/operands.hpp"
#include "ops/tiles.hpp"

namespace hiptool::ops {
namespace {

constexpr const char* binary_names[] = {
#define HIPTOOL_BINARY(name, ...) #name,
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
};
constexpr const char* compare_names[] = {
#define HIPTOOL_COMPARE(name, ...) #name,
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
};

/// hiptool_ops::Takes of binary.hip.
std::uint32_t binary_run(DType dtype) { return dtype == DType::u8 ? 16 : run_of(dtype); }

struct TiledPlan {
  hiptool_ops::TiledBinary arguments{};
  std::uint32_t shared_bytes = 0;
};

/// The axis along which an input is contiguous that is not so along axis 0; 0: none. Short axes
/// would leave most of a tile empty.
std::size_t crossing_axis_of(const JoinedAxes& axes, std::size_t operand) {
  constexpr std::uint64_t shortest = 16;
  const auto& strides = axes.strides[operand];
  if (strides[0] <= 1 || axes.dims[0] < shortest) return 0;
  for (std::size_t axis = 1; axis < axes.count; ++axis) {
    if (strides[axis] == 1 && axes.dims[axis] >= shortest) return axis;
  }
  return 0;
}

/// Tiles serve where an input is contiguous along another axis than the output, and all rows
/// consist of whole pieces. Without them each element of that input is a memory access of its own.
std::optional<TiledPlan> plan_tiles(const std::array<const Tensor*, 3>& tensors) {
  const std::array<const Layout*, 3> layouts{&tensors[0]->layout(), &tensors[1]->layout(),
                                             &tensors[2]->layout()};
  const JoinedAxes axes = join_axes(layouts, 2);
  const std::size_t crossings[2] = {crossing_axis_of(axes, 0), crossing_axis_of(axes, 1)};
  const std::size_t crossing = std::max(crossings[0], crossings[1]);
  if (crossing == 0 || axes.strides[2][0] != 1 || !has_aligned_rows(*tensors[2], axes, 2, 0)) {
    return std::nullopt;
  }
  TiledPlan plan;
  hiptool_ops::TiledBinary& all = plan.arguments;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& strides = axes.strides[k];
    const bool crosses = crossings[k] == crossing;
    const bool repeats = strides[0] == 0;
    if (!crosses && !repeats && strides[0] != 1) return std::nullopt;
    if (!repeats && !has_aligned_rows(*tensors[k], axes, k, crosses ? crossing : 0)) {
      return std::nullopt;
    }
    if (crosses) all.crossing |= 1u << k;
    if (repeats) all.repeats |= 1u << k;
    all.steps[k] = strides[crosses ? 0 : crossing];
  }
  const TileNumbers tile = tile_numbers(element_size_bytes(tensors[0]->dtype()));
  all.tiles = make_tiles<5>(axes, crossing, tile.side);
  all.source_rows = axes.dims[0];
  all.output_rows = axes.dims[crossing];
  all.output_step = axes.strides[2][crossing];
  plan.shared_bytes = 2 * tile.shared_bytes;
  return plan;
}

void apply(const Backend& backend, const char* family, std::uint32_t operation,
           std::string_view name, DType result, const std::array<const Tensor*, 3>& tensors,
           bool checks = false) {
  const auto& [a, b, out] = tensors;
  require_known(family, name);
  require_device(backend, name, tensors);
  require_same_dtype(name, *a, *b);
  require_same_dims(name, *a, *b);
  require_output(name, std::span(tensors).first(2), *out, result, a->dims());
  const std::uint64_t count = out->element_count();
  if (count == 0) return;
  if (checks) check_divisors(backend, name, *b);
  const std::uint32_t run = binary_run(a->dtype());
  const std::string type(to_string(a->dtype()));
  const std::string stem = std::string("hiptool_") + family + "_";
  if (are_packed(tensors)) {
    const Kernel kernel = state_of(backend).kernel("ops_binary", stem + "packed_" + type);
    launch_elements(backend, kernel, count, run, operation, count, a->address(), b->address(),
                    out->address());
    return;
  }
  const bool has_tiles = std::string_view(family) == "binary" && a->dtype() != DType::f8e4m3;
  if (const auto plan = has_tiles ? plan_tiles(tensors) : std::nullopt) {
    const Kernel kernel = state_of(backend).kernel("ops_binary_tiled", stem + "tiled_" + type);
    launch(kernel, tiles_grid(plan->arguments.tiles.count, plan->shared_bytes), backend.stream(),
           operation, plan->arguments, a->address(), b->address(), out->address());
    return;
  }
  const Kernel kernel = state_of(backend).kernel("ops_binary", stem + type);
  const auto operands = make_operands<3>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, operation, operands, a->address(),
                  b->address(), out->address());
}

}  // namespace

std::string_view to_string(Binary operation) noexcept {
  return name_in(binary_names, static_cast<std::size_t>(operation));
}
std::string_view to_string(Compare operation) noexcept {
  return name_in(compare_names, static_cast<std::size_t>(operation));
}

void binary_into(const Backend& backend, Tensor& out, Binary operation, const Tensor& a,
                 const Tensor& b) {
  const bool checks = operation == Binary::div && !is_floating_point(a.dtype()) &&
                      state_of(backend).options.checks_division;
  apply(backend, "binary", static_cast<std::uint32_t>(operation), to_string(operation), a.dtype(),
        {&a, &b, &out}, checks);
}

Tensor binary(const Backend& backend, Binary operation, const Tensor& a, const Tensor& b) {
  Tensor out = backend.empty(a.dtype(), a.dims());
  binary_into(backend, out, operation, a, b);
  return out;
}

void compare_into(const Backend& backend, Tensor& out, Compare operation, const Tensor& a,
                  const Tensor& b) {
  apply(backend, "compare", static_cast<std::uint32_t>(operation), to_string(operation), DType::u8,
        {&a, &b, &out});
}

Tensor compare(const Backend& backend, Compare operation, const Tensor& a, const Tensor& b) {
  Tensor out = backend.empty(DType::u8, a.dims());
  compare_into(backend, out, operation, a, b);
  return out;
}

}  // namespace hiptool::ops
