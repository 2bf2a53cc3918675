// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "measure/copy/plan.hpp"

namespace hiptool::cli {
namespace {

using measure::CopyEngine;
using measure::CopyKind;
using measure::CopyTemplate;
using measure::HostKind;

constexpr std::uint64_t gpu_bytes = std::uint64_t{256} << 20;
// What nvbandwidth copies without options (common.h, defaultBufferSize).
constexpr std::uint64_t testcase_bytes = std::uint64_t{512} << 20;
constexpr std::uint64_t cpu_bytes = std::uint64_t{16} << 20;
constexpr double most_time_s = 3600;

template <class Parse>
auto parse_words(const std::string& text, const std::string& option,
                 const std::vector<std::string>& choices, Parse parse) {
  std::vector<typename decltype(parse(text))::value_type> values;
  for (const std::string& word : split_list(text, option)) {
    values.push_back(*parse(choice_of(word, choices, option)));
  }
  return values;
}

std::vector<CopyKind> all_kinds() {
  std::vector<CopyKind> kinds;
  for (const std::string& name : measure::copy_kind_names()) {
    kinds.push_back(*measure::parse_copy_kind(name));
  }
  return kinds;
}

std::vector<CopyTemplate> templates_of(const std::vector<CopyKind>& kinds,
                                       const std::vector<CopyEngine>& engines) {
  std::vector<CopyTemplate> templates;
  for (const CopyEngine engine : engines) {
    for (const CopyKind kind : kinds) templates.push_back({kind, engine, false, false});
  }
  return templates;
}

void add_latency(std::vector<CopyTemplate>& templates, const std::vector<CopyKind>& kinds) {
  for (const CopyKind kind : kinds) {
    templates.push_back({kind, CopyEngine::copy, false, true});
  }
}

const std::vector<CopyKind> quick_kinds{CopyKind::h2d, CopyKind::d2h, CopyKind::d2d,
                                        CopyKind::bidir};

// The measurements of a preset; other options override them.
void apply_preset(const std::string& preset, BenchCopyRequest& request) {
  request.drops_conflicts = true;
  request.memories = {HostKind::pinned};
  request.templates = templates_of(quick_kinds, {CopyEngine::copy});
  if (preset == "ci") {
    request.is_ci = true;
    request.memories.push_back(HostKind::pageable);
    const auto by_kernel =
        templates_of({CopyKind::h2d, CopyKind::d2h, CopyKind::d2d}, {CopyEngine::kernel});
    request.templates.insert(request.templates.end(), by_kernel.begin(), by_kernel.end());
  } else if (preset == "full") {
    request.is_full = true;
    request.memories = {HostKind::pinned, HostKind::pageable, HostKind::registered,
                        HostKind::managed};
    request.templates = templates_of(all_kinds(), {CopyEngine::copy, CopyEngine::kernel});
    request.sampling.time_budget_s = 1;
  }
  add_latency(request.templates, {CopyKind::h2d, CopyKind::d2h});
  if (preset == "full") add_latency(request.templates, {CopyKind::d2d, CopyKind::p2p_write});
}

void apply_words(const BenchCopyOptions& options, BenchCopyRequest& request) {
  std::vector<CopyKind> kinds = request.is_full ? all_kinds() : quick_kinds;
  std::vector<CopyEngine> engines{CopyEngine::copy};
  if (!options.kinds.empty()) {
    kinds =
        parse_words(options.kinds, "--kind", measure::copy_kind_names(), measure::parse_copy_kind);
  }
  if (!options.engines.empty()) {
    engines = parse_words(options.engines, "--engine", measure::copy_engine_names(),
                          measure::parse_copy_engine);
  }
  if (!options.kinds.empty() || !options.engines.empty()) {
    request.templates = templates_of(kinds, engines);
    request.drops_conflicts = false;
  }
  if (options.memories.empty()) return;
  request.memories = parse_words(options.memories, "--memory", measure::host_kind_names(),
                                 measure::parse_host_kind);
  request.allows_managed = true;
  request.drops_conflicts = false;
}

std::vector<std::uint64_t> parse_copy_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes = parse_sizes_of("--size", text);
  for (const std::uint64_t size : sizes) {
    if (size == 0 || size % 4 != 0) {
      throw usage_error(fmt::format("--size: copies of {} bytes cannot be checked", size),
                        "give multiples of 4 bytes, such as 4KiB or 256MiB");
    }
    if (size > measure::most_copy_bytes) {
      throw usage_error(fmt::format("--size: {} is too large for one copy", format_size(size)),
                        "give at most " + format_size(measure::most_copy_bytes));
    }
  }
  return sizes;
}

// Copies that run during the measured one are twice as large.
void check_besides(const BenchCopyRequest& request) {
  const bool has_beside =
      std::any_of(request.templates.begin(), request.templates.end(), [](const CopyTemplate& what) {
        return what.beside != measure::Beside::nothing &&
               !measure::is_split(what.engine, what.beside);
      });
  constexpr std::uint64_t most = measure::most_copy_bytes / 2;
  for (const std::uint64_t size : request.sizes) {
    if (!has_beside || size <= most) continue;
    throw usage_error(fmt::format("--size: {} is too large where other copies take twice as much",
                                  format_size(size)),
                      "give at most " + format_size(most));
  }
}

void check_memories(const BenchCopyOptions& options, const BenchCopyRequest& request) {
  if (options.memories.empty()) return;
  bool has_host = false;
  std::string conflict;
  for (const CopyTemplate& what : request.templates) {
    if (!measure::uses_host(what.kind)) continue;
    for (const HostKind memory : request.memories) {
      const std::string found = measure::conflict_of(what.kind, memory, what.engine);
      if (found.empty()) return;
      conflict = found;
    }
    has_host = true;
  }
  if (has_host) throw usage_error("--memory, --engine: " + conflict, "use --memory pinned");
  throw usage_error("--memory: none of the copies uses host memory", "leave it out");
}

}  // namespace

