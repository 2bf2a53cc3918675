// SPDX-License-Identifier: MIT
/// Runs the built-in kernels and prints each with its rate, its limit and the share of it.
/// kernel_table [--device ID] [--size BYTES] [--share OF_MEMORY] [--dtype TYPE] [--samples N]
///   [--blocks N,N,...,all] [--peak BYTES_PER_S] [--tsv FILE] [NAME...]
/// --blocks runs everything once for each number of blocks for a multiprocessor; `all` are as many
/// as there is work for, so that no block takes a second piece. --tsv writes the same for programs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/error.hpp"
#include "measure/kernel/work.hpp"
#include "measure/kernel_bench.hpp"
#include "measure/peak.hpp"
#include "report/report.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

struct Arguments {
  std::string device;
  std::string tsv;
  std::vector<std::optional<std::uint64_t>> blocks;
  KernelBenchOptions options;
};

std::vector<std::optional<std::uint64_t>> read_blocks(const std::string& list) {
  std::vector<std::optional<std::uint64_t>> blocks;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, end - at);
    const std::uint64_t count =
        word == "all" ? WorkContext::as_needed : std::strtoull(word.c_str(), nullptr, 10);
    if (count == 0) throw Error(ErrorCode::invalid_argument, "kernel_table", "blocks: " + list);
    blocks.emplace_back(count);
    at = end + 1;
  }
  return blocks;
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  KernelBenchOptions& options = arguments.options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options.names.push_back(word);
      continue;
    }
    if (++i == argc) throw Error(ErrorCode::invalid_argument, "kernel_table", word + " of what?");
    if (word == "--device") {
      arguments.device = argv[i];
    } else if (word == "--size") {
      options.sizes_bytes.push_back(std::strtoull(argv[i], nullptr, 10));
    } else if (word == "--share") {
      options.memory_share = std::strtod(argv[i], nullptr);
    } else if (word == "--dtype") {
      options.dtypes.emplace_back(argv[i]);
    } else if (word == "--samples") {
      options.samples = std::strtoull(argv[i], nullptr, 10);
    } else if (word == "--blocks") {
      arguments.blocks = read_blocks(argv[i]);
    } else if (word == "--peak") {
      options.memory_peak = Peak{std::strtod(argv[i], nullptr), "user"};
    } else if (word == "--tsv") {
      arguments.tsv = argv[i];
    } else {
      throw Error(ErrorCode::invalid_argument, "kernel_table", "unknown option " + word);
    }
  }
  if (arguments.blocks.empty()) arguments.blocks.emplace_back();
  return arguments;
}

std::string to_text(std::optional<std::uint64_t> blocks) {
  if (!blocks) return "built-in";
  return *blocks == WorkContext::as_needed ? "all" : std::to_string(*blocks);
}

void print(const KernelResult& result, const std::string& blocks) {
  std::printf("%-18s %-5s %-8s %-8s", result.kernel.c_str(), result.dtype.c_str(), blocks.c_str(),
              std::string(to_string(result.status)).c_str());
  if (result.median_s) std::printf(" %11.3f us", *result.median_s * 1e6);
  if (result.bytes_per_s) std::printf(" %9.1f GB/s", *result.bytes_per_s / 1e9);
  if (result.flops_per_s) std::printf(" %9.1f Gop/s", *result.flops_per_s / 1e9);
  if (result.share_of_limit) {
    std::printf("  %.3f of peak (%s)", *result.share_of_limit, result.limit_source.c_str());
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

/// kernel, type, blocks, status, median in s, bytes/s, operations/s, share, bytes, reason; "-" for
/// what is absent.
void write_line(std::FILE* to, const KernelResult& result, const std::string& blocks) {
  std::fprintf(to, "%s\t%s\t%s\t%s", result.kernel.c_str(), result.dtype.c_str(), blocks.c_str(),
               std::string(to_string(result.status)).c_str());
  for (const auto& number :
       {result.median_s, result.bytes_per_s, result.flops_per_s, result.share_of_limit}) {
    if (number) {
      std::fprintf(to, "\t%.9g", *number);
    } else {
      std::fprintf(to, "\t-");
    }
  }
  std::fprintf(to, "\t%llu\t%s\n", static_cast<unsigned long long>(result.size_bytes),
               result.reason.empty() ? "-" : result.reason.c_str());
  std::fflush(to);
}

std::optional<Peak> peak_of(const Device& device) {
  const auto peak = memory_peak(device.platform(), device.info());
  return peak ? std::optional(Peak{peak->bytes_per_s, peak->source}) : std::nullopt;
}

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_tsv(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(nullptr, std::fclose);
  if (path.empty()) return file;
  file.reset(std::fopen(path.c_str(), "w"));
  if (!file) throw Error(ErrorCode::output_failed, "kernel_table", "cannot write " + path);
  return file;
}

int run(int argc, char** argv) {
  Arguments arguments = read_arguments(argc, argv);
  KernelBenchOptions& options = arguments.options;
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = arguments.device.empty() ? default_device(platforms)
                                                 : find_device(platforms, arguments.device);
  const DeviceInfo info = device.info();
  if (!options.memory_peak) options.memory_peak = peak_of(device);
  const hip::SensorLibrary sensors = hip::open_sensors(device.platform());
  if (sensors.sensors && info.pci_bus_id) {
    options.clock_hz = [&] { return sensors.sensors->read(*info.pci_bus_id).clock_hz; };
  }
  const auto file = open_tsv(arguments.tsv);
  std::printf("%s %s, limit of memory %.0f GB/s\n", device.id().c_str(), info.name.c_str(),
              options.memory_peak ? options.memory_peak->per_s / 1e9 : 0.0);
  int wrong = 0;
  for (const std::optional<std::uint64_t>& blocks : arguments.blocks) {
    options.blocks_per_unit = blocks;
    options.on_result = [&](const KernelResult& result, std::size_t, std::size_t) {
      print(result, to_text(blocks));
      if (file) write_line(file.get(), result, to_text(blocks));
    };
    for (const KernelResult& result : run_kernels(options, device)) {
      if (result.status == Status::mismatch || result.status == Status::failed) ++wrong;
    }
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
