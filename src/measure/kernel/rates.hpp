// SPDX-License-Identifier: MIT
/// Published rates of the multiprocessors of an architecture.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/platform.hpp"

namespace hiptool::measure {

/// Operations of one multiprocessor in a clock with multiply-adds of the type, an addition and a
/// multiplication each ("f32", "f64", "i32", "f16", "bf16"; in 16 bits, of pairs and without matrix
/// units); absent if no public source was found (docs/peaks.md).
std::optional<double> multiply_add_rate(std::string_view arch, std::string_view dtype);

/// Whether gemm_matrix.hip is for this architecture: m16n8k16 came with sm_80 (PTX ISA, mma).
bool has_matrix_instructions(Platform platform, std::string_view arch);

/// Operations of one multiprocessor in a clock with matrix instructions of f16 or bf16 and sums in
/// f32, without sparsity; absent if it is not published (docs/peaks.md). Hopper's figure is for
/// instructions of groups of warps; instructions of single warps, which gemm_matrix.hip uses, are
/// slower.
std::optional<double> matrix_rate(std::string_view arch);

/// Bytes that one multiprocessor reads from its shared memory in a clock: 32 banks of 4 bytes.
/// Absent if no public source was found (docs/peaks.md).
std::optional<double> shared_memory_rate(Platform platform, std::string_view arch);

/// Why the kernel of multiply-adds of the type cannot run on the architecture ("sm_75",
/// "gfx90a:xnack-"); empty if it can.
std::string missing_multiply_add(Platform platform, std::string_view arch, std::string_view dtype);

}  // namespace hiptool::measure
