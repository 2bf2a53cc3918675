// SPDX-License-Identifier: MIT
/// Runs every tensor operation, every dequantisation and the kernels of checks and benchmarks on
/// little data on the cpu platform and records the launches. Usage: record_launches FOLDER
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "interop/recorder.hpp"
#include "kernel_store/iq_grids.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "kernel_store/quantised_types.hpp"
#include "model/element_types.hpp"
#include "ops/quantised.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::test {
namespace {

constexpr std::array layouts{"packed", "strided"};
constexpr std::array real_types{DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};
constexpr std::array row_types{DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr std::array types_by_size{DType::u8, DType::f16, DType::u32, DType::f64};

const Dims small{5, 9};

void record_two_operands(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  const auto both = [&](std::string_view name, DType result, const auto& run) {
    recorder.begin(std::string(name), dtype, layout);
    const Tensor a = recorder.tensor(dtype, small, layout);
    const Tensor b = recorder.tensor(dtype, small, layout);
    run(a, b, for_call(recorder.empty(result, small, layout)));
  };
#define HIPTOOL_BINARY(name, ...)                                         \
  both(#name, dtype, [&](const Tensor& a, const Tensor& b, Tensor& out) { \
    ops::name##_into(backend, out, a, b);                                 \
  });
#define HIPTOOL_COMPARE(name, ...)                                            \
  both(#name, DType::u8, [&](const Tensor& a, const Tensor& b, Tensor& out) { \
    ops::name##_into(backend, out, a, b);                                     \
  });
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
#undef HIPTOOL_COMPARE
}

void record_one_operand(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  const auto one = [&](const std::string& name, DType result, const auto& run) {
    recorder.begin(name, dtype, layout);
    const Tensor x = recorder.tensor(dtype, small, layout);
    run(x, for_call(recorder.empty(result, small, layout)));
  };
  if (is_floating_point(dtype)) {
    for (const ops::Unary operation : ops::unary_operations) {
      one(std::string(to_string(operation)), dtype,
          [&](const Tensor& x, Tensor& out) { ops::unary_into(backend, out, operation, x); });
    }
    one("powf", dtype, [&](const Tensor& x, Tensor& out) { ops::powf_into(backend, out, x, 2.5); });
    one("elu", dtype, [&](const Tensor& x, Tensor& out) { ops::elu_into(backend, out, x, 1.5); });
  }
  one("affine", dtype,
      [&](const Tensor& x, Tensor& out) { ops::affine_into(backend, out, x, 3, 2); });
  one("fill", dtype, [&](const Tensor&, Tensor& out) { ops::fill_into(backend, out, 7); });
  for (const DType to : dtypes) {
    one("cast to " + std::string(to_string(to)) + " from", to,
        [&](const Tensor& x, Tensor& out) { ops::cast_into(backend, out, x); });
  }
}

void record_where(Recorder& recorder, DType dtype, std::string_view layout) {
  for (const DType condition : {DType::u8, DType::u32, DType::i64}) {
    recorder.begin("where " + std::string(to_string(condition)), dtype, layout);
    const Tensor chooses = recorder.ids(condition, small, layout, 2);
    const Tensor a = recorder.tensor(dtype, small, layout);
    const Tensor b = recorder.tensor(dtype, small, layout);
    ops::where_cond_into(recorder.backend(), for_call(recorder.empty(dtype, small, layout)),
                         chooses, a, b);
  }
}

void record_moves(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  recorder.begin("copy", dtype, layout);
  ops::copy_into(backend, for_call(recorder.empty(dtype, small, "strided")),
                 recorder.tensor(dtype, small, layout));
  recorder.begin("transpose", dtype, layout);
  const Tensor x = recorder.tensor(dtype, {20, 24}, layout);
  ops::copy_into(backend, for_call(recorder.empty(dtype, {24, 20}, "packed")),
                 x.with_layout(x.layout().transpose(0, 1)));
  recorder.begin("concat", dtype, layout);
  ops::concat_into(backend, for_call(recorder.empty(dtype, {5, 12}, layout)),
                   {recorder.tensor(dtype, small, layout), recorder.tensor(dtype, {5, 3}, layout)},
                   1);
}

