// SPDX-License-Identifier: MIT
/// Rates of tensor operations and of dequantisation as a share of the peak memory bandwidth (memory
/// clock and width): bytes that must be read and written, in a tenth of the time between two events
/// around ten calls, the median of five; of matrix products in FLOP/s. ops_rates [DEVICE [MIB
/// [GROUP...]]]: arrays of 256 MiB and all groups by default.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/event.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "kernel_store/iq_grids.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "kernel_store/quantised_types.hpp"
#include "measure/peak.hpp"

namespace {

using namespace hiptool;

class Rates {
 public:
  Rates(const Device& device, std::uint64_t array_bytes)
      : backend_(device), array_bytes_(array_bytes) {
    const auto peak = measure::memory_peak(device.platform(), device.info());
    if (peak) peak_ = peak->bytes_per_s;
    std::printf("%s, peak %.0f GB/s, arrays of %llu MiB\n", device.info().name.c_str(), peak_ / 1e9,
                static_cast<unsigned long long>(array_bytes >> 20));
  }

  const Backend& backend() const { return backend_; }
  std::uint64_t array_bytes() const { return array_bytes_; }

  /// Of one call among several between two events, after warm-up.
  double median_s(std::size_t samples, const std::function<void()>& queue) {
    constexpr int calls = 10;
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) queue();
    for (std::size_t i = 0; i < samples; ++i) {
      Event start(backend_.device(), Event::Kind::timing);
      Event stop(backend_.device(), Event::Kind::timing);
      start.record(backend_.stream());
      for (int call = 0; call < calls; ++call) queue();
      stop.record(backend_.stream());
      stop.synchronize();
      seconds.push_back(stop.elapsed_s(start) / calls);
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(samples / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
  }

  void measure(const std::string& name, double bytes, const std::function<void()>& queue) {
    const double rate = bytes / median_s(5, queue);
    std::printf("%-36s %8.1f GB/s  %s\n", name.c_str(), rate / 1e9,
                peak_ > 0 ? std::to_string(rate / peak_).substr(0, 5).c_str() : "-");
    std::fflush(stdout);
  }

  /// A matrix of zeros with rows of 4096 that fills the array.
  Tensor matrix(DType dtype, std::uint64_t columns = 4096) const {
    return backend_.zeros(dtype, {array_bytes_ / element_size_bytes(dtype) / columns, columns});
  }

 private:
  Backend backend_;
  std::uint64_t array_bytes_;
  double peak_ = 0;
};

double bytes_of(const Tensor& tensor) {
  return static_cast<double>(tensor.element_count() * element_size_bytes(tensor.dtype()));
}

/// The same memory as rows of the other length, transposed: the dimensions of the matrix.
Tensor turn(const Tensor& matrix) {
  const std::uint64_t rows = matrix.dims()[0];
  const std::uint64_t columns = matrix.dims()[1];
  return matrix.with_layout(matrix.layout().reshape({columns, rows})->transpose(0, 1));
}

void measure_binary(Rates& rates, DType dtype) {
  const Backend& backend = rates.backend();
  const std::string type(to_string(dtype));
  const Tensor a = rates.matrix(dtype);
  const Tensor b = rates.matrix(dtype);
  Tensor out = rates.matrix(dtype);
  const std::uint64_t rows = a.dims()[0];
  const std::uint64_t columns = a.dims()[1];
  const double bytes = bytes_of(a);
  const auto count = static_cast<double>(a.element_count());
  Tensor flags = backend.empty(DType::u8, {rows, columns});
  const Tensor row = backend.zeros(dtype, {columns});
  const Tensor wide = row.with_layout(row.layout().broadcast_to({rows, columns}));
  const Tensor column = backend.zeros(dtype, {rows, 1});
  const Tensor deep = column.with_layout(column.layout().broadcast_to({rows, columns}));
  const auto part = [&](const Tensor& tensor) {
    return tensor.with_layout(tensor.layout().narrow(1, 64, columns - 128));
  };
  const Tensor turned = turn(a);
  rates.measure("add " + type, 3 * bytes, [&] { ops::add_into(backend, out, a, b); });
  rates.measure("mul " + type, 3 * bytes, [&] { ops::mul_into(backend, out, a, b); });
  rates.measure("div " + type, 3 * bytes, [&] { ops::div_into(backend, out, a, b); });
  rates.measure("minimum " + type, 3 * bytes, [&] { ops::minimum_into(backend, out, a, b); });
  rates.measure("lt " + type, 2 * bytes + count, [&] { ops::lt_into(backend, flags, a, b); });
  rates.measure("add row " + type, 2 * bytes, [&] { ops::add_into(backend, out, a, wide); });
  rates.measure("add column " + type, 2 * bytes, [&] { ops::add_into(backend, out, a, deep); });
  const double share = static_cast<double>(columns - 128) / static_cast<double>(columns);
  rates.measure("add part " + type, 3 * bytes * share,
                [&] { ops::add_into(backend, test::for_call(part(out)), part(a), part(b)); });
  rates.measure("add transposed " + type, 3 * bytes,
                [&] { ops::add_into(backend, out, turned, b); });
  rates.measure("mul transposed " + type, 3 * bytes,
                [&] { ops::mul_into(backend, out, turned, b); });
  Tensor packed = rates.matrix(dtype);
  rates.measure("add transposed, copied first " + type, 3 * bytes, [&] {
    ops::copy_into(backend, packed, turned);
    ops::add_into(backend, out, packed, b);
  });
}

void measure_all_binary(Rates& rates) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32, DType::f64, DType::f8e4m3}) {
    measure_binary(rates, dtype);
  }
}

