// SPDX-License-Identifier: MIT
// Latencies, shared memory and atomics.
#include <algorithm>
#include <bit>

#include "hiptool/copy.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// All 2048 threads of an NVIDIA multiprocessor. tests/bench/kernel_table --blocks on an H200: every
// other number is within 0.02.
constexpr std::uint64_t units_blocks_per_unit = 8;
constexpr std::uint32_t units_block_threads = 256;
// As in kernels/units.hip.
constexpr std::uint32_t shared_read_units = 512;

/// A chain through all lines of the memory: x = a x + c (modulo a power of two), which takes every
/// value once (Hull and Dobell 1962: c odd, a - 1 a multiple of 4).
class ChaseWork final : public KernelWork {
 public:
  ChaseWork(const Device& device, const WorkContext& context)
      : stream_(context.stream),
        kernel_(context.find_kernel("hiptool_chase")),
        lines_(std::bit_floor(
            std::clamp<std::uint64_t>(context.size_bytes / line_bytes, 1, std::uint64_t{1} << 26))),
        next_(device, lines_ * line_bytes),
        place_(device, 4) {
    config_.block.x = 64;
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = next_.size_bytes();
    figures.elements = lines_;
    figures.steps = static_cast<double>(steps);
    figures.repeats = 1;
    return figures;
  }

  void reset() override {
    const auto link = [this](std::uint64_t index) {
      return index % line_words == 0 ? after(static_cast<std::uint32_t>(index)) : ~0u;
    };
    write_values(next_, ValueKind::u32, computed(link));
    expected_ = 0;
    copy_h2d_and_wait(place_, std::as_bytes(std::span(&expected_, 1)));
  }

  void queue() override {
    launch(kernel_, config_, *stream_, next_, steps, place_);
    for (std::uint64_t i = 0; i < steps; ++i) expected_ = after(expected_);
  }

  Comparison check() override {
    return compare_values(place_, 1, ValueKind::u32, 0, periodic(std::vector{expected_}));
  }

 private:
  static constexpr std::uint64_t line_bytes = 128;
  static constexpr std::uint32_t line_words = line_bytes / 4;
  static constexpr std::uint64_t steps = 8192;

  /// From the index of any word of a line to the first word of the next line.
  std::uint32_t after(std::uint32_t word) const {
    const std::uint32_t line = word / line_words * 1664525u + 1013904223u;
    return line % static_cast<std::uint32_t>(lines_) * line_words;
  }

  const StreamRef* stream_;
  Kernel kernel_;
  std::uint64_t lines_;
  LaunchConfig config_;
  Buffer next_;
  Buffer place_;
  std::uint32_t expected_ = 0;
};

class SharedReadWork final : public KernelWork {
  static constexpr double run_s = 0.001;
  static constexpr std::uint64_t most_rounds = 8192;

 public:
  SharedReadWork(const Device& device, const WorkContext& context)
      : stream_(context.stream),
        kernel_(context.find_kernel("hiptool_shared_read")),
        is_gpu_(!device.is_host_memory()),
        rate_(shared_memory_rate(device.platform(), context.arch)) {
    config_.grid.x = context.all_blocks(units_blocks_per_unit);
    config_.block.x = units_block_threads;
    config_.shared_bytes = shared_read_units * 16;
    out_ = Buffer(device, std::uint64_t{config_.grid.x} * units_block_threads * 4);
    if (is_gpu_) rounds_ = rounds_within(run_s, rounds_, most_rounds, *stream_, [&] { queue(); });
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = out_.size_bytes();
    figures.elements = out_.size_bytes() / 4;
    figures.bytes = 16.0 * static_cast<double>(rounds_ * figures.elements);
    return figures;
  }

  void reset() override { fill_and_wait(out_, std::byte{0xFF}, *stream_); }

  void queue() override { launch(kernel_, config_, *stream_, out_, rounds_); }

