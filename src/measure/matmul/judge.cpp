// SPDX-License-Identifier: MIT
#include "measure/matmul/judge.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>

#include "base/clock.hpp"

namespace hiptool::measure {
namespace {

template <class Stored>
Stored read_as(const std::byte* from) {
  Stored value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
/// A number of that type, exactly.
double number_at(DType dtype, const std::byte* bytes, std::uint64_t index) {
  switch (dtype) {
    case DType::f64: return read_as<double>(bytes + index * 8);
    case DType::f16: return to_float(Half{read_as<std::uint16_t>(bytes + index * 2)});
    case DType::bf16: return to_float(BFloat16{read_as<std::uint16_t>(bytes + index * 2)});
    default: return read_as<float>(bytes + index * 4);
  }
}
std::uint64_t bits_at(DType dtype, const std::byte* bytes, std::uint64_t index) {
  const std::size_t size = element_size_bytes(dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes + index * size, size);
  return bits;
}

/// Half the distance of 1 to the next number, and half the smallest number.
struct Rounding {
  double unit;
  double least;
};
Rounding rounding_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {0x1p-53, 0x1p-1074};
    case DType::f16: return {0x1p-11, 0x1p-25};
    case DType::bf16: return {0x1p-8, 0x1p-134};
    default: return {0x1p-24, 0x1p-150};
  }
}
double accumulator_unit(MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::f64: return 0x1p-53;
    case MatmulCompute::f32: return 0x1p-24;
    default: return 0x1p-11;  // TF32 has as many digits as f16
  }
}

/// Rows and columns of a part that is summed at once, and terms that are converted at once: 160
/// KiB.
constexpr std::uint64_t tile = 32;
constexpr std::uint64_t depth = 256;

/// Sums of products and of their squares for some rows and columns of one matrix.
template <class Sum>
struct SumTile {
  std::array<std::array<Sum, tile>, tile> sums;
  std::array<std::array<double, tile>, tile> squares;
  std::array<std::array<Sum, depth>, tile> left;
  std::array<std::array<Sum, tile>, depth> right;

  void clear() {
    for (auto& row : sums) row.fill(0);
    for (auto& row : squares) row.fill(0);
  }

  void add(std::uint64_t rows, std::uint64_t terms) {
    for (std::uint64_t i = 0; i < rows; ++i) {
      Sum* const sum = sums[i].data();
      double* const square = squares[i].data();
      for (std::uint64_t p = 0; p < terms; ++p) {
        const Sum factor = left[i][p];
        const Sum* const other = right[p].data();
        for (std::uint64_t j = 0; j < tile; ++j) {
          const Sum product = factor * other[j];
          sum[j] += product;
          square[j] += static_cast<double>(product) * static_cast<double>(product);
        }
      }
    }
  }
};

/// The elements of one product.
struct Operand {
  DType dtype;
  const std::byte* bytes;
  std::uint64_t start;  ///< of the matrix
  std::uint64_t outer;  ///< distance of rows of A, or columns of B
  std::uint64_t inner;  ///< distance of terms
  double at(std::uint64_t own, std::uint64_t term) const {
    return number_at(dtype, bytes, start + own * outer + term * inner);
  }
};

/// What was found in one matrix of the batch.
struct Found {
  std::vector<bool> rows;
  std::vector<bool> columns;
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
};

class Judge {
 public:
  Judge(const MatmulProblem& problem, const MatmulData& data, std::span<const std::byte> result)
      : problem_(problem), data_(data), result_(result), rounding_(rounding_of(problem.result)) {
    const auto length = static_cast<double>(problem.k);
    units_ = (8 * std::sqrt(length) + length / 8) * accumulator_unit(problem.compute);
    const double largest = static_cast<double>(data.most * data.most) * length;
    const double sum_limit = problem.compute == MatmulCompute::f64   ? 0x1p53
                             : problem.compute == MatmulCompute::f16 ? 0x1p11
                                                                     : 0x1p24;
    has_exact_sums_ = data.kind == DataKind::whole && largest <= sum_limit;
  }

  MatmulJudgement run(double budget_s) {
    const auto matrix = static_cast<double>(problem_.m * problem_.n);
    const double terms = matrix * static_cast<double>(problem_.k * problem_.batch);
    const double affordable = budget_s * reference_terms_per_s(problem_.dtype);
    if (terms <= affordable) {
      for (std::uint64_t i = 0; i < problem_.batch; ++i) judge_all(i);
    } else if (has_exact_sums_) {
      judgement_.is_by_sums = true;
      for (std::uint64_t i = 0; i < problem_.batch; ++i) judge_by_sums(i);
    } else {
      judge_samples(affordable);
    }
    return finish();
  }

