// SPDX-License-Identifier: MIT
// The multiply-adds of a matrix product.
#include <algorithm>
#include <bit>
#include <cmath>

#include "hiptool/copy.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint32_t gemm_block_threads = 256;
constexpr std::uint64_t most_cpu_side = 128;
constexpr std::uint64_t most_gpu_side = 16384;  // above, values would not be exact

/// A number of small_numbers() in 16 bits, which is exact for whole numbers up to 8.
std::uint16_t to_16_bits(float value, bool is_bf16) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value == 0) return 0;
  if (is_bf16) return static_cast<std::uint16_t>(bits >> 16);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) |
                                    (((bits >> 13) - (112u << 10)) & 0x7FFFu));
}

/// A kernel, the tile of c that each of its blocks computes, and the shared memory of a block.
struct Variant {
  const char* name;
  std::uint64_t tile_rows;
  std::uint64_t tile_columns;
  std::uint32_t shared_bytes;
};

constexpr Variant plain{"hiptool_gemm_", 128, 128, 16896};              // kernels/gemm.hip
constexpr Variant matrix{"hiptool_gemm_matrix_", 128, 256, 96 * 1024};  // kernels/gemm_matrix.hip

class GemmWork final : public KernelWork {
 public:
  GemmWork(const Device& device, const WorkContext& context)
      : is_half_(context.dtype != "f32"),
        is_bf16_(context.dtype == "bf16"),
        is_matrix_(is_half_ && has_matrix_instructions(device.platform(), context.arch)),
        variant_(is_matrix_ ? matrix : plain),
        stream_(context.stream),
        kernel_(context.find_kernel(variant_.name + context.dtype)),
        rate_(rate_of(context)),
        side_(side_for(context, device.is_host_memory())),
        a_(device, side_ * side_ * (is_half_ ? 2 : 4)),
        b_(device, a_.size_bytes()),
        c_(device, side_ * side_ * 4) {
    config_.grid.x =
        static_cast<std::uint32_t>((side_ / variant_.tile_rows) * (side_ / variant_.tile_columns));
    config_.block.x = gemm_block_threads;
    config_.shared_bytes = variant_.shared_bytes;
  }

  Figures figures() const override {
    const auto side = static_cast<double>(side_);
    Figures figures;
    figures.elements = side_ * side_;
    figures.size_bytes = c_.size_bytes();
    figures.flops = 2 * side * side * side;
    return figures;
  }

  void reset() override {
    write(a_, left_);
    write(b_, right_);
    fill_and_wait(c_, std::byte{0xFF}, *stream_);
  }

  void queue() override { launch(kernel_, config_, *stream_, a_, b_, c_, side_); }

  /// Freivalds 1977: c v = a (b v) for a random vector v, here of whole numbers below 2^16; a wrong
  /// row passes in one case of 65536. All sums are exact. A wrong row is then computed in full.
  Comparison check() override {
    const std::vector<std::int64_t> vector = [&] {
      std::vector<std::int64_t> values(side_);
      std::uint32_t state = 77;
      for (std::int64_t& value : values) {
        state = state * 1664525u + 1013904223u;
        value = state >> 16;
      }
      return values;
    }();
    std::vector<std::int64_t> inner(side_);
    for (std::uint64_t row = 0; row < side_; ++row) {
      for (std::uint64_t k = 0; k < side_; ++k) inner[row] += at(right_, row, k) * vector[k];
    }
    Comparison result;
    result.checked = side_ * side_;
    std::vector<float> got(side_);
    for (std::uint64_t row = 0; row < side_; ++row) {
      read_row(row, got);
      // Only small whole numbers can be converted to an integer.
      bool is_sound = true;
      std::int64_t sum = 0;
      std::int64_t expected = 0;
      for (std::uint64_t k = 0; k < side_; ++k) {
        is_sound = is_sound && std::abs(got[k]) <= 0x1p24f && std::trunc(got[k]) == got[k];
        if (is_sound) sum += static_cast<std::int64_t>(got[k]) * vector[k];
        expected += at(left_, row, k) * inner[k];
      }
      if (is_sound && sum == expected) continue;
      describe_row(row, got, result);
    }
    return result;
  }

