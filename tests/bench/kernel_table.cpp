// SPDX-License-Identifier: MIT
/// Runs the built-in kernels and prints each with its rate, its limit and the share of it.
/// kernel_table [--device ID] [--size BYTES] [--blocks N] [--peak BYTES_PER_S] [NAME...]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel_bench.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

struct Arguments {
  std::string device;
  double peak_bytes_per_s = 0;
  KernelBenchOptions options;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      arguments.options.names.push_back(word);
      continue;
    }
    if (++i == argc) throw Error(ErrorCode::invalid_argument, "kernel_table", word + " of what?");
    if (word == "--device") {
      arguments.device = argv[i];
    } else if (word == "--size") {
      arguments.options.sizes_bytes.push_back(std::strtoull(argv[i], nullptr, 10));
    } else if (word == "--blocks") {
      arguments.options.blocks_per_unit = std::strtoull(argv[i], nullptr, 10);
    } else if (word == "--peak") {
      arguments.options.memory_peak = Peak{std::strtod(argv[i], nullptr), "user"};
    } else {
      throw Error(ErrorCode::invalid_argument, "kernel_table", "unknown option " + word);
    }
  }
  return arguments;
}

void print(const KernelResult& result, std::size_t, std::size_t) {
  std::printf("%-18s %-8s %-8s", result.kernel.c_str(), result.dtype.c_str(),
              std::string(to_string(result.status)).c_str());
  if (result.median_s) std::printf(" %11.3f us", *result.median_s * 1e6);
  if (result.bytes_per_s) std::printf(" %9.1f GB/s", *result.bytes_per_s / 1e9);
  if (result.flops_per_s) std::printf(" %9.1f Gop/s", *result.flops_per_s / 1e9);
  if (result.share_of_peak) {
    std::printf("  %.3f of peak (%s)", *result.share_of_peak, result.peak_source.c_str());
  }
  if (result.clock_hz) std::printf(" at %.0f MHz", *result.clock_hz / 1e6);
  if (!result.reason.empty()) std::printf(" %s", result.reason.c_str());
  if (result.wrong) {
    const auto text = [](const report::Value& value) {
      return report::format_value(value, report::Unit::none);
    };
    std::printf(" expected %s, got %s", text(result.wrong->expected).c_str(),
                text(result.wrong->got).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Two transfers a clock, as all memories of today make them; HBM counts so too.
std::optional<Peak> memory_peak(const DeviceInfo& info) {
  if (!info.memory_clock_hz || !info.memory_bus_width_bits) return std::nullopt;
  return Peak{2.0 * static_cast<double>(*info.memory_clock_hz) *
                  static_cast<double>(*info.memory_bus_width_bits) / 8,
              "memory-clock"};
}

int run(int argc, char** argv) {
  Arguments arguments = read_arguments(argc, argv);
  KernelBenchOptions& options = arguments.options;
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = arguments.device.empty() ? default_device(platforms)
                                                 : find_device(platforms, arguments.device);
  const DeviceInfo info = device.info();
  if (!options.memory_peak) options.memory_peak = memory_peak(info);
  const hip::SensorLibrary sensors = hip::open_sensors(device.platform());
  if (sensors.sensors && info.pci_bus_id) {
    options.clock_hz = [&] { return sensors.sensors->read(*info.pci_bus_id).clock_hz; };
  }
  options.on_result = print;
  std::printf("%s %s, limit of memory %.0f GB/s\n", device.id().c_str(), info.name.c_str(),
              options.memory_peak ? options.memory_peak->per_s / 1e9 : 0.0);
  int wrong = 0;
  for (const KernelResult& result : run_kernels(options, device)) {
    if (result.status == KernelStatus::mismatch || result.status == KernelStatus::failed) ++wrong;
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