void record_indexing(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  for (const DType ids : {DType::u8, DType::u32, DType::i64}) {
    const std::string by = " by " + std::string(to_string(ids));
    recorder.begin("index_select" + by, dtype, layout);
    ops::index_select_into(backend, for_call(recorder.empty(dtype, {4, 9}, layout)),
                           recorder.tensor(dtype, small, layout), recorder.ids(ids, {4}, layout, 5),
                           0);
    recorder.begin("gather" + by, dtype, layout);
    ops::gather_into(backend, for_call(recorder.empty(dtype, {5, 7}, layout)),
                     recorder.tensor(dtype, small, layout), recorder.ids(ids, {5, 7}, layout, 9),
                     1);
    recorder.begin("scatter" + by, dtype, layout);
    Tensor x = recorder.tensor(dtype, small, layout);
    ops::scatter_into(backend, x, x, recorder.ids(ids, {5, 7}, layout, 9),
                      recorder.tensor(dtype, {5, 7}, layout), 1);
  }
}

void record_adding(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  recorder.begin("scatter_add", dtype, layout);
  Tensor x = recorder.tensor(dtype, small, layout);
  ops::scatter_add_into(backend, x, x, recorder.ids(DType::u32, {5, 7}, layout, 9),
                        recorder.tensor(dtype, {5, 7}, layout), 1);
  recorder.begin("index_add", dtype, layout);
  Tensor y = recorder.tensor(dtype, small, layout);
  ops::index_add_into(backend, y, y, recorder.ids(DType::i64, {6}, layout, 5),
                      recorder.tensor(dtype, {6, 9}, layout), 0);
}

void record_random(Recorder& recorder, DType dtype, std::string_view layout) {
  recorder.begin("rand_uniform", dtype, layout);
  ops::rand_uniform_into(recorder.backend(), for_call(recorder.empty(dtype, small, layout)),
                         299792458, -1, 2);
  recorder.begin("rand_normal", dtype, layout);
  ops::rand_normal_into(recorder.backend(), for_call(recorder.empty(dtype, small, layout)),
                        299792458, 1, 3);
}

void record_rows(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  for (const Dims& dims : {Dims{3, 24}, Dims{1, 300}}) {
    const std::string of = " of " + std::to_string(dims[1]);
    const auto begin = [&](const std::string& name) {
      recorder.begin(name + of, dtype, layout);
      return recorder.tensor(dtype, dims, layout, Data::numbers);
    };
    const auto out = [&] { return recorder.empty(dtype, dims, layout); };
    Tensor x = begin("softmax");
    ops::softmax_into(backend, for_call(out()), x, 1);
    x = begin("log_softmax");
    ops::log_softmax_into(backend, for_call(out()), x, 1);
    x = begin("rmsnorm");
    const Tensor weight = recorder.tensor(dtype, {dims[1]}, layout, Data::numbers);
    const Tensor bias = recorder.tensor(dtype, {dims[1]}, layout, Data::numbers);
    ops::rmsnorm_into(backend, for_call(out()), x, weight, 1e-5);
    x = begin("layernorm");
    ops::layernorm_into(backend, for_call(out()), x, weight, bias, 1e-5);
  }
}

void record_rope_and_gates(Recorder& recorder, DType dtype, std::string_view layout) {
  const Backend& backend = recorder.backend();
  for (const auto pairs : {RopePairs::neighbours, RopePairs::halves}) {
    recorder.begin(pairs == RopePairs::halves ? "rope halves" : "rope neighbours", dtype, layout);
    const Tensor x = recorder.tensor(dtype, {3, 2, 10}, layout, Data::numbers);
    const Tensor cosines = recorder.tensor(DType::f32, {3, 4}, layout, Data::numbers);
    const Tensor sines = recorder.tensor(DType::f32, {3, 4}, layout, Data::numbers);
    ops::rope_into(backend, for_call(recorder.empty(dtype, {3, 2, 10}, layout)), x, cosines, sines,
                   pairs);
  }
  constexpr std::array gates{"silu", "gelu", "gelu_erf", "relu", "sigmoid"};
  for (std::size_t i = 0; i < gates.size(); ++i) {
    recorder.begin("gate " + std::string(gates[i]), dtype, layout);
    const Tensor values = recorder.tensor(dtype, small, layout);
    const Tensor up = recorder.tensor(dtype, small, layout);
    ops::gate_into(backend, for_call(recorder.empty(dtype, small, layout)),
                   static_cast<ops::Gate>(i), values, up);
  }
}

