// SPDX-License-Identifier: MIT
// What a GPU does while it soaks: matrix products, memory tests and copies, all at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "accept/soak.hpp"
#include "accept/soak_loads.hpp"
#include "accept/stages.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "measure/copy/pattern_words.hpp"
#include "measure/device_digest.hpp"
#include "measure/kernel_load.hpp"
#include "report/report.hpp"

namespace hiptool::accept {
namespace {

constexpr std::uint64_t gpu_array_bytes = 64u << 20;  // a product takes less than a pulse of 10 Hz
constexpr std::uint64_t cpu_array_bytes = 4u << 20;
constexpr double memory_test_share = 0.4;  // of what is free then, for each of the two tests
// Half of the threads that a multiprocessor holds and fewer: products run alongside them.
constexpr std::uint64_t soaking_memory_blocks = 2;
constexpr std::array<const char*, 2> memory_tests{"memtest-random", "memtest-address"};

SoakRound round_of_load(measure::KernelLoad::Round round, double amount_of_run) {
  return {round.runs,
          static_cast<double>(round.runs) * amount_of_run,
          round.time_s,
          round.checked,
          round.max_error,
          std::move(round.wrong),
          std::move(round.missed_fault)};
}

/// Sends two patterns round and round, in turn: host to device, within the device, back to the
/// host. Each memory holds the other pattern before, so that a copy that does nothing is seen. What
/// came back is what is sent two rounds later, so that its digest judges all copies before.
class CopySoak final : public SoakLoad {
 public:
  CopySoak(const Device& device, std::uint64_t size_bytes)
      : stream_(device),
        to_device_(stream_),
        to_host_(stream_),
        host_{PinnedBuffer(device, size_bytes), PinnedBuffer(device, size_bytes),
              PinnedBuffer(device, size_bytes)},
        first_(device, size_bytes),
        second_(device, size_bytes),
        digest_(first_, 1) {
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      measure::write_pattern(words_of(i), seeds[i]);
      digests_[i] = measure::host_digests(std::as_const(host_[i]).bytes());
    }
    reset();
  }

  std::string name() const override { return "copies"; }
  std::string label() const override { return "soak.copies"; }
  bool counts_operations() const override { return false; }
  bool has_pulses() const override { return false; }

  SoakRound run(double) override {
    const std::size_t source = round_ % 3;
    to_device_.start();
    copy_h2d(first_, std::as_const(host_[source]).bytes(), stream_);
    to_device_.stop();
    digest_.queue(0, stream_);
    copy_d2d(second_, first_, stream_);
    to_host_.start();
    copy_d2h(host_[(round_ + 2) % 3].bytes(), second_, stream_);
    to_host_.stop();
    const std::span<const std::uint64_t> seen = digest_.read(1, stream_);
    SoakRound round;
    round.runs = 1;
    round.amount = 2 * static_cast<double>(first_.size_bytes());
    round.busy_s = to_device_.elapsed_s() + to_host_.elapsed_s();
    round.checked = first_.size_bytes() / 4;
    const std::size_t pattern = round_ % 2;
    ++round_;
    if (std::equal(seen.begin(), seen.end(), digests_[pattern].begin())) return round;
    round.wrong = wrong_of(source, pattern);
    reset();
    return round;
  }

  /// The two patterns that wait on the host.
  SoakRound finish() override {
    SoakRound round;
    for (std::uint64_t next = round_; next < round_ + 2; ++next) {
      const std::size_t source = next % 3;
      const measure::WrongWords wrong = measure::check_pattern(words_of(source), seeds[next % 2]);
      round.checked += words_of(source).size();
      if (wrong.count > 0 && !round.wrong) round.wrong = wrong_of(source, next % 2);
    }
    return round;
  }

 private:
  static constexpr std::array<std::uint32_t, 2> seeds{0x50AC0001u, 0x50AC0002u};

  std::span<std::uint32_t> words_of(std::size_t slot) {
    const std::span<std::byte> bytes = host_[slot].bytes();
    return {reinterpret_cast<std::uint32_t*>(bytes.data()), bytes.size() / 4};
  }

  /// Round n sends slot n mod 3, which must hold pattern n mod 2.
  void reset() {
    round_ = 0;
    measure::write_pattern(words_of(0), seeds[0]);
    measure::write_pattern(words_of(1), seeds[1]);
    std::memset(host_[2].bytes().data(), 0xA5, host_[2].size_bytes());
  }

  /// If the host's memory is wrong it came back so, else it was sent and arrived otherwise.
  report::WrongData wrong_of(std::size_t slot, std::size_t pattern) {
    measure::WrongWords wrong = measure::check_pattern(words_of(slot), seeds[pattern]);
    if (wrong.count == 0) {
      std::vector<std::uint32_t> arrived(first_.size_bytes() / 4);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(arrived)), first_);
      wrong = measure::check_pattern(arrived, seeds[pattern]);
    }
    report::WrongData data;
    data.count = std::max<std::uint64_t>(wrong.count, 1);
    if (wrong.count > 0) data.first_index = wrong.first_index;
    data.xor_bits = wrong.xor_bits;
    data.reread_agrees = wrong.count > 0;
    return data;
  }

  Stream stream_;
  KernelTimer to_device_;
  KernelTimer to_host_;
  std::array<PinnedBuffer, 3> host_;
  Buffer first_;
  Buffer second_;
  measure::DeviceDigest digest_;
  std::array<std::vector<std::uint64_t>, 2> digests_;
  std::uint64_t round_ = 0;
};

