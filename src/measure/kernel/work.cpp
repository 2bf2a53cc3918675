// SPDX-License-Identifier: MIT
#include "measure/kernel/work.hpp"

#include <cmath>

#include "base/units.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/event.hpp"

namespace hiptool::measure {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;
constexpr std::uint32_t block_threads = 256;

struct Value {
  std::uint64_t bits = 0;
  double number = 0;
};

template <class Number>
Number load(std::span<const std::byte> data, std::size_t index) {
  Number number{};
  std::memcpy(&number, data.data() + index * sizeof(Number), sizeof(Number));
  return number;
}

Value value_at(std::span<const std::byte> data, std::size_t index, ValueKind kind) {
  if (kind == ValueKind::f64) {
    return {load<std::uint64_t>(data, index), load<double>(data, index)};
  }
  const auto bits = load<std::uint32_t>(data, index);
  if (kind == ValueKind::u32) return {bits, static_cast<double>(bits)};
  return {bits, static_cast<double>(load<float>(data, index))};
}

report::Value number_of(const Value& value, ValueKind kind) {
  if (kind == ValueKind::u32) return value.bits;
  return value.number;
}

/// Collects the results of a comparison in the order of the index.
class Judge {
 public:
  Judge(ValueKind kind, double tolerance, double min_magnitude)
      : kind_(kind), tolerance_(tolerance), min_magnitude_(min_magnitude) {}

  void compare(std::uint64_t first, std::span<const std::byte> got,
               std::span<const std::byte> expected) {
    const std::size_t count = got.size() / value_bytes(kind_);
    result_.checked += count;
    if (tolerance_ == 0 && std::memcmp(got.data(), expected.data(), got.size()) == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      compare_one(first + i, value_at(got, i, kind_), value_at(expected, i, kind_));
    }
  }

  Comparison take() { return std::move(result_); }
  std::uint64_t first_wrong_bits() const { return first_wrong_bits_; }

 private:
  void compare_one(std::uint64_t index, const Value& got, const Value& expected) {
    if (got.bits == expected.bits) return;
    const double error = std::abs(got.number - expected.number) /
                         std::max(min_magnitude_, std::abs(expected.number));
    // This form of the condition makes NaN wrong.
    if (tolerance_ > 0 && error <= tolerance_) {
      result_.max_error = std::max(result_.max_error, error);
      return;
    }
    if (!std::isnan(error)) result_.max_error = std::max(result_.max_error, error);
    if (!result_.wrong) {
      result_.wrong.emplace();
      result_.wrong->first_index = index;
      first_wrong_bits_ = got.bits;
      result_.wrong->expected = number_of(expected, kind_);
      result_.wrong->got = number_of(got, kind_);
    }
    result_.wrong->xor_bits |= got.bits ^ expected.bits;
    ++result_.wrong->count;
  }

  ValueKind kind_;
  double tolerance_;
  double min_magnitude_;
  std::uint64_t first_wrong_bits_ = 0;
  Comparison result_;
};

}  // namespace

TooSmall::TooSmall(const std::string& what, std::uint64_t size_bytes)
    : Error(ErrorCode::invalid_argument, "choose shape",
            format_size(size_bytes) + " is too small for " + what,
            "choose a larger --size, such as 1MiB") {}

LaunchConfig stride_grid(const WorkContext& context, std::uint64_t units,
                         std::uint64_t blocks_per_unit, std::uint64_t units_per_thread) {
  const std::uint64_t of_block = block_threads * units_per_thread;
  const std::uint64_t wanted = units / of_block + (units % of_block != 0 ? 1 : 0);
  const std::uint64_t most =
      context.compute_units * context.blocks_per_unit.value_or(blocks_per_unit);
  // AMD counts the threads of a grid in 32 bits.
  constexpr std::uint64_t most_of_any = (std::uint64_t{1} << 32) / block_threads - 1;
  LaunchConfig config;
  config.grid.x =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min({wanted, most, most_of_any})));
  config.block.x = block_threads;
  return config;
}

std::uint64_t rounds_within(double time_s, std::uint64_t least, std::uint64_t most,
                            const StreamRef& stream, const std::function<void()>& queue) {
  queue();  // loads the kernel
  KernelTimer timer(stream);
  timer.start();
  queue();
  timer.stop();
  const double one_s = std::max(timer.elapsed_s(), 1e-7) / static_cast<double>(least);
  return std::clamp(static_cast<std::uint64_t>(time_s / one_s), least, most);
}

std::size_t value_bytes(ValueKind kind) noexcept { return kind == ValueKind::f64 ? 8 : 4; }

Comparison compare_values(const Buffer& data, std::uint64_t count, ValueKind kind, double tolerance,
                          const Fill& expected, double min_magnitude) {
  const std::size_t bytes = value_bytes(kind);
  Judge judge(kind, tolerance, min_magnitude);
  std::vector<std::byte> got(std::min<std::uint64_t>(count * bytes, piece_bytes));
  std::vector<std::byte> wanted(got.size());
  const std::uint64_t step = std::max<std::uint64_t>(1, got.size() / bytes);
  const auto read = [&](std::uint64_t first, std::span<std::byte> to) {
    copy_d2h_and_wait(to, data.view(first * bytes, to.size()));
  };
  for (std::uint64_t first = 0; first < count; first += step) {
    const auto piece = std::span(got).first(std::min(step, count - first) * bytes);
    const auto piece_wanted = std::span(wanted).first(piece.size());
    read(first, piece);
    expected(first, piece_wanted);
    judge.compare(first, piece, piece_wanted);
  }
  Comparison result = judge.take();
  if (result.wrong) {
    const std::uint64_t place = *result.wrong->first_index;
    std::byte again[8] = {};
    read(place, std::span(again).first(bytes));
    result.wrong->reread_agrees = value_at(again, 0, kind).bits == judge.first_wrong_bits();
  }
  return result;
}

void fill_and_wait(Buffer& data, std::byte value, const StreamRef& stream) {
  fill(data, value, stream);
  stream.synchronize();
}

void write_values(const Buffer& data, ValueKind kind, const Fill& fill) {
  std::vector<std::byte> piece(std::min(data.size_bytes(), piece_bytes));
  for (std::size_t done = 0; done < data.size_bytes(); done += piece.size()) {
    const auto part = std::span(piece).first(std::min(piece.size(), data.size_bytes() - done));
    fill(done / value_bytes(kind), part);
    copy_h2d_and_wait(data.view(done, part.size()), part);
  }
}

}  // namespace hiptool::measure
