// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/faults.hpp"
#include "ops/operands.hpp"

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

void apply(const Backend& backend, const char* family, std::uint32_t operation,
           std::string_view name, DType result, const std::array<const Tensor*, 3>& tensors,
           bool checks = false) {
  const auto& [a, b, out] = tensors;
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
    const Kernel kernel = backend.state().kernel("ops_binary", stem + "packed_" + type);
    launch_elements(backend, kernel, count, run, operation, count, a->address(), b->address(),
                    out->address());
    return;
  }
  const Kernel kernel = backend.state().kernel("ops_binary", stem + type);
  const auto operands = make_operands<3>(tensors, run);
  launch_elements(backend, kernel, count, operands.run, operation, operands, a->address(),
                  b->address(), out->address());
}

}  // namespace

std::string_view to_string(Binary operation) noexcept {
  return binary_names[static_cast<std::size_t>(operation)];
}
std::string_view to_string(Compare operation) noexcept {
  return compare_names[static_cast<std::size_t>(operation)];
}

void binary_into(const Backend& backend, Binary operation, const Tensor& a, const Tensor& b,
                 const Tensor& out) {
  const bool checks = operation == Binary::div && !is_floating_point(a.dtype()) &&
                      backend.state().options.checks_division;
  apply(backend, "binary", static_cast<std::uint32_t>(operation), to_string(operation), a.dtype(),
        {&a, &b, &out}, checks);
}

Tensor binary(const Backend& backend, Binary operation, const Tensor& a, const Tensor& b) {
  Tensor out = backend.empty(a.dtype(), a.dims());
  binary_into(backend, operation, a, b, out);
  return out;
}

void compare_into(const Backend& backend, Compare operation, const Tensor& a, const Tensor& b,
                  const Tensor& out) {
  apply(backend, "compare", static_cast<std::uint32_t>(operation), to_string(operation), DType::u8,
        {&a, &b, &out});
}

Tensor compare(const Backend& backend, Compare operation, const Tensor& a, const Tensor& b) {
  Tensor out = backend.empty(DType::u8, a.dims());
  compare_into(backend, operation, a, b, out);
  return out;
}

}  // namespace hiptool::ops