bool BenchCopyRequest::wants_all_devices() const {
  return std::any_of(templates.begin(), templates.end(), measure::wants_several);
}

BenchCopyRequest parse_bench_copy(const BenchCopyOptions& options) {
  BenchCopyRequest request;
  if (!options.testcases.empty() && !(options.kinds.empty() && options.engines.empty())) {
    throw usage_error("--testcase sets kind, memory and engine itself",
                      "leave out --kind and --engine");
  }
  if (options.samples != 0 && !options.time.empty()) {
    throw usage_error("--samples and --time exclude each other", "give one of them");
  }
  if (!options.retry.empty() && options.thresholds.empty()) {
    throw usage_error("--retry has nothing to try again", "give --fail-below too");
  }
  const bool is_compared = !options.baseline.empty() || !options.repeat.against.empty();
  if (options.strict_baseline && !is_compared) {
    throw usage_error("--strict-baseline has nothing to compare with", "give --baseline FILE too");
  }
  if ((!options.compare.effect.empty() || options.compare.is_strict) && !is_compared) {
    const char* const option = options.compare.is_strict ? "--strict-compare" : "--effect";
    throw usage_error(std::string(option) + " has nothing to compare with",
                      "give --baseline FILE too, or --repeat N --against PROGRAM");
  }
  apply_preset(options.preset.value_or("quick"), request);
  apply_words(options, request);
  if (!options.testcases.empty()) {
    request.templates.clear();
    request.is_steady = true;
    for (const std::string& text : options.testcases) {
      for (const std::string& word : split_list(text, "--testcase")) {
        const std::string name = choice_of(word, measure::testcase_names(), "--testcase");
        const auto templates = measure::testcase_templates(name);
        request.templates.insert(request.templates.end(), templates.begin(), templates.end());
      }
    }
    request.drops_conflicts = false;
  }
  check_memories(options, request);
  if (!options.sizes.empty()) request.sizes = parse_copy_sizes(options.sizes);
  check_besides(request);
  if (!options.time.empty())
    request.sampling.time_budget_s = parse_seconds(options.time, "--time", most_time_s);
  if (options.samples != 0) {
    request.sampling.least_samples = options.samples;
    request.sampling.most_samples = options.samples;
  }
  return request;
}

std::vector<measure::PlannedCopy> plan_bench_copy(const BenchCopyRequest& request,
                                                  const std::vector<Device>& devices,
                                                  const std::vector<measure::HostNode>& nodes) {
  const bool has_gpu = std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return device.platform() != Platform::cpu;
  });
  measure::CopyRequest asked{devices, request.templates,     request.memories, request.sizes,
                             nodes,   request.allows_managed};
  const std::uint64_t of_gpu = request.is_steady ? testcase_bytes : gpu_bytes;
  const std::uint64_t usual = has_gpu ? of_gpu : cpu_bytes;
  if (asked.sizes.empty()) asked.sizes = {usual};
  if (request.sizes.empty() && request.is_full) {
    asked.sizes = {usual >> 16, usual >> 12, usual >> 8, usual >> 4, usual};
  }
  if (request.is_ci && devices.size() > 1) {
    for (const CopyKind kind : {CopyKind::p2p_read, CopyKind::p2p_write, CopyKind::p2p_bidir,
                                CopyKind::h2d_all, CopyKind::d2h_all}) {
      asked.templates.push_back({kind, CopyEngine::copy, false, false});
    }
  }
  std::vector<measure::PlannedCopy> specs = measure::plan_copies(asked);
  if (!request.drops_conflicts) return specs;
  std::erase_if(specs, [](const measure::PlannedCopy& planned) {
    const measure::CopySpec& spec = planned.spec;
    return !measure::conflict_of(spec.kind, spec.memory, spec.engine).empty();
  });
  return specs;
}

}  // namespace hiptool::cli
