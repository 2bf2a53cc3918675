// SPDX-License-Identifier: MIT
/// Rates of tensor operations as a share of the peak memory bandwidth (memory clock and width).
/// ops_rates [DEVICE [MIB]]: arrays of 256 MiB by default; medians of 20 samples of an event pair.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/event.hpp"
#include "hiptool/ops.hpp"
#include "measure/peak.hpp"

namespace {

using namespace hiptool;

class Rates {
 public:
  explicit Rates(const Device& device) : backend_(device) {
    const auto peak = measure::memory_peak(device.platform(), device.info());
    if (peak) peak_ = peak->bytes_per_s;
    std::printf("%s, peak %.0f GB/s\n", device.info().name.c_str(), peak_ / 1e9);
  }

  const Backend& backend() const { return backend_; }

  void measure(const std::string& name, double bytes, const std::function<void()>& queue) {
    constexpr int samples = 20;
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) queue();
    for (int i = 0; i < samples; ++i) {
      Event start(backend_.device(), Event::Kind::timing);
      Event stop(backend_.device(), Event::Kind::timing);
      start.record(backend_.stream());
      queue();
      stop.record(backend_.stream());
      stop.synchronize();
      seconds.push_back(stop.elapsed_s(start));
    }
    std::nth_element(seconds.begin(), seconds.begin() + samples / 2, seconds.end());
    const double rate = bytes / seconds[samples / 2];
    std::printf("%-36s %8.1f GB/s  %s\n", name.c_str(), rate / 1e9,
                peak_ > 0 ? std::to_string(rate / peak_).substr(0, 5).c_str() : "-");
  }

 private:
  Backend backend_;
  double peak_ = 0;
};

void measure_binary(Rates& rates, DType dtype, std::uint64_t size_bytes) {
  const Backend& backend = rates.backend();
  const std::uint64_t columns = 4096;
  const std::uint64_t rows = size_bytes / element_size_bytes(dtype) / columns;
  const auto bytes = static_cast<double>(rows * columns * element_size_bytes(dtype));
  const auto count = static_cast<double>(rows * columns);
  const std::string type(to_string(dtype));
  const Tensor a = backend.zeros(dtype, {rows, columns});
  const Tensor b = backend.zeros(dtype, {rows, columns});
  const Tensor out = backend.empty(dtype, {rows, columns});
  const Tensor flags = backend.empty(DType::u8, {rows, columns});
  const Tensor row = backend.zeros(dtype, {columns});
  const Tensor wide = row.with_layout(row.layout().broadcast_to({rows, columns}));
  const Tensor column = backend.zeros(dtype, {rows, 1});
  const Tensor deep = column.with_layout(column.layout().broadcast_to({rows, columns}));
  const auto part = [&](const Tensor& tensor) {
    return tensor.with_layout(tensor.layout().narrow(1, 64, columns - 128));
  };
  const Tensor turned = a.with_layout(a.layout().reshape({columns, rows})->transpose(0, 1));
  rates.measure("add " + type, 3 * bytes, [&] { ops::add_into(backend, a, b, out); });
  rates.measure("mul " + type, 3 * bytes, [&] { ops::mul_into(backend, a, b, out); });
  rates.measure("lt " + type, 2 * bytes + count, [&] { ops::lt_into(backend, a, b, flags); });
  rates.measure("add row " + type, 2 * bytes, [&] { ops::add_into(backend, a, wide, out); });
  rates.measure("add column " + type, 2 * bytes, [&] { ops::add_into(backend, a, deep, out); });
  rates.measure("add part " + type, 3 * bytes * (columns - 128) / columns,
                [&] { ops::add_into(backend, part(a), part(b), part(out)); });
  rates.measure("add transposed " + type, 3 * bytes,
                [&] { ops::add_into(backend, turned, b, out); });
}

}  // namespace

int main(int count, char** arguments) {
  Platforms platforms;
  const Device device = find_device(platforms, count > 1 ? arguments[1] : "cpu");
  const std::uint64_t mebibytes = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 256;
  Rates rates(device);
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::f64}) {
    measure_binary(rates, dtype, mebibytes << 20);
  }
  return 0;
}