  Comparison check() override {
    std::vector<std::uint32_t> expected(units_block_threads);
    for (std::uint32_t thread = 0; thread < units_block_threads; ++thread) {
      for (std::uint64_t i = 0; i < rounds_; ++i) {
        const auto unit = static_cast<std::uint32_t>((thread + 32 * i) % shared_read_units);
        // The sum of four consecutive words, 4 unit to 4 unit + 3.
        expected[thread] += (16 * unit + 6) * 0x9E3779B1u;
      }
    }
    return compare_values(out_, out_.size_bytes() / 4, ValueKind::u32, 0,
                          periodic(std::move(expected)));
  }

  std::optional<double> per_clock() const override { return rate_; }

 private:
  const StreamRef* stream_;
  Kernel kernel_;
  bool is_gpu_;
  std::optional<double> rate_;
  std::uint64_t rounds_ = 64;
  LaunchConfig config_;
  Buffer out_;
};

class AtomicWork final : public KernelWork {
 public:
  AtomicWork(const Device& device, const WorkContext& context, std::uint32_t counters)
      : stream_(context.stream),
        kernel_(context.find_kernel("hiptool_atomic_add")),
        counters_(counters),
        rounds_(device.is_host_memory() ? 8 : 256),
        data_(device, counters * std::uint64_t{4}) {
    // A multiple of the number of counters, so that all counters end equal.
    config_.grid.x = static_cast<std::uint32_t>(context.compute_units * 4);
    config_.block.x = units_block_threads;
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = data_.size_bytes();
    figures.elements = counters_;
    figures.flops = static_cast<double>(threads() * rounds_);
    return figures;
  }

  void reset() override {
    fill_and_wait(data_, std::byte{0}, *stream_);
    runs_ = 0;
  }

  void queue() override {
    launch(kernel_, config_, *stream_, data_, rounds_, counters_ - 1);
    ++runs_;
  }

  Comparison check() override {
    const auto expected = static_cast<std::uint32_t>(runs_ * rounds_ * threads() / counters_);
    return compare_values(data_, counters_, ValueKind::u32, 0, periodic(std::vector{expected}));
  }

 private:
  std::uint64_t threads() const { return std::uint64_t{config_.grid.x} * units_block_threads; }

  const StreamRef* stream_;
  Kernel kernel_;
  std::uint32_t counters_;
  std::uint64_t rounds_;
  LaunchConfig config_;
  Buffer data_;
  std::uint64_t runs_ = 0;
};

/// Launches that write one word.
class LaunchWork final : public KernelWork {
 public:
  LaunchWork(const Device& device, const WorkContext& context)
      : stream_(context.stream),
        kernel_(context.find_kernel("hiptool_fill_u32")),
        data_(device, 4) {
    config_.block.x = 64;
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = 4;
    figures.elements = 1;
    // The first launches after a pause take longer, except on the processor.
    figures.repeats = data_.device().is_host_memory() ? 32 : 256;
    return figures;
  }

  void reset() override { fill_and_wait(data_, std::byte{0xFF}, *stream_); }

  void queue() override { launch(kernel_, config_, *stream_, data_, std::uint64_t{1}, ++runs_); }

  Comparison check() override {
    return compare_values(data_, 1, ValueKind::u32, 0, periodic(std::vector{runs_}));
  }

 private:
  const StreamRef* stream_;
  Kernel kernel_;
  LaunchConfig config_;
  Buffer data_;
  std::uint32_t runs_ = 0;
};

template <class Work, class... Values>
void add_family(std::vector<FamilyEntry>& families, const char* name, const char* group,
                const char* what, std::uint64_t arrays, Values... values) {
  families.push_back({{name, group, what, {"u32"}}, arrays, maker<Work>(values...)});
}

}  // namespace

void add_unit_families(std::vector<FamilyEntry>& families) {
  add_family<ChaseWork>(families, "chase", "latency",
                        "time of one load that waits for the one before", 1);
  add_family<LaunchWork>(families, "launch", "latency", "time of one launch in a queue", 0);
  add_family<SharedReadWork>(families, "shared-read", "units", "shared memory, 16 bytes a thread",
                             0);
  add_family<AtomicWork>(families, "atomic-one", "units", "atomic additions to one counter", 0,
                         std::uint32_t{1});
  add_family<AtomicWork>(families, "atomic-many", "units", "atomic additions to 1024 counters", 0,
                         std::uint32_t{1024});
}

}  // namespace hiptool::measure