  std::optional<Buffer> output() const override { return c_; }

  std::optional<double> per_clock() const override { return rate_; }

 private:
  std::optional<double> rate_of(const WorkContext& context) const {
    if (is_matrix_) return matrix_rate(context.arch);
    return is_half_ ? std::nullopt : multiply_add_rate(context.arch, "f32");
  }

  std::uint64_t side_for(const WorkContext& context, bool is_cpu) const {
    const std::uint64_t tile = std::max(variant_.tile_rows, variant_.tile_columns);
    const double elements = static_cast<double>(context.size_bytes) / 4;
    const auto side = static_cast<std::uint64_t>(std::sqrt(elements)) / tile * tile;
    if (side == 0) throw TooSmall("gemm of " + context.dtype, context.size_bytes);
    return std::min(side, is_cpu ? most_cpu_side : most_gpu_side);
  }

  std::int64_t at(const std::vector<float>& table, std::uint64_t row, std::uint64_t column) const {
    return static_cast<std::int64_t>(table[(row * side_ + column) % table_length]);
  }

  void write(const Buffer& to, const std::vector<float>& table) const {
    if (!is_half_) {
      write_values(to, ValueKind::f32, periodic(table));
      return;
    }
    const auto half = [&](std::uint64_t index) {
      return std::uint32_t{to_16_bits(table[index % table_length], is_bf16_)};
    };
    const auto two_halves = [&](std::uint64_t index) {
      return half(2 * index) | half(2 * index + 1) << 16;
    };
    write_values(to, ValueKind::u32, computed(two_halves));
  }

  void read_row(std::uint64_t row, std::vector<float>& to) const {
    copy_d2h_and_wait(std::as_writable_bytes(std::span(to)), c_.view(row * side_ * 4, side_ * 4));
  }

  void describe_row(std::uint64_t row, const std::vector<float>& got, Comparison& result) const {
    std::vector<std::int64_t> wanted(side_);
    for (std::uint64_t k = 0; k < side_; ++k) {
      const std::int64_t left = at(left_, row, k);
      for (std::uint64_t i = 0; i < side_; ++i) wanted[i] += left * at(right_, k, i);
    }
    const auto expected = [&](std::uint64_t i) { return static_cast<float>(wanted[i]); };
    Comparison seen = compare_values(c_.view(row * side_ * 4, side_ * 4), side_, ValueKind::f32, 0,
                                     computed(expected));
    if (!seen.wrong) {
      // The row was wrong when it was first read and is right now.
      seen.wrong.emplace();
      seen.wrong->expected = wanted[0];
      seen.wrong->got = double{got[0]};
      seen.wrong->count = 1;
      seen.wrong->first_index = 0;
    }
    if (result.wrong) {
      result.wrong->count += seen.wrong->count;
      result.wrong->xor_bits |= seen.wrong->xor_bits;
      return;
    }
    *seen.wrong->first_index += row * side_;
    result.wrong = std::move(seen.wrong);
  }

  bool is_half_;
  bool is_bf16_;
  bool is_matrix_;
  Variant variant_;
  const StreamRef* stream_;
  Kernel kernel_;
  std::optional<double> rate_;
  std::uint64_t side_;
  LaunchConfig config_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
  std::vector<float> left_ = small_numbers<float>(table_length, 6);
  std::vector<float> right_ = small_numbers<float>(table_length, 7);
};

}  // namespace

void add_gemm_family(std::vector<FamilyEntry>& families) {
  families.push_back(
      {{"gemm", "compute", "product of square matrices, sums in f32", {"f32", "f16", "bf16"}},
       3,
       maker<GemmWork>()});
}

}  // namespace hiptool::measure