std::uint64_t array_bytes(const Device& device, const StageContext& context) {
  if (context.size_bytes > 0) return context.size_bytes;
  return device.is_host_memory() ? cpu_array_bytes : gpu_array_bytes;
}

const char* code_of_load(const std::string& name) {
  if (name == "memory") return machine::codes::memory_data;
  return name == "copies" ? machine::codes::copy_data : machine::codes::kernel_data;
}

Fault wrong_fault(const SoakedLoad& soaked) {
  const machine::CodeInfo* const info = machine::find_code(code_of_load(soaked.name));
  const std::string reason = wrong_text(soaked);
  Fault fault{info->code,
              soaked.label,
              soaked.device,
              reason,
              info->advice,
              Error(ErrorCode::data_mismatch, "soak",
                    soaked.label + "@" + soaked.device + ": " + reason, info->advice)};
  if (soaked.first_wrong.wrong) {
    fault.expected = soaked.first_wrong.wrong->expected;
    fault.got = soaked.first_wrong.wrong->got;
  }
  return fault;
}

std::unique_ptr<SoakLoad> products(const Device& device, std::uint64_t size_bytes, Heartbeat& heart,
                                   StageWork& work) {
  // Products of f16 run on matrix units, which take the most power.
  heart.step("the first product on " + device.id());
  for (const char* const dtype : {"f16", "f32"}) {
    try {
      auto load =
          std::make_unique<KernelSoak>("products", "soak.products." + std::string(dtype), true);
      load->add(device, {"gemm", dtype, size_bytes, 1});
      judge_first(*load, load->begin_kernels(), device, work);
      return load;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) {
        throw;
      }
      work.add_skip(error.what());
    }
  }
  return nullptr;
}

std::unique_ptr<SoakLoad> memory(const Device& device, const StageContext& context,
                                 Heartbeat& heart, StageWork& work) {
  heart.step("the first memory test on " + device.id(), 3);
  std::uint64_t size_bytes = array_bytes(device, context);
  if (context.size_bytes == 0 && !device.is_host_memory()) {
    const auto free_bytes = static_cast<double>(device.memory().free_bytes);
    size_bytes = static_cast<std::uint64_t>(free_bytes * memory_test_share) / 4096 * 4096;
  }
  auto load = std::make_unique<KernelSoak>("memory", "soak.memory", false);
  for (const char* const test : memory_tests) {
    load->add(device, {test, "u32", size_bytes, 1, soaking_memory_blocks});
  }
  judge_first(*load, load->begin_kernels(), device, work);
  return load;
}

}  // namespace

KernelSoak::KernelSoak(std::string name, std::string label, bool has_pulses)
    : name_(std::move(name)), label_(std::move(label)), has_pulses_(has_pulses) {}

void KernelSoak::add(const Device& device, const measure::KernelLoadOptions& options) {
  kernels_.push_back(std::make_unique<measure::KernelLoad>(device, options));
}

SoakRound KernelSoak::begin_kernels() {
  SoakRound all;
  for (const auto& kernel : kernels_) {
    SoakRound round = round_of_load(kernel->begin(), 0);
    all.checked += round.checked;
    if (!round.is_right() && all.is_right()) all = std::move(round);
  }
  return all;
}

SoakRound KernelSoak::run(double time_s) {
  measure::KernelLoad& kernel = *kernels_[next_++ % kernels_.size()];
  return round_of_load(kernel.run(time_s),
                       counts_operations() ? kernel.flops_of_run() : kernel.bytes_of_run());
}

SoakedLoad wrong_first(const SoakLoad& load, SoakRound round, const Device& device) {
  SoakedLoad soaked;
  soaked.device = device.id();
  soaked.name = load.name();
  soaked.label = load.label();
  soaked.wrong_rounds = 1;
  soaked.checked = round.checked;
  soaked.max_error = round.max_error;
  soaked.first_wrong = std::move(round);
  return soaked;
}

void judge_first(const SoakLoad& load, SoakRound round, const Device& device, StageWork& work) {
  if (!round.is_right()) work.add(wrong_fault(wrong_first(load, std::move(round), device)));
}

std::string soak_figure(const SoakedLoad& soaked) {
  const std::vector<double> rates = soaked.rates();
  if (rates.empty()) return {};
  const auto text = [&](double per_s) {
    return soaked.counts_operations ? report::format_value(per_s, report::Unit::operations)
                                    : format_rate(per_s);
  };
  const base::Summary summary = base::summarize(rates);
  return fmt::format("{} {} ({})", soaked.name, text(summary.median),
                     base::range_of(text(summary.min), text(summary.max)));
}

void soak_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                StageWork& work) {
  Soak::Place place(*context.soak);
  std::vector<std::unique_ptr<SoakLoad>> loads;
  const std::uint64_t size_bytes = array_bytes(device, context);
  if (auto load = products(device, size_bytes, heart, work)) loads.push_back(std::move(load));
  heart.step("the first copies on " + device.id());
  loads.push_back(std::make_unique<CopySoak>(device, size_bytes));
  // Last: it takes of the memory what the others left.
  loads.push_back(memory(device, context, heart, work));
  const auto on_wrong = [&](const SoakedLoad& soaked) { work.add(wrong_fault(soaked)); };
  for (const SoakedLoad& soaked : place.run(device.id(), loads, heart, on_wrong)) {
    StageMeasurement measured;
    static_cast<report::Measurement&>(measured) = measurement_of(soaked);
    measured.stage = "soak";
    measured.started_at = context.soak->started_at();
    work.add_figure(soak_figure(soaked));
    work.add(std::move(measured));
  }
  heart.step(std::string(releasing_step) + " of " + device.id());
}

}  // namespace hiptool::accept
