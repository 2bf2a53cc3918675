// SPDX-License-Identifier: MIT
// Reading and dot products: one value for each block, combined here.
#include <bit>
#include <cmath>
#include <limits>

#include "hiptool/copy.hpp"
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// Measured by tests/bench/kernel_table --blocks, on an H200: see kernels/reduce.hip.
constexpr std::uint64_t reduction_blocks_per_unit = 16;
constexpr std::uint64_t reduction_units_per_thread = 4;

/// The exclusive or of all words (u32), or a dot product.
template <class Number>
class ReductionWork final : public KernelWork {
 public:
  ReductionWork(const Device& device, const WorkContext& context)
      : stream_(context.stream),
        kernel_(context.find_kernel(is_dot ? "hiptool_dot_" + context.dtype : "hiptool_read")),
        units_(std::max<std::uint64_t>(1, context.size_bytes / 16)),
        config_(
            stride_grid(context, units_, reduction_blocks_per_unit, reduction_units_per_thread)),
        a_(device, units_ * 16),
        b_(is_dot ? Buffer(device, units_ * 16) : a_),
        out_(device, config_.grid.x * sizeof(Number)) {
    // As in kernels/reduce.hip: a number for each 32 threads is joined in shared memory.
    config_.shared_bytes = config_.block.x / 32 * static_cast<std::uint32_t>(sizeof(Number));
    find_expected();
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = units_ * 16;
    figures.elements = elements();
    figures.bytes = static_cast<double>(figures.size_bytes) * (is_dot ? 2 : 1);
    if (is_dot) figures.flops = 2 * static_cast<double>(elements());
    figures.tolerance = tolerance_;
    return figures;
  }

  void reset() override {
    constexpr ValueKind kind = sizeof(Number) == 8 ? ValueKind::f64 : ValueKind::f32;
    write_values(a_, kind, periodic(first_));
    if (is_dot) write_values(b_, kind, periodic(second_));
    fill_and_wait(out_, std::byte{0xFF}, *stream_);
  }

  void queue() override { launch(kernel_, config_, *stream_, a_, b_, units_, out_); }

  Comparison check() override {
    Comparison result;
    result.checked = 1;
    const double total = read_total();
    const double error = std::abs(total - expected_) / std::max(1.0, std::abs(expected_));
    if (!std::isnan(error)) result.max_error = error;
    if (error <= tolerance_) return result;
    WrongData wrong;
    wrong.expected = expected_;
    wrong.got = total;
    wrong.xor_bits = bits_of(total) ^ bits_of(expected_);
    wrong.count = 1;
    wrong.reread_agrees = bits_of(read_total()) == bits_of(total);
    result.wrong = wrong;
    return result;
  }

 private:
  static std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

  std::uint64_t elements() const { return units_ * 16 / sizeof(Number); }

  /// The combined values of the blocks: whole numbers below 2^53, exact in a double.
  double read_total() const {
    std::vector<Number> parts(config_.grid.x);
    copy_d2h_and_wait(std::as_writable_bytes(std::span(parts)), out_);
    if constexpr (!is_dot) {
      std::uint32_t total = 0;
      for (const std::uint32_t part : parts) total ^= part;
      return total;
    } else {
      double total = 0;
      for (const Number part : parts) total += static_cast<double>(part);
      return total;
    }
  }

  void find_expected() {
    const std::uint64_t rounds = elements() / table_length;
    const std::uint64_t rest = elements() % table_length;
    if constexpr (!is_dot) {
      std::uint32_t all = 0;
      std::uint32_t begin = 0;
      for (std::size_t i = 0; i < table_length; ++i) {
        if (i == rest) begin = all;
        all ^= first_[i];
      }
      expected_ = (rounds % 2 == 0 ? 0 : all) ^ begin;
    } else {
      std::int64_t all = 0;
      std::int64_t begin = 0;
      for (std::size_t i = 0; i < table_length; ++i) {
        if (i == rest) begin = all;
        all += static_cast<std::int64_t>(first_[i] * second_[i]);
      }
      expected_ = static_cast<double>(all * static_cast<std::int64_t>(rounds) + begin);
      find_tolerance();
    }
  }

  /// Everything is exact if the sums of a block fit in the mantissa. Otherwise each of the n
  /// additions of a term has an error of at most epsilon / 2 of the sum of magnitudes (Higham,
  /// Accuracy and Stability of Numerical Algorithms, 4.2).
  void find_tolerance() {
    constexpr double largest = 64;
    const double of_block = static_cast<double>(elements()) / config_.grid.x + 1024;
    const double exact = 2 / static_cast<double>(std::numeric_limits<Number>::epsilon());
    if (of_block * largest <= exact) return;
    const double additions = of_block / 256 + 32;
    const double magnitude = static_cast<double>(elements()) * largest;
    tolerance_ = additions / exact * magnitude / std::max(1.0, std::abs(expected_));
  }

  static constexpr bool is_dot = !std::is_same_v<Number, std::uint32_t>;

  const StreamRef* stream_;
  Kernel kernel_;
  std::uint64_t units_;
  LaunchConfig config_;
  Buffer a_;
  Buffer b_;
  Buffer out_;
  std::vector<Number> first_ = small_numbers<Number>(table_length, 4);
  std::vector<Number> second_ = small_numbers<Number>(table_length, 5);
  double expected_ = 0;
  double tolerance_ = 0;
};

}  // namespace

void add_reduction_families(std::vector<FamilyEntry>& families) {
  families.push_back(
      {{"read", "stream", "XOR of all words", {"u32"}}, 1, maker<ReductionWork<std::uint32_t>>()});
  families.push_back(
      {{"stream-dot", "stream", "sum of a b", {"f32", "f64"}},
       2,
       [](const Device& device, const WorkContext& context) -> std::unique_ptr<KernelWork> {
         if (context.dtype == "f64") {
           return std::make_unique<ReductionWork<double>>(device, context);
         }
         return std::make_unique<ReductionWork<float>>(device, context);
       }});
}

}  // namespace hiptool::measure