void measure_moves(Rates& rates) {
  const Backend& backend = rates.backend();
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::f64}) {
    const std::string type(to_string(dtype));
    const Tensor x = rates.matrix(dtype);
    Tensor out = rates.matrix(dtype);
    const double bytes = 2 * bytes_of(x);
    rates.measure("copy " + type, bytes, [&] { ops::copy_into(backend, out, x); });
    rates.measure("copy transposed " + type, bytes, [&] { ops::copy_into(backend, out, turn(x)); });
  }
  const DType pairs[][2] = {{DType::f32, DType::f16},  {DType::f16, DType::f32},
                            {DType::f32, DType::bf16}, {DType::bf16, DType::f32},
                            {DType::f16, DType::bf16}, {DType::u8, DType::f32},
                            {DType::f32, DType::f64}};
  for (const auto& [from, to] : pairs) {
    const Tensor x = rates.matrix(from);
    Tensor out = backend.empty(to, {x.dims()[0], x.dims()[1]});
    const std::string name = std::string(to_string(from)) + " to " + std::string(to_string(to));
    rates.measure("cast " + name, bytes_of(x) + bytes_of(out),
                  [&] { ops::cast_into(backend, out, x); });
  }
}

void measure_rows(Rates& rates) {
  const Backend& backend = rates.backend();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::string type(to_string(dtype));
    const Tensor x = rates.matrix(dtype);
    Tensor out = rates.matrix(dtype);
    const std::uint64_t rows = x.dims()[0];
    const std::uint64_t width = x.dims()[1];
    const Tensor weight = backend.zeros(dtype, {width});
    Tensor of_rows = backend.empty(dtype, {rows});
    Tensor of_columns = backend.empty(dtype, {width});
    Tensor of_all = backend.empty(dtype, std::initializer_list<std::uint64_t>{});
    const double once = bytes_of(x);
    rates.measure("sum of rows " + type, once, [&] { ops::sum_into(backend, of_rows, x, {1}); });
    rates.measure("max of rows " + type, once, [&] { ops::max_into(backend, of_rows, x, {1}); });
    rates.measure("sum of columns " + type, once,
                  [&] { ops::sum_into(backend, of_columns, x, {0}); });
    rates.measure("max of columns " + type, once,
                  [&] { ops::max_into(backend, of_columns, x, {0}); });
    rates.measure("sum of all " + type, once, [&] { ops::sum_into(backend, of_all, x, {0, 1}); });
    rates.measure("softmax " + type, 2 * once,
                  [&] { ops::softmax_into(backend, out, x, ops::last_axis); });
    rates.measure("layernorm " + type, 2 * once,
                  [&] { ops::layernorm_into(backend, out, x, weight, weight, 1e-5); });
    rates.measure("rmsnorm " + type, 2 * once,
                  [&] { ops::rmsnorm_into(backend, out, x, weight, 1e-5); });
    // Heads of 128 numbers; the tables are as large as one head of all tokens.
    const auto heads = [&](const Tensor& tensor) {
      return tensor.with_layout(*tensor.layout().reshape({rows, width / 128, 128}));
    };
    const Tensor table = backend.zeros(DType::f32, {rows, 64});
    for (const auto pairs : {RopePairs::neighbours, RopePairs::halves}) {
      const bool neighbours = pairs == RopePairs::neighbours;
      rates.measure(std::string(neighbours ? "rope of neighbours " : "rope of halves ") + type,
                    2 * once + 2 * bytes_of(table), [&] {
                      ops::rope_into(backend, test::for_call(heads(out)), heads(x), table, table,
                                     pairs);
                    });
    }
    const Tensor values = rates.matrix(dtype);
    rates.measure("swiglu " + type, 3 * once,
                  [&] { ops::gate_into(backend, out, ops::Gate::silu, x, values); });
  }
}

