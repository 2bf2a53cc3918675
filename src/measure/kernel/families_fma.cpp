// SPDX-License-Identifier: MIT
// Multiply-adds in registers at the highest rate of the device.
#include <array>
#include <cmath>

#include "hiptool/error.hpp"
#include "measure/kernel/narrow_float.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// 8 blocks are all 2048 threads of an NVIDIA multiprocessor: 16 warps for each scheduler, where 4
// hide the latency of 4 clocks. tests/bench/kernel_table --blocks on an H200: every other number is
// within 0.03.
constexpr std::uint64_t fma_blocks_per_unit = 8;
constexpr std::uint64_t most_rounds = 1024;
constexpr double run_s = 0.002;
constexpr std::uint32_t fma_block_threads = 256;
constexpr std::size_t chains = 8;
constexpr std::uint64_t steps_per_round = 32;

template <class Number>
std::uint64_t bits_of(Number value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

/// A chain of single numbers, as in kernels/fma.hip.
template <class Number>
struct Single {
  static constexpr bool is_float = std::is_floating_point_v<Number>;
  static constexpr double operations = 2;
  static constexpr std::uint64_t least_rounds = 4;
  // Near 1, so that chains neither overflow nor reach a fixed point.
  static constexpr Number factor = is_float ? Number(-0.99999) : Number(1664525);
  static constexpr Number summand = is_float ? Number(0.3) : Number(1013904223);

  static std::uint64_t a() { return bits_of(factor); }
  static std::uint64_t b() { return bits_of(summand); }

  static std::uint64_t run(std::size_t first, std::uint64_t steps) {
    auto x = static_cast<Number>(first);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if constexpr (is_float) {
        x = std::fma(x, factor, summand);
      } else {
        x = x * factor + summand;
      }
    }
    return bits_of(x);
  }
};

struct Constants {
  std::array<std::uint16_t, 2> a;  ///< of even and of odd steps
  std::array<std::uint16_t, 2> b;
};

// Found by trial: with these the chains of the first 40 numbers still differ after 400 rounds. With
// one factor near 1 chains of so few digits reach a fixed point at once; with two factors whose
// product is near 1 they do not.
constexpr Constants constants_f16{{0xBD00, 0xBA66}, {0x34CD, 0x3266}};   // -1.25 -0.8, 0.3 0.2
constexpr Constants constants_bf16{{0xBFE0, 0x3F12}, {0xBECD, 0x3E4D}};  // -1.75 0.57, -0.4 0.2

/// A chain of pairs, as in kernels/fma_f16.hip and kernels/fma_bf16.hip.
template <bool is_f16>
struct Pair {
  static constexpr NarrowFormat format = is_f16 ? binary16 : bfloat16;
  static constexpr Constants constants = is_f16 ? constants_f16 : constants_bf16;
  static constexpr double operations = 4;
  static constexpr std::uint64_t least_rounds = 1;

  static std::uint64_t both(const std::array<std::uint16_t, 2>& numbers) {
    return numbers[0] * std::uint64_t{0x10001} | numbers[1] * std::uint64_t{0x10001} << 32;
  }
  static std::uint64_t a() { return both(constants.a); }
  static std::uint64_t b() { return both(constants.b); }

  static std::uint64_t run(std::size_t first, std::uint64_t steps) {
    return run_one(first, steps) | run_one(first + 1, steps) << 16;
  }

 private:
  static std::uint64_t run_one(std::size_t first, std::uint64_t steps) {
    constexpr std::uint16_t one = is_f16 ? 0x3C00 : 0x3F80;
    std::uint16_t x = 0;
    // Whole numbers up to 64 are exact in both.
    for (std::size_t i = 0; i < first; ++i) x = fused_multiply_add(format, x, one, one);
    for (std::uint64_t i = 0; i < steps; ++i) {
      x = fused_multiply_add(format, x, constants.a[i % 2], constants.b[i % 2]);
    }
    return x;
  }
};

template <class Chain>
class FmaWork final : public KernelWork {
 public:
  FmaWork(const Device& device, const WorkContext& context)
      : stream_(context.stream),
        kernel_(context.find_kernel("hiptool_fma_" + context.dtype)),
        rate_(multiply_add_rate(context.arch, context.dtype)) {
    config_.grid.x = context.all_blocks(fma_blocks_per_unit);
    config_.block.x = fma_block_threads;
    out_ = Buffer(device, threads() * sizeof(std::uint64_t));
    if (device.is_host_memory()) return;
    rounds_ = rounds_within(run_s, rounds_, most_rounds, *stream_, [&] { queue(); });
  }

  Figures figures() const override {
    Figures figures;
    figures.elements = threads();
    figures.size_bytes = out_.size_bytes();
    figures.flops =
        Chain::operations * chains * steps_per_round * static_cast<double>(rounds_ * threads());
    return figures;
  }

  void reset() override { fill_and_wait(out_, std::byte{0xFF}, *stream_); }

  void queue() override {
    launch(kernel_, config_, *stream_, out_, rounds_, Chain::a(), Chain::b());
  }

  /// A multiply-add rounds once, so host and device agree to the bit.
  Comparison check() override {
    constexpr std::size_t lanes = 32;
    std::vector<std::uint64_t> ends;
    for (std::size_t first = 1; first < lanes + chains; ++first) {
      ends.push_back(Chain::run(first, rounds_ * steps_per_round));
    }
    std::vector<std::uint64_t> expected(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t k = 0; k < chains; ++k) expected[lane] ^= ends[lane + k] << k;
    }
    std::vector<std::uint32_t> words(2 * lanes);
    std::memcpy(words.data(), expected.data(), lanes * 8);
    return compare_values(out_, 2 * threads(), ValueKind::u32, 0, periodic(std::move(words)));
  }

  std::optional<Buffer> output() const override { return out_; }

  std::optional<double> per_clock() const override { return rate_; }

 private:
  std::uint64_t threads() const { return std::uint64_t{config_.grid.x} * fma_block_threads; }

  const StreamRef* stream_;
  Kernel kernel_;
  std::optional<double> rate_;
  std::uint64_t rounds_ = Chain::least_rounds;
  LaunchConfig config_;
  Buffer out_;
};

std::unique_ptr<KernelWork> make_work(const Device& device, const WorkContext& context) {
  const std::string& dtype = context.dtype;
  const std::string missing = missing_multiply_add(device.platform(), context.arch, dtype);
  if (!missing.empty()) throw Error(ErrorCode::unsupported, "run kernels", missing);
  if (dtype == "f64") return std::make_unique<FmaWork<Single<double>>>(device, context);
  if (dtype == "i32") return std::make_unique<FmaWork<Single<std::uint32_t>>>(device, context);
  if (dtype == "f16") return std::make_unique<FmaWork<Pair<true>>>(device, context);
  if (dtype == "bf16") return std::make_unique<FmaWork<Pair<false>>>(device, context);
  return std::make_unique<FmaWork<Single<float>>>(device, context);
}

}  // namespace

void add_fma_family(std::vector<FamilyEntry>& families) {
  families.push_back(
      {{"fma", "compute", "multiply-adds in registers", {"f32", "f64", "i32", "f16", "bf16"}},
       0,
       make_work});
}

}  // namespace hiptool::measure