 private:
  using Places = std::vector<std::uint64_t>;

  Operand left_of(std::uint64_t batch) const {
    const bool turned = problem_.transpose_a;
    return {problem_.dtype, data_.a.data(), batch * problem_.m * problem_.k,
            turned ? 1 : problem_.k, turned ? problem_.m : 1};
  }
  Operand right_of(std::uint64_t batch) const {
    const bool turned = problem_.transpose_b;
    return {problem_.dtype, data_.b.data(), batch * problem_.k * problem_.n,
            turned ? problem_.k : 1, turned ? 1 : problem_.n};
  }

  static Places all_of(std::uint64_t count) {
    Places places(count);
    for (std::uint64_t i = 0; i < count; ++i) places[i] = i;
    return places;
  }

  Found nothing_found() const {
    return {std::vector<bool>(problem_.m), std::vector<bool>(problem_.n), 0, 0};
  }

  void judge_all(std::uint64_t batch) {
    Found found = nothing_found();
    judge_crossings(batch, all_of(problem_.m), all_of(problem_.n), found);
    take(found);
  }

  void judge_crossings(std::uint64_t batch, const Places& rows, const Places& columns,
                       Found& found) {
    const std::uint64_t row_tiles = (rows.size() + tile - 1) / tile;
    const std::uint64_t column_tiles = (columns.size() + tile - 1) / tile;
    for_each_in_threads(row_tiles * column_tiles, [&](std::uint64_t index) {
      const std::uint64_t row = index % row_tiles * tile;
      const std::uint64_t column = index / row_tiles * tile;
      const std::span own_rows(rows.data() + row, std::min(tile, rows.size() - row));
      const std::span own_columns(columns.data() + column, std::min(tile, columns.size() - column));
      if (problem_.dtype == DType::f64) {
        judge_tile<long double>(batch, own_rows, own_columns, found);
      } else {
        judge_tile<double>(batch, own_rows, own_columns, found);
      }
    });
  }

  template <class Sum>
  void judge_tile(std::uint64_t batch, std::span<const std::uint64_t> rows,
                  std::span<const std::uint64_t> columns, Found& found) {
    const auto part = std::make_unique<SumTile<Sum>>();
    const Operand left = left_of(batch);
    const Operand right = right_of(batch);
    part->clear();
    for (auto& row : part->right) row.fill(0);
    for (std::uint64_t first = 0; first < problem_.k; first += depth) {
      const std::uint64_t terms = std::min(depth, problem_.k - first);
      for (std::uint64_t i = 0; i < rows.size(); ++i) {
        for (std::uint64_t p = 0; p < terms; ++p) part->left[i][p] = left.at(rows[i], first + p);
      }
      for (std::uint64_t p = 0; p < terms; ++p) {
        for (std::uint64_t j = 0; j < columns.size(); ++j) {
          part->right[p][j] = right.at(columns[j], first + p);
        }
      }
      part->add(rows.size(), terms);
    }
    compare(batch, rows, columns, *part, found);
  }