/// Packed ones of so many elements that every thread has work.
void record_long_casts(Recorder& recorder, DType dtype) {
  const Dims dims{2741};
  for (const DType to : dtypes) {
    recorder.begin("cast of 2741 to " + std::string(to_string(to)) + " from", dtype, "packed");
    const Tensor x = recorder.tensor(dtype, dims, "packed");
    ops::cast_into(recorder.backend(), for_call(recorder.empty(to, dims, "packed")), x);
  }
}

/// Of more elements than a block takes, with numbers of every kind.
void record_long_gates(Recorder& recorder, DType dtype) {
  const Dims dims{2741};
  for (const auto kind : {ops::Gate::silu, ops::Gate::sigmoid}) {
    recorder.begin(kind == ops::Gate::silu ? "gate silu of 2741" : "gate sigmoid of 2741", dtype,
                   "packed");
    const Tensor values = recorder.tensor(dtype, dims, "packed");
    const Tensor up = recorder.tensor(dtype, dims, "packed");
    ops::gate_into(recorder.backend(), for_call(recorder.empty(dtype, dims, "packed")), kind,
                   values, up);
  }
}

/// Rows that have the alignment of pieces, in memory that is not packed.
void record_aligned_rows(Recorder& recorder, DType dtype) {
  const Backend& backend = recorder.backend();
  const Dims dims{5, 16};
  const auto one = [&](const std::string& name, DType result, const auto& run) {
    recorder.begin(name, dtype, "rows");
    const Tensor x = recorder.tensor(dtype, dims, "rows");
    run(x, recorder.tensor(dtype, dims, "rows"), for_call(recorder.empty(result, dims, "rows")));
  };
  using T = const Tensor&;
  one("add", dtype, [&](T x, T y, Tensor& out) { ops::add_into(backend, out, x, y); });
  one("lt", DType::u8, [&](T x, T y, Tensor& out) { ops::lt_into(backend, out, x, y); });
  one("affine", dtype, [&](T x, T, Tensor& out) { ops::affine_into(backend, out, x, 3, 2); });
  one("fill", dtype, [&](T, T, Tensor& out) { ops::fill_into(backend, out, 7); });
  one("copy", dtype, [&](T x, T, Tensor& out) { ops::copy_into(backend, out, x); });
  one("cast to f32 from", DType::f32,
      [&](T x, T, Tensor& out) { ops::cast_into(backend, out, x); });
  one("cast to u8 from", DType::u8, [&](T x, T, Tensor& out) { ops::cast_into(backend, out, x); });
  one("where", dtype, [&](T x, T y, Tensor& out) {
    ops::where_cond_into(backend, out, recorder.ids(DType::u8, dims, "rows", 2), x, y);
  });
  if (is_floating_point(dtype)) {
    one("abs", dtype, [&](T x, T, Tensor& out) { ops::abs_into(backend, out, x); });
    one("exp", dtype, [&](T x, T, Tensor& out) { ops::exp_into(backend, out, x); });
    if (dtype != DType::f8e4m3) {
      one("gate gelu", dtype,
          [&](T x, T y, Tensor& out) { ops::gate_into(backend, out, ops::Gate::gelu, x, y); });
      one("gate silu", dtype,
          [&](T x, T y, Tensor& out) { ops::gate_into(backend, out, ops::Gate::silu, x, y); });
      one("gate sigmoid", dtype,
          [&](T x, T y, Tensor& out) { ops::gate_into(backend, out, ops::Gate::sigmoid, x, y); });
    }
    return;
  }
  const Backend checked(backend.device(), {true});
  one("checked div", dtype, [&](T x, Tensor y, Tensor& out) {
    ops::fill_into(backend, y, 5);
    backend.synchronize();
    ops::div_into(checked, out, x, y);
    checked.synchronize();
  });
}

