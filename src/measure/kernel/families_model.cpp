// SPDX-License-Identifier: MIT
// Row-wise steps of a language model, compared with the same in double.
#include <algorithm>
#include <cmath>

#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// Measured by tests/bench/kernel_table --blocks, on an H200: a block for each row was faster by
// 0.03 than 64 blocks for a multiprocessor, and by 0.06 to 0.11 than 16.
constexpr std::uint64_t model_blocks_per_unit = WorkContext::as_needed;

// As in kernels/model.hip: a number for each 32 threads is joined in shared memory.
constexpr std::uint32_t row_threads = 256;
constexpr std::uint32_t row_shared_bytes = row_threads / 32 * sizeof(float);

constexpr std::size_t columns = 4096;
constexpr std::size_t table_rows = 61;  // a prime, which does not align with any grid
constexpr double epsilon = 0x1p-24;     // half a unit in the last place of 1
constexpr double norm_epsilon = 1e-5F;

enum class Step { softmax, rmsnorm, layernorm, rope, swiglu };

struct StepFacts {
  const char* name;
  const char* what;
  /// Roundings of one value, each at most half a unit in the last place. A sum counts its depth, 16
  /// in a thread, 5 in 32 threads and 8 between these; e^x counts 4.
  double roundings;
  double min_magnitude;  ///< of the denominator of the error: the size of terms that may cancel
  double flops;          ///< of one value
};

constexpr StepFacts step_facts[] = {
    {"softmax", "softmax of rows", 16 + 5 + 8 + 2 * 4 + 4, 1e-30, 5},
    {"rmsnorm", "root-mean-square norm of rows", 16 + 5 + 8 + 8, 1e-30, 4},
    {"layernorm", "layer norm of rows", 4 * (16 + 5 + 8 + 8), 8, 8},
    {"rope", "rotary embedding of rows", 4, 16, 3},
    {"swiglu", "swish of one array times another", 4 + 4, 1e-30, 5},
};

class RowWork final : public KernelWork {
 public:
  RowWork(const Device& device, const WorkContext& context, Step step)
      : step_(step),
        facts_(step_facts[static_cast<std::size_t>(step)]),
        stream_(context.stream),
        kernel_(context.find_kernel(std::string("hiptool_") + facts_.name + "_f32")),
        rows_(std::max<std::uint64_t>(1, context.size_bytes / (columns * 4))),
        in_(device, rows_ * columns * 4),
        weights_(device, step == Step::swiglu ? in_.size_bytes() : 2 * columns * 4),
        out_(device, in_.size_bytes()) {
    config_.grid.x = static_cast<std::uint32_t>(std::min(
        rows_, context.compute_units * context.blocks_per_unit.value_or(model_blocks_per_unit)));
    config_.block.x = row_threads;
    config_.shared_bytes = row_shared_bytes;
    if (step == Step::rope) {
      for (std::size_t i = 0; i < columns; i += 2) {
        const double angle = std::pow(10000.0, -static_cast<double>(i % 128) / 128) * 1000;
        second_[i] = static_cast<float>(std::cos(angle));
        second_[i + 1] = static_cast<float>(std::sin(angle));
      }
    }
  }

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = in_.size_bytes();
    figures.elements = rows_ * columns;
    figures.bytes = static_cast<double>(figures.size_bytes) * (step_ == Step::swiglu ? 3 : 2);
    figures.flops = facts_.flops * static_cast<double>(figures.elements);
    figures.tolerance = facts_.roundings * epsilon;
    return figures;
  }

  void reset() override {
    write_values(in_, ValueKind::f32, periodic(first_));
    write_values(weights_, ValueKind::f32, periodic(second_));
    fill_and_wait(out_, std::byte{0xFF}, *stream_);
  }

  void queue() override { launch(kernel_, config_, *stream_, in_, weights_, out_, rows_); }

  Comparison check() override {
    std::vector<float> expected(first_.size());
    const std::size_t rows = std::min<std::uint64_t>(rows_, table_rows);
    for (std::size_t row = 0; row < rows; ++row) {
      expect_row(std::span(first_).subspan(row * columns, columns),
                 std::span(second_).subspan(step_ == Step::swiglu ? row * columns : 0),
                 std::span(expected).subspan(row * columns, columns));
    }
    return compare_values(out_, rows_ * columns, ValueKind::f32, facts_.roundings * epsilon,
                          periodic(std::move(expected)), facts_.min_magnitude);
  }

 private:
  void expect_row(std::span<const float> x, std::span<const float> w, std::span<float> out) const {
    double largest = x[0];
    double sum = 0;
    double squares = 0;
    for (const double value : x) {
      largest = std::max(largest, value);
      sum += value;
      squares += value * value;
    }
    double exponentials = 0;
    if (step_ == Step::softmax) {
      for (const double value : x) exponentials += std::exp(value - largest);
    }
    const double mean = sum / columns;
    const double root = std::sqrt(squares / columns + norm_epsilon);
    const double deviation = std::sqrt(squares / columns - mean * mean + norm_epsilon);
    for (std::size_t i = 0; i < columns; ++i) {
      const double value = x[i];
      double result = 0;
      switch (step_) {
        case Step::softmax: result = std::exp(value - largest) / exponentials; break;
        case Step::rmsnorm: result = value / root * w[i]; break;
        case Step::layernorm: result = (value - mean) / deviation * w[i] + w[columns + i]; break;
        case Step::rope:
          result = i % 2 == 0 ? value * w[i] - static_cast<double>(x[i + 1]) * w[i + 1]
                              : static_cast<double>(x[i - 1]) * w[i] + value * w[i - 1];
          break;
        case Step::swiglu: result = value / (1 + std::exp(-value)) * w[i]; break;
      }
      out[i] = static_cast<float>(result);
    }
  }

  Step step_;
  const StepFacts& facts_;
  const StreamRef* stream_;
  Kernel kernel_;
  std::uint64_t rows_;
  LaunchConfig config_;
  Buffer in_;
  Buffer weights_;
  Buffer out_;
  std::vector<float> first_ = small_numbers<float>(table_rows * columns, 8);
  std::vector<float> second_ = small_numbers<float>(table_rows * columns, 9);
};

}  // namespace

void add_model_families(std::vector<FamilyEntry>& families) {
  for (const Step step :
       {Step::softmax, Step::rmsnorm, Step::layernorm, Step::rope, Step::swiglu}) {
    const StepFacts& row = step_facts[static_cast<std::size_t>(step)];
    families.push_back({{row.name, "model", row.what, {"f32"}},
                        step == Step::swiglu ? std::uint64_t{3} : std::uint64_t{2},
                        maker<RowWork>(step)});
  }
}

}  // namespace hiptool::measure