  template <class Sum>
  void compare(std::uint64_t batch, std::span<const std::uint64_t> rows,
               std::span<const std::uint64_t> columns, const SumTile<Sum>& part, Found& found) {
    double max_error = 0;
    struct Wrong {
      std::uint64_t row;
      std::uint64_t column;
      double want;
    };
    std::vector<Wrong> wrong;
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      for (std::uint64_t j = 0; j < columns.size(); ++j) {
        const std::uint64_t index = place(batch, rows[i], columns[j]);
        const Sum got = number_at(problem_.result, result_.data(), index);
        const Sum want = part.sums[i][j];
        const double slack = slack_of(static_cast<double>(want), part.squares[i][j]);
        const auto error = static_cast<double>(std::fabs(got - want));
        // This form of the condition makes NaN wrong.
        if (error <= slack) {
          if (error > 0) max_error = std::max(max_error, error / slack);
        } else {
          wrong.push_back({rows[i], columns[j], static_cast<double>(want)});
        }
      }
    }
    const std::lock_guard lock(mutex_);
    judgement_.max_error = std::max(judgement_.max_error, max_error);
    found.checked += rows.size() * columns.size();
    found.wrong += wrong.size();
    for (const Wrong& one : wrong) {
      found.rows[one.row] = true;
      found.columns[one.column] = true;
      note_wrong(place(batch, one.row, one.column), one.want);
    }
  }

  std::uint64_t place(std::uint64_t batch, std::uint64_t row, std::uint64_t column) const {
    return (batch * problem_.m + row) * problem_.n + column;
  }

  double slack_of(double want, double squares) const {
    if (has_exact_sums_) {
      // A half cannot hold every such sum: then it is the nearest.
      const double digits = 1 / rounding_.unit;
      return std::fabs(want) <= digits ? 0 : rounding_.unit * std::fabs(want);
    }
    return units_ * std::sqrt(squares) + rounding_.unit * std::fabs(want) + rounding_.least;
  }

  void note_wrong(std::uint64_t index, double want) {
    if (!judgement_.wrong) judgement_.wrong.emplace();
    report::WrongData& all = *judgement_.wrong;
    ++all.count;
    std::byte nearest[8];
    store_nearest(want, nearest);
    all.xor_bits |=
        bits_at(problem_.result, result_.data(), index) ^ bits_at(problem_.result, nearest, 0);
    if (all.first_index && *all.first_index <= index) return;
    all.first_index = index;
    all.expected = want;
    all.got = number_at(problem_.result, result_.data(), index);
  }

  void store_nearest(double want, std::byte* to) const {
    const auto single = static_cast<float>(want);
    const std::uint16_t half =
        problem_.result == DType::f16 ? hiptool::to_half(single).bits : to_bfloat16(single).bits;
    switch (element_size_bytes(problem_.result)) {
      case 8: std::memcpy(to, &want, 8); return;
      case 4: std::memcpy(to, &single, 4); return;
      default: std::memcpy(to, &half, 2); return;
    }
  }

  /// Adds what was found in one matrix.
  void take(const Found& found) {
    judgement_.checked += found.checked;
    if (std::none_of(found.rows.begin(), found.rows.end(), [](bool one) { return one; })) return;
    ++wrong_matrices_;
    if (!judgement_.where.empty()) return;
    judgement_.where =
        describe_places(found.rows, found.columns, found.wrong, judged_inside(found));
  }

  /// Judged elements in the rectangle that encloses the wrong ones.
  std::uint64_t judged_inside(const Found& found) const {
    const auto span_of = [](const std::vector<bool>& marks) {
      const auto first = std::find(marks.begin(), marks.end(), true);
      const auto last = std::find(marks.rbegin(), marks.rend(), true).base();
      return static_cast<std::uint64_t>(last - first);
    };
    const double rectangle = static_cast<double>(span_of(found.rows) * span_of(found.columns));
    const double all = static_cast<double>(problem_.m * problem_.n);
    return static_cast<std::uint64_t>(rectangle * static_cast<double>(found.checked) / all);
  }

  // ---- samples

  Places sample_of(std::uint64_t size, std::uint64_t count) {
    Places places;
    if (size <= count + 6) return all_of(size);
    for (const std::uint64_t edge : {std::uint64_t{0}, std::uint64_t{1}, size - 2, size - 1}) {
      places.push_back(edge);
    }
    while (places.size() < count + 4) places.push_back(random_() % size);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  void judge_samples(double affordable) {
    constexpr std::uint64_t most_matrices = 8;
    const Places matrices = sample_of(problem_.batch, most_matrices);
    // Of the rows and columns of each, if that is still too much for the time.
    const double of_one = static_cast<double>((problem_.m + problem_.n) * problem_.k) *
                          static_cast<double>(matrices.size());
    const auto count = static_cast<std::uint64_t>(std::clamp(affordable / of_one, 4.0, 64.0));
    for (const std::uint64_t batch : matrices) {
      Found found = nothing_found();
      const Places rows = sample_of(problem_.m, count);
      judge_crossings(batch, rows, all_of(problem_.n), found);
      Places other_rows;
      const Places every_row = all_of(problem_.m);
      std::set_difference(every_row.begin(), every_row.end(), rows.begin(), rows.end(),
                          std::back_inserter(other_rows));
      judge_crossings(batch, other_rows, sample_of(problem_.n, count), found);
      take(found);
    }
  }

  // ---- whole numbers by checksums (Freivalds 1977), modulo 2^64

  /// Odd, so that no power of two times a wrong value vanishes.
  static std::uint64_t weight(std::uint64_t index) {
    std::uint64_t x = (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return (x ^ x >> 32) | 1;
  }
  static std::uint64_t whole(double value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  /// A sum, or nothing if an element is no whole number that the sums can be.
  std::optional<std::uint64_t> result_sum(std::uint64_t batch, std::uint64_t own,
                                          bool is_row) const {
    std::uint64_t sum = 0;
    const std::uint64_t count = is_row ? problem_.n : problem_.m;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = number_at(problem_.result, result_.data(),
                                     is_row ? place(batch, own, i) : place(batch, i, own));
      if (!(std::fabs(value) <= 0x1p53) || std::trunc(value) != value) return std::nullopt;
      sum += whole(value) * weight(i);
    }
    return sum;
  }

  /// Which rows (or columns) of the result do not have the sum that they should have.
  std::vector<bool> wrong_sums(std::uint64_t batch, bool of_rows) const {
    const Operand own = of_rows ? left_of(batch) : right_of(batch);
    const Operand other = of_rows ? right_of(batch) : left_of(batch);
    const std::uint64_t count = of_rows ? problem_.m : problem_.n;
    const std::uint64_t others = of_rows ? problem_.n : problem_.m;
    std::vector<std::uint64_t> weighted(problem_.k);
    for_each_in_threads((problem_.k + tile - 1) / tile, [&](std::uint64_t part) {
      for (std::uint64_t p = part * tile; p < std::min(problem_.k, (part + 1) * tile); ++p) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < others; ++i) sum += whole(other.at(i, p)) * weight(i);
        weighted[p] = sum;
      }
    });
    std::vector<char> marks(count);
    for_each_in_threads((count + tile - 1) / tile, [&](std::uint64_t part) {
      for (std::uint64_t i = part * tile; i < std::min(count, (part + 1) * tile); ++i) {
        std::uint64_t want = 0;
        for (std::uint64_t p = 0; p < problem_.k; ++p) want += whole(own.at(i, p)) * weighted[p];
        marks[i] = result_sum(batch, i, of_rows) != want;
      }
    });
    return {marks.begin(), marks.end()};
  }

  static Places places_of(const std::vector<bool>& marks) {
    Places places;
    for (std::uint64_t i = 0; i < marks.size(); ++i) {
      if (marks[i]) places.push_back(i);
    }
    return places;
  }

  void judge_by_sums(std::uint64_t batch) {
    constexpr std::size_t most_rows = 64;
    const std::vector<bool> rows = wrong_sums(batch, true);
    const std::vector<bool> columns = wrong_sums(batch, false);
    Found found = nothing_found();
    // Where sums are wrong each element is compared: rounding of a half explains some.
    const Places wrong_columns = places_of(columns);
    const Places every_row = places_of(rows);
    Places remaining = every_row;
    while (!remaining.empty() && found.wrong == 0) {
      const std::size_t count = std::min(most_rows, remaining.size());
      const Places some(remaining.begin(), remaining.begin() + static_cast<std::ptrdiff_t>(count));
      judge_crossings(batch, some, wrong_columns.empty() ? all_of(problem_.n) : wrong_columns,
                      found);
      remaining.erase(remaining.begin(), remaining.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (found.wrong > 0 && !remaining.empty()) {
      judgement_.counts_all = false;
      for (const std::uint64_t row : remaining) found.rows[row] = true;
      found.columns = columns;
      found.wrong = found.wrong * every_row.size() / (every_row.size() - remaining.size());
    }
    found.checked = problem_.m * problem_.n;
    take(found);
  }

  MatmulJudgement finish() {
    if (wrong_matrices_ > 0 && problem_.batch > 1) {
      judgement_.where += ", in " + std::to_string(wrong_matrices_) + " of " +
                          std::to_string(problem_.batch) + " matrices";
    }
    judgement_.share =
        static_cast<double>(judgement_.checked) / static_cast<double>(problem_.c_count());
    return std::move(judgement_);
  }

  const MatmulProblem& problem_;
  const MatmulData& data_;
  std::span<const std::byte> result_;
  Rounding rounding_;
  double units_ = 0;
  bool has_exact_sums_ = false;
  std::mutex mutex_;
  MatmulJudgement judgement_;
  std::uint64_t wrong_matrices_ = 0;
  std::mt19937_64 random_{1};
};

template <class Sum>
double measure_terms_per_s() {
  constexpr std::uint64_t parts = 64;
  std::uint64_t rounds = 0;
  const auto begin = std::chrono::steady_clock::now();
  do {
    for_each_in_threads(parts, [](std::uint64_t) {
      const auto part = std::make_unique<SumTile<Sum>>();
      part->clear();
      for (auto& row : part->left) row.fill(1);
      for (auto& row : part->right) row.fill(1);
      part->add(tile, depth);
    });
    ++rounds;
  } while (base::seconds_since(begin) < 0.01);
  return static_cast<double>(rounds * parts * tile * tile * depth) / base::seconds_since(begin);
}

}  // namespace

double reference_terms_per_s(DType dtype) {
  if (dtype == DType::f64) {
    static const double rate = measure_terms_per_s<long double>();
    return rate;
  }
  static const double rate = measure_terms_per_s<double>();
  return rate;
}

MatmulJudgement judge_matmul(const MatmulProblem& problem, const MatmulData& data,
                             std::span<const std::byte> result, double budget_s) {
  return Judge(problem, data, result).run(budget_s);
}

}  // namespace hiptool::measure