/// Inputs that are contiguous along another axis than the output, and repeated ones.
void record_crossing(Recorder& recorder, DType dtype) {
  const Backend& backend = recorder.backend();
  const Dims dims{32, 48};
  const auto turned = [&] {
    const Tensor x = recorder.tensor(dtype, {48, 32}, "packed");
    return x.with_layout(x.layout().transpose(0, 1));
  };
  const auto repeated = [&](const Dims& line) {
    const Tensor x = recorder.tensor(dtype, line, "packed");
    return x.with_layout(x.layout().broadcast_to(dims));
  };
  recorder.begin("sub", dtype, "transposed");
  ops::sub_into(backend, for_call(recorder.empty(dtype, dims, "packed")), turned(),
                recorder.tensor(dtype, dims, "packed"));
  recorder.begin("mul column", dtype, "transposed");
  ops::mul_into(backend, for_call(recorder.empty(dtype, dims, "packed")), turned(),
                repeated({32, 1}));
  recorder.begin("minimum row", dtype, "packed");
  ops::minimum_into(backend, for_call(recorder.empty(dtype, dims, "packed")),
                    recorder.tensor(dtype, dims, "packed"), repeated({48}));
  recorder.begin("add column", dtype, "packed");
  ops::add_into(backend, for_call(recorder.empty(dtype, dims, "packed")), repeated({32, 1}),
                recorder.tensor(dtype, dims, "packed"));
}

/// Every quantised type, an odd number of blocks.
void record_dequantisation(Recorder& recorder) {
  const Backend& backend = recorder.backend();
  kernel_store::KernelLoader loader(backend.device());
  const Kernel kernel = loader.kernel("hiptool_dequantize");
  Buffer grids(backend.device(), kernel_store::iq_grids().size_bytes());
  copy_h2d_and_wait(grids, std::as_bytes(kernel_store::iq_grids()));
  for (const auto& type : kernel_store::quantised_types) {
    recorder.begin("dequantize " + std::string(type.name), DType::u8, "packed");
    constexpr std::uint64_t block_count = 5;
    const std::uint64_t count = block_count * type.values;
    const Tensor blocks = recorder.tensor(DType::u8, {block_count * type.bytes}, "packed");
    const Tensor out = recorder.empty(DType::f32, {count}, "packed");
    launch(kernel, LaunchConfig{{1}, {256}}, backend.stream(), blocks.address(), grids,
           out.address(), count, type.id);
    backend.synchronize();
  }
}

/// Products with weights of that type, of one token and of several, two and a sum in one launch,
/// and rows of them.
void record_weights(Recorder& recorder, const ops::QuantisedTensor& weights,
                    const std::string& name) {
  const Backend& backend = recorder.backend();
  for (const std::uint64_t tokens : {1u, 3u}) {
    recorder.begin("quantised_matmul " + name + " tokens " + std::to_string(tokens), DType::f32,
                   "packed");
    const Tensor x =
        recorder.tensor(DType::f32, {tokens, weights.columns()}, "packed", Data::numbers);
    ops::quantised_matmul_into(
        backend, for_call(recorder.empty(DType::f32, {tokens, weights.rows()}, "packed")), weights,
        x);
  }
  const Tensor x = recorder.tensor(DType::f32, {1, weights.columns()}, "packed", Data::numbers);
  recorder.begin("quantised_matmuls " + name, DType::f32, "packed");
  Tensor first = recorder.empty(DType::f32, {1, weights.rows()}, "packed");
  Tensor second = recorder.empty(DType::f32, {1, weights.rows()}, "packed");
  const std::array products{ops::WeightsProduct{&weights, &first},
                            ops::WeightsProduct{&weights, &second}};
  ops::quantised_matmuls_into(backend, products, x);
  recorder.begin("add_quantised_matmul " + name, DType::f32, "packed");
  Tensor sum = recorder.tensor(DType::f32, {1, weights.rows()}, "packed", Data::numbers);
  ops::add_quantised_matmul_into(
      backend, sum, weights, x,
      for_call(recorder.empty(DType::f32, {1, weights.rows()}, "packed")));
  recorder.begin("embedding_rows " + name, DType::f32, "packed");
  ops::embedding_rows_into(backend,
                           for_call(recorder.empty(DType::f32, {3, weights.columns()}, "packed")),
                           weights, recorder.ids(DType::u32, {3}, "packed", 2));
  backend.synchronize();
}

void record_attention(Recorder& recorder, const char* name, std::uint64_t positions,
                      std::uint64_t size, const ops::AttentionOptions& chosen,
                      bool has_sinks = false, std::uint64_t tokens = 2) {
  const Backend& backend = recorder.backend();
  recorder.begin(name, DType::f32, "packed");
  const ops::KVCache cache{
      recorder.tensor(DType::f32, {positions, 2, size}, "packed", Data::numbers),
      recorder.tensor(DType::f32, {positions, 2, size}, "packed", Data::numbers)};
  ops::AttentionOptions options = chosen;
  options.first_position = positions - tokens;
  options.scale = 0.25;
  if (has_sinks) options.sinks = recorder.tensor(DType::f32, {4}, "packed", Data::numbers);
  ops::attention_into(backend, for_call(recorder.empty(DType::f32, {tokens, 4, size}, "packed")),
                      recorder.tensor(DType::f32, {tokens, 4, size}, "packed", Data::numbers),
                      cache, options);
}

