// SPDX-License-Identifier: MIT
#include "kernels/registry.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "kernels/references.hpp"
#include "kernels/value_check.hpp"

namespace hiptool::kernels {
namespace {

using enum ArgumentType;

constexpr std::array fill_arguments{Argument{"out", output, 4}, Argument{"count", u64, 0},
                                    Argument{"value", u32, 0}};
constexpr std::array copy_16_arguments{Argument{"from", input, 16}, Argument{"to", output, 16},
                                       Argument{"count", u64, 0}};
constexpr std::array copy_1_arguments{Argument{"from", input, 1}, Argument{"to", output, 1},
                                      Argument{"count", u64, 0}};
constexpr std::array pattern_write_arguments{Argument{"out", output, 4}, Argument{"count", u64, 0},
                                             Argument{"seed", u32, 0}};
constexpr std::array pattern_check_arguments{Argument{"in", input, 4}, Argument{"count", u64, 0},
                                             Argument{"seed", u32, 0},
                                             Argument{"result", output, 8}};
constexpr std::array gate_arguments{Argument{"flag", input, 4}, Argument{"max_spins", u64, 0}};
constexpr std::array digest_arguments{
    Argument{"arena", input, 1},    Argument{"ranges", input, 24}, Argument{"range_count", u64, 0},
    Argument{"first_leaf", u64, 0}, Argument{"end_leaf", u64, 0},  Argument{"alignment", u32, 0},
    Argument{"digests", output, 8}};
constexpr std::array value_check_arguments{
    Argument{"arena", input, 1},        Argument{"tiles", input, 32},
    Argument{"descriptors", input, 48}, Argument{"first_tile", u64, 0},
    Argument{"end_tile", u64, 0},       Argument{"results", output, 8}};
constexpr std::array stream_arguments{Argument{"a", input, 16}, Argument{"b", input, 16},
                                      Argument{"out", output, 16}, Argument{"count", u64, 0}};
constexpr std::array stream_write_arguments{Argument{"out", output, 16}, Argument{"count", u64, 0},
                                            Argument{"word", u32, 0}};
constexpr std::array sum_4_arguments{Argument{"a", input, 16}, Argument{"b", input, 16},
                                     Argument{"count", u64, 0}, Argument{"out", output, 4}};
constexpr std::array sum_8_arguments{Argument{"a", input, 16}, Argument{"b", input, 16},
                                     Argument{"count", u64, 0}, Argument{"out", output, 8}};
constexpr std::array fma_arguments{Argument{"out", output, 8}, Argument{"rounds", u64, 0},
                                   Argument{"a", u64, 0}, Argument{"b", u64, 0}};
constexpr std::array gemm_f32_arguments{Argument{"a", input, 4}, Argument{"b", input, 4},
                                        Argument{"c", output, 16}, Argument{"n", u64, 0}};
constexpr std::array gemm_16_arguments{Argument{"a", input, 2}, Argument{"b", input, 2},
                                       Argument{"c", output, 16}, Argument{"n", u64, 0}};
constexpr std::array chase_arguments{Argument{"next", input, 4}, Argument{"steps", u64, 0},
                                     Argument{"place", output, 4}};
constexpr std::array shared_read_arguments{Argument{"out", output, 4}, Argument{"rounds", u64, 0}};
constexpr std::array atomic_arguments{Argument{"counters", output, 4}, Argument{"rounds", u64, 0},
                                      Argument{"mask", u32, 0}};
constexpr std::array transpose_arguments{Argument{"in", input, 4}, Argument{"out", output, 4},
                                         Argument{"rows", u64, 0}, Argument{"columns", u64, 0}};
constexpr std::array row_arguments{Argument{"in", input, 16}, Argument{"weights", input, 16},
                                   Argument{"out", output, 16}, Argument{"rows", u64, 0}};
constexpr std::array dequantize_arguments{Argument{"blocks", input, 1}, Argument{"grids", input, 2},
                                          Argument{"out", output, 16},  Argument{"count", u64, 0},
                                          Argument{"type", u32, 0},     Argument{"shape", u32, 0}};
constexpr std::array memtest_write_arguments{Argument{"out", output, 16}, Argument{"count", u64, 0},
                                             Argument{"test", u32, 0}, Argument{"pass", u32, 0},
                                             Argument{"flip", u32, 0}};
constexpr std::array memtest_check_arguments{
    Argument{"data", output, 16}, Argument{"count", u64, 0}, Argument{"test", u32, 0},
    Argument{"pass", u32, 0},     Argument{"flip", u32, 0},  Argument{"invert", u32, 0},
    Argument{"result", output, 8}};

template <std::uint64_t Factor>
std::uint64_t times(std::uint64_t count) {
  return count * Factor;
}

template <std::uint64_t Factor>
std::uint64_t square(std::uint64_t count) {
  return count * count * Factor;
}

template <std::uint64_t Factor>
std::uint64_t cube(std::uint64_t count) {
  return count * count * count * Factor;
}

// Every byte is read; 8 bytes are written for each leaf.
std::uint64_t digest_bytes(std::uint64_t count) {
  constexpr std::uint64_t leaf_bytes = 16384;
  return count + (count + leaf_bytes - 1) / leaf_bytes * 8;
}

/// A kernel that only the bench uses; its count is in units of 16 bytes. What it computes is held
/// against expected values there, so it has no reference: on the processor it runs as it is.
constexpr KernelEntry bench(std::string_view name, std::string_view source,
                            std::string_view description, std::span<const Argument> arguments,
                            std::uint64_t (*bytes_moved)(std::uint64_t),
                            std::uint64_t (*operations)(std::uint64_t)) {
  return {name, source, description, arguments, bytes_moved, operations, 0, nullptr};
}

constexpr std::array all{
    KernelEntry{"hiptool_fill_u32", "fill", "out[i] = value", fill_arguments, times<4>, times<0>, 0,
                references::fill_u32},
    KernelEntry{"hiptool_copy_16", "copy", "to[i] = from[i], 16 bytes each", copy_16_arguments,
                times<32>, times<0>, 0, references::copy_16},
    KernelEntry{"hiptool_copy_1", "copy", "to[i] = from[i], single bytes", copy_1_arguments,
                times<2>, times<0>, 0, references::copy_1},
    KernelEntry{"hiptool_pattern_write", "pattern", "out[i] = a word that only place i has",
                pattern_write_arguments, times<4>, times<13>, 0, references::pattern_write},
    KernelEntry{"hiptool_pattern_check", "pattern", "counts and finds words at wrong places",
                pattern_check_arguments, times<4>, times<14>, 0, references::pattern_check},
    // No reference: on the host too, what it does is to wait for somebody else's write.
    KernelEntry{"hiptool_gate", "gate", "waits until a flag is not 0", gate_arguments, times<0>,
                times<0>, 0, nullptr},
    KernelEntry{"hiptool_tensor_digests", "digest", "XXH3-64 of each 16 KiB of many tensors",
                digest_arguments, digest_bytes, times<0>, 0, references::tensor_digests},
    // For so many bytes of plain values; of quantised ones only the scales are read.
    KernelEntry{"hiptool_value_check", "value_check", "counts NaN and infinity in many tensors",
                value_check_arguments, times<1>, times<0>, 0, references::value_check},
    bench("hiptool_stream_copy", "stream", "out = a", stream_arguments, times<32>, times<0>),
    bench("hiptool_stream_scale_f32", "stream", "out = 3 a", stream_arguments, times<32>, times<4>),
    bench("hiptool_stream_scale_f64", "stream", "out = 3 a", stream_arguments, times<32>, times<2>),
    bench("hiptool_stream_add_f32", "stream", "out = a + b", stream_arguments, times<48>, times<4>),
    bench("hiptool_stream_add_f64", "stream", "out = a + b", stream_arguments, times<48>, times<2>),
    bench("hiptool_stream_triad_f32", "stream", "out = a + 3 b", stream_arguments, times<48>,
          times<8>),
    bench("hiptool_stream_triad_f64", "stream", "out = a + 3 b", stream_arguments, times<48>,
          times<4>),
    bench("hiptool_stream_nstream_f32", "stream", "out = out + a + 3 b", stream_arguments,
          times<64>, times<12>),
    bench("hiptool_stream_nstream_f64", "stream", "out = out + a + 3 b", stream_arguments,
          times<64>, times<6>),
    bench("hiptool_stream_write", "stream", "out = a word for each place", stream_write_arguments,
          times<16>, times<0>),
    bench("hiptool_stream_memset", "stream", "out = one word", stream_write_arguments, times<16>,
          times<0>),
    bench("hiptool_read", "reduce", "all words xored", sum_4_arguments, times<16>, times<0>),
    bench("hiptool_sum_u32", "reduce", "sum of a", sum_4_arguments, times<16>, times<4>),
    bench("hiptool_sum_f32", "reduce", "sum of a", sum_4_arguments, times<16>, times<4>),
    bench("hiptool_sum_f64", "reduce", "sum of a", sum_8_arguments, times<16>, times<2>),
    bench("hiptool_dot_f32", "reduce", "sum of a b", sum_4_arguments, times<32>, times<8>),
    bench("hiptool_dot_f64", "reduce", "sum of a b", sum_8_arguments, times<32>, times<4>),
    bench("hiptool_memtest_write", "memtest", "writes what a memory test expects",
          memtest_write_arguments, times<16>, times<0>),
    bench("hiptool_memtest_check", "memtest", "finds words that a memory test does not expect",
          memtest_check_arguments, times<16>, times<0>),
    // For so many rounds of one thread.
    bench("hiptool_fma_f32", "fma", "multiply-adds of f32", fma_arguments, times<0>, times<512>),
    bench("hiptool_fma_f64", "fma", "multiply-adds of f64", fma_arguments, times<0>, times<512>),
    bench("hiptool_fma_i32", "fma", "multiply-adds of i32", fma_arguments, times<0>, times<512>),
    bench("hiptool_fma_f16", "fma_f16", "multiply-adds of f16", fma_arguments, times<0>,
          times<1024>),
    bench("hiptool_fma_bf16", "fma_bf16", "multiply-adds of bf16", fma_arguments, times<0>,
          times<1024>),
    bench("hiptool_shared_read", "units", "reads of shared memory", shared_read_arguments,
          times<16>, times<4>),
    bench("hiptool_atomic_add", "units", "atomic additions", atomic_arguments, times<0>, times<1>),
    // For matrices with so many rows and columns.
    bench("hiptool_gemm_f32", "gemm", "c = a b of f32", gemm_f32_arguments, square<12>, cube<2>),
    bench("hiptool_gemm_f16", "gemm", "c = a b of f16, sums in f32", gemm_16_arguments, square<8>,
          cube<2>),
    bench("hiptool_gemm_bf16", "gemm", "c = a b of bf16, sums in f32", gemm_16_arguments, square<8>,
          cube<2>),
    bench("hiptool_gemm_matrix_f16", "gemm_matrix", "c = a b of f16 by matrix instructions",
          gemm_16_arguments, square<8>, cube<2>),
    bench("hiptool_gemm_matrix_bf16", "gemm_matrix", "c = a b of bf16 by matrix instructions",
          gemm_16_arguments, square<8>, cube<2>),
    // For so many rows of 4096 values.
    bench("hiptool_softmax_f32", "model", "softmax of rows", row_arguments, times<32768>,
          times<20480>),
    bench("hiptool_rmsnorm_f32", "model", "root-mean-square norm of rows", row_arguments,
          times<32768>, times<16384>),
    bench("hiptool_layernorm_f32", "model", "layer norm of rows", row_arguments, times<32768>,
          times<32768>),
    bench("hiptool_rope_f32", "model", "rotary embedding of rows", row_arguments, times<32768>,
          times<12288>),
    bench("hiptool_swiglu_f32", "model", "swish of one array times another", row_arguments,
          times<49152>, times<20480>),
    // For so many values, without what their blocks take.
    bench("hiptool_dequantize", "dequantize", "a quantised type of GGUF to f32",
          dequantize_arguments, times<4>, times<2>),
    // For so many steps, and so many words.
    bench("hiptool_chase", "units", "follows a chain of indices", chase_arguments, times<4>,
          times<0>),
    bench("hiptool_transpose", "units", "out[column][row] = in[row][column]", transpose_arguments,
          times<8>, times<0>),
};

}  // namespace

std::span<const KernelEntry> entries() { return all; }

const KernelEntry* find_entry(std::string_view name) noexcept {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const KernelEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void register_references() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const KernelEntry& entry : all) {
      if (entry.reference != nullptr) hip::cpu::register_native(entry.name, entry.reference);
    }
  });
}

}  // namespace hiptool::kernels