void measure_functions(Rates& rates) {
  const Backend& backend = rates.backend();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::string type(to_string(dtype));
    const Tensor x = rates.matrix(dtype);
    Tensor out = rates.matrix(dtype);
    const double bytes = 2 * bytes_of(x);
    rates.measure("exp " + type, bytes, [&] { ops::exp_into(backend, out, x); });
    rates.measure("silu " + type, bytes, [&] { ops::silu_into(backend, out, x); });
    rates.measure("gelu " + type, bytes, [&] { ops::gelu_into(backend, out, x); });
    rates.measure("tanh " + type, bytes, [&] { ops::tanh_into(backend, out, x); });
    rates.measure("sigmoid " + type, bytes, [&] { ops::sigmoid_into(backend, out, x); });
  }
}

/// Every quantised type, with several numbers of blocks for a multiprocessor.
void measure_dequantisation(Rates& rates) {
  const Device& device = rates.backend().device();
  kernel_store::KernelLoader loader(device);
  const Kernel kernel = loader.kernel("hiptool_dequantize");
  Buffer grids(device, kernel_store::iq_grids().size_bytes());
  copy_h2d_and_wait(grids, std::as_bytes(kernel_store::iq_grids()));
  std::vector<std::byte> bytes(1 << 20);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  const auto units = device.info().compute_units.value_or(1);
  for (const auto& type : kernel_store::quantised_types) {
    const std::uint64_t block_count = 2 * rates.array_bytes() / 4 / type.values;
    const std::uint64_t count = block_count * type.values;
    const Buffer blocks(device, block_count * type.bytes);
    const Buffer out(device, count * 4);
    for (std::size_t done = 0; done < blocks.size_bytes(); done += bytes.size()) {
      const std::size_t length = std::min(bytes.size(), blocks.size_bytes() - done);
      copy_h2d_and_wait(blocks.view(done, length), std::span(bytes).first(length));
    }
    const std::uint64_t all = (count + 2047) / 2048;
    for (const std::uint64_t wanted : {8 * units, 16 * units, 64 * units, all}) {
      LaunchConfig config;
      config.block.x = 256;
      config.grid.x = static_cast<std::uint32_t>(std::min(wanted, all));
      const std::string blocks_of_unit = wanted == all ? "all" : std::to_string(wanted / units);
      rates.measure("dequantize " + std::string(type.name) + ", blocks " + blocks_of_unit,
                    static_cast<double>(blocks.size_bytes() + out.size_bytes()), [&] {
                      launch(kernel, config, rates.backend().stream(), blocks, grids, out, count,
                             type.id);
                    });
    }
  }
}

/// Square products of random matrices, in FLOP/s: 2 n^3 in the median time of 5 samples.
void measure_products(Rates& rates) {
  const Backend& backend = rates.backend();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const std::uint64_t n : {std::uint64_t{4096}, std::uint64_t{8192}}) {
      const Tensor a = ops::rand_uniform(backend, dtype, {n, n}, 1, -1, 1);
      const Tensor b = ops::rand_uniform(backend, dtype, {n, n}, 2, -1, 1);
      Tensor out = backend.empty(dtype, {n, n});
      const double seconds = rates.median_s(5, [&] { ops::matmul_into(backend, out, a, b); });
      const auto side = static_cast<double>(n);
      std::printf("matmul %s %llu %21.2f TFLOP/s\n", std::string(to_string(dtype)).c_str(),
                  static_cast<unsigned long long>(n), 2e-12 * side * side * side / seconds);
      std::fflush(stdout);
    }
  }
}

struct Group {
  const char* name;
  void (*measure)(Rates&);
};
constexpr Group groups[] = {{"dequantize", measure_dequantisation},
                            {"binary", measure_all_binary},
                            {"moves", measure_moves},
                            {"functions", measure_functions},
                            {"rows", measure_rows},
                            {"products", measure_products}};

}  // namespace

int main(int count, char** arguments) {
  Platforms platforms;
  const Device device = find_device(platforms, count > 1 ? arguments[1] : "cpu");
  const std::uint64_t mebibytes = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 256;
  Rates rates(device, mebibytes << 20);
  for (const Group& group : groups) {
    const bool is_wanted = count <= 3 || std::find(arguments + 3, arguments + count,
                                                   std::string(group.name)) != arguments + count;
    if (is_wanted) group.measure(rates);
  }
  return 0;
}