void record_layers(Recorder& recorder) {
  const Backend& backend = recorder.backend();
  for (const auto& type : kernel_store::quantised_types) {
    recorder.begin("weights " + std::string(type.name), DType::u8, "packed");
    const std::uint64_t row_bytes = 256 / type.values * type.bytes;
    const Tensor blocks = recorder.tensor(DType::u8, {2 * row_bytes}, "packed");
    const ElementType element(model::find_gguf_type(type.id)->entry);
    record_weights(recorder, {blocks.buffer(), element, 2, 256}, std::string(type.name));
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    recorder.begin("weights", dtype, "packed");
    for (const std::uint64_t columns : {131u, 256u}) {  // a row of 256 is read in pieces
      const Tensor table = recorder.tensor(dtype, {9, columns}, "packed", Data::numbers);
      record_weights(recorder, ops::QuantisedTensor(table),
                     std::string(to_string(dtype)) + " of " + std::to_string(columns));
    }
  }
  record_attention(recorder, "attention", 5, 24, {});
  record_attention(recorder, "attention, two segments", 258, 5, {});
  record_attention(recorder, "attention, window and softcap", 9, 16, {.window = 3, .softcap = 2});
  record_attention(recorder, "attention, sinks", 5, 24, {}, true);
  record_attention(recorder, "attention, sinks, two segments", 258, 5, {}, true);
  record_attention(recorder, "attention, sinks, window and softcap", 9, 16,
                   {.window = 3, .softcap = 2}, true);
  record_attention(recorder, "attention of many tokens", 12, 24, {}, false, 11);
  record_attention(recorder, "attention of many tokens, two segments", 262, 37, {}, true, 9);
  record_attention(recorder, "attention of many tokens, window and softcap", 30, 132,
                   {.window = 7, .softcap = 2}, false, 19);
  recorder.begin("rope_tables", DType::f32, "packed");
  const Tensor frequencies = recorder.tensor(DType::f64, {5}, "packed", Data::numbers);
  static_cast<void>(
      ops::rope_tables(backend, frequencies, recorder.ids(DType::u32, {7}, "packed", 1000)));
  recorder.begin("rope_tables of neighbours", DType::f32, "packed");
  static_cast<void>(ops::rope_tables(backend, frequencies, 131070, 3, 1.19));
}

void record_all(Recorder& recorder) {
  for (const std::string_view layout : layouts) {
    for (const DType dtype : dtypes) {
      record_two_operands(recorder, dtype, layout);
      record_one_operand(recorder, dtype, layout);
      record_adding(recorder, dtype, layout);
    }
    for (const DType dtype : types_by_size) {
      record_where(recorder, dtype, layout);
      record_moves(recorder, dtype, layout);
      record_indexing(recorder, dtype, layout);
    }
    for (const DType dtype : real_types) record_random(recorder, dtype, layout);
    for (const DType dtype : row_types) {
      record_rows(recorder, dtype, layout);
      record_rope_and_gates(recorder, dtype, layout);
    }
  }
  for (const DType dtype : dtypes) {
    record_aligned_rows(recorder, dtype);
    record_crossing(recorder, dtype);
    record_long_casts(recorder, dtype);
  }
  for (const DType dtype : {DType::f16, DType::bf16}) record_long_gates(recorder, dtype);
  record_row_kernels(recorder);
  record_all_reductions(recorder);
  record_dequantisation(recorder);
  record_all_products(recorder);
  record_all_images(recorder);
  record_layers(recorder);
  record_all_experts(recorder);
  record_all_delta(recorder);
  record_all_decoding(recorder);
  record_all_checks(recorder);
  recorder.finish();
}

}  // namespace
}  // namespace hiptool::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    // Native functions would take the place of some kernels.
    hiptool::hip::cpu::set_kernel_path(hiptool::hip::cpu::KernelPath::fibers);
    hiptool::test::Recorder recorder(argv[1]);
    hiptool::test::record_all(recorder);
    std::printf("%zu launches\n", recorder.launch_count());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
