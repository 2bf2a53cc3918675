// SPDX-License-Identifier: MIT
#include "measure/library/product_judge.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "measure/library/operands.hpp"

namespace hiptool::measure {
namespace {

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
double accumulator_unit(Compute compute) {
  switch (compute) {
    case Compute::f64: return 0x1p-53;
    case Compute::f32: return 0x1p-24;
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

/// What was found in one matrix of the batch.
struct Found {
  std::vector<bool> rows;
  std::vector<bool> columns;
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
};

class Judge {
 public:
  Judge(const Problem& problem, const ProblemData& data, std::span<const std::byte> result,
        Transforms transforms)
      : problem_(problem),
        types_(types_of(problem)),
        view_(problem, data),
        sizes_(view_.sizes()),
        result_(result),
        rounding_(rounding_of(types_.result)),
        units_(bound_units_of(problem, transforms)) {
    if (kind_of(problem) == ProblemKind::conv2d) names_ = {"channel", "pixel"};
    const double largest =
        static_cast<double>(data.most * data.most) * static_cast<double>(sizes_.k);
    const double sum_limit = types_.compute == Compute::f64   ? 0x1p53
                             : types_.compute == Compute::f16 ? 0x1p11
                                                              : 0x1p24;
    wraps_ = types_.compute == Compute::i32;
    has_whole_sums_ = wraps_ || (data.kind == DataKind::whole && largest <= sum_limit);
    has_exact_sums_ = has_whole_sums_ && transforms == Transforms::none;
    // Of the largest sum of squares that there can be.
    const double bound = units_ * std::sqrt(static_cast<double>(sizes_.k)) *
                         static_cast<double>(data.most * data.most);
    constexpr double most_tolerance = 0.25;  // so that the nearest whole number is meant
    tolerance_ = has_exact_sums_ ? 0 : std::min(most_tolerance, bound);
  }

  Judgement run(double budget_s) {
    const auto matrix = static_cast<double>(sizes_.m * sizes_.n);
    const double terms = matrix * static_cast<double>(sizes_.k * sizes_.batch);
    const double affordable = budget_s * reference_terms_per_s(types_.dtype);
    if (terms <= affordable) {
      for (std::uint64_t i = 0; i < sizes_.batch; ++i) judge_all(i);
    } else if (has_whole_sums_) {
      judgement_.is_by_sums = true;
      for (std::uint64_t i = 0; i < sizes_.batch; ++i) judge_by_sums(i);
    } else {
      judge_samples(affordable);
    }
    return finish();
  }

 private:
  using Places = std::vector<std::uint64_t>;

  static Places all_of(std::uint64_t count) {
    Places places(count);
    for (std::uint64_t i = 0; i < count; ++i) places[i] = i;
    return places;
  }

  Found nothing_found() const {
    return {std::vector<bool>(sizes_.m), std::vector<bool>(sizes_.n), 0, 0};
  }

  void judge_all(std::uint64_t batch) {
    Found found = nothing_found();
    judge_crossings(batch, all_of(sizes_.m), all_of(sizes_.n), found);
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
      if (types_.dtype == DType::f64) {
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
    const Operand left = view_.left(batch);
    const Operand right = view_.right(batch);
    part->clear();
    for (auto& row : part->right) row.fill(0);
    for (std::uint64_t first = 0; first < sizes_.k; first += depth) {
      const std::uint64_t terms = std::min(depth, sizes_.k - first);
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
        const Sum got = number_at(types_.result, result_.data(), index);
        const Sum want = wraps_ ? wrapped(part.sums[i][j]) : part.sums[i][j];
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
    return (batch * sizes_.m + row) * sizes_.n + column;
  }

  /// Of the numbers that are equal modulo 2^32, the one of i32. Sums are exact up to 2^53, which is
  /// of 2^39 terms.
  template <class Sum>
  static Sum wrapped(Sum sum) {
    return sum - std::floor((sum + 0x1p31) * 0x1p-32) * 0x1p32;
  }

  double slack_of(double want, double squares) const {
    if (wraps_) return 0;
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
        bits_at(types_.result, result_.data(), index) ^ bits_at(types_.result, nearest, 0);
    if (all.first_index && *all.first_index <= index) return;
    all.first_index = index;
    all.expected = want;
    all.got = number_at(types_.result, result_.data(), index);
  }

  void store_nearest(double want, std::byte* to) const {
    if (wraps_) {
      const auto number = static_cast<std::int32_t>(want);
      std::memcpy(to, &number, sizeof(number));
      return;
    }
    const auto single = static_cast<float>(want);
    const std::uint16_t half =
        types_.result == DType::f16 ? hiptool::to_half(single).bits : to_bfloat16(single).bits;
    switch (element_size_bytes(types_.result)) {
      case 8: std::memcpy(to, &want, 8); return;
      case 4: std::memcpy(to, &single, 4); return;
      default: std::memcpy(to, &half, 2); return;
    }
  }

  /// Adds what was found in one matrix.
  void take(const Found& found) {
    judgement_.checked += found.checked;
    if (std::ranges::none_of(found.rows, [](bool one) { return one; })) return;
    ++wrong_matrices_;
    if (!judgement_.where.empty()) return;
    judgement_.where =
        describe_places(found.rows, found.columns, found.wrong, judged_inside(found), names_);
  }

  /// Judged elements in the rectangle that encloses the wrong ones.
  std::uint64_t judged_inside(const Found& found) const {
    const auto span_of = [](const std::vector<bool>& marks) {
      const auto first = std::ranges::find(marks, true);
      const auto last = std::find(marks.rbegin(), marks.rend(), true).base();
      return static_cast<std::uint64_t>(last - first);
    };
    const double rectangle = static_cast<double>(span_of(found.rows) * span_of(found.columns));
    const double all = static_cast<double>(sizes_.m * sizes_.n);
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
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  void judge_samples(double affordable) {
    constexpr std::uint64_t most_matrices = 8;
    const Places matrices = sample_of(sizes_.batch, most_matrices);
    // Of the rows and columns of each, if that is still too much for the time.
    const double of_one = static_cast<double>((sizes_.m + sizes_.n) * sizes_.k) *
                          static_cast<double>(matrices.size());
    const auto count = static_cast<std::uint64_t>(std::clamp(affordable / of_one, 4.0, 64.0));
    for (const std::uint64_t batch : matrices) {
      Found found = nothing_found();
      const Places rows = sample_of(sizes_.m, count);
      judge_crossings(batch, rows, all_of(sizes_.n), found);
      Places other_rows;
      const Places every_row = all_of(sizes_.m);
      std::set_difference(every_row.begin(), every_row.end(), rows.begin(), rows.end(),
                          std::back_inserter(other_rows));
      judge_crossings(batch, other_rows, sample_of(sizes_.n, count), found);
      take(found);
    }
  }

  // ---- whole numbers by checksums (Freivalds 1977), modulo 2^64, or 2^32 where sums wrap

  /// Odd, so that no power of two times a wrong value vanishes.
  static std::uint64_t weight(std::uint64_t index) {
    std::uint64_t x = (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return (x ^ x >> 32) | 1;
  }
  static std::uint64_t whole(double value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  /// A sum, or nothing if an element is not a whole number that the sums can be.
  std::optional<std::uint64_t> result_sum(std::uint64_t batch, std::uint64_t own,
                                          bool is_row) const {
    std::uint64_t sum = 0;
    const std::uint64_t count = is_row ? sizes_.n : sizes_.m;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = number_at(types_.result, result_.data(),
                                     is_row ? place(batch, own, i) : place(batch, i, own));
      const double nearest = std::nearbyint(value);
      if (!(std::fabs(value) <= 0x1p53) || !(std::fabs(value - nearest) <= tolerance_)) {
        return std::nullopt;
      }
      sum += whole(nearest) * weight(i);
    }
    return sum;
  }

  /// Which rows (or columns) of the result do not have the sum that they should have.
  std::vector<bool> wrong_sums(std::uint64_t batch, bool of_rows) const {
    const Operand own = of_rows ? view_.left(batch) : view_.right(batch);
    const Operand other = of_rows ? view_.right(batch) : view_.left(batch);
    const std::uint64_t count = of_rows ? sizes_.m : sizes_.n;
    const std::uint64_t others = of_rows ? sizes_.n : sizes_.m;
    std::vector<std::uint64_t> weighted(sizes_.k);
    for_each_in_threads((sizes_.k + tile - 1) / tile, [&](std::uint64_t part) {
      for (std::uint64_t p = part * tile; p < std::min(sizes_.k, (part + 1) * tile); ++p) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < others; ++i) sum += whole(other.at(i, p)) * weight(i);
        weighted[p] = sum;
      }
    });
    std::vector<char> marks(count);
    for_each_in_threads((count + tile - 1) / tile, [&](std::uint64_t part) {
      for (std::uint64_t i = part * tile; i < std::min(count, (part + 1) * tile); ++i) {
        std::uint64_t want = 0;
        for (std::uint64_t p = 0; p < sizes_.k; ++p) want += whole(own.at(i, p)) * weighted[p];
        const std::optional<std::uint64_t> found = result_sum(batch, i, of_rows);
        marks[i] = !found || (wraps_ ? (*found ^ want) << 32 : *found ^ want) != 0;
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
      judge_crossings(batch, some, wrong_columns.empty() ? all_of(sizes_.n) : wrong_columns, found);
      remaining.erase(remaining.begin(), remaining.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (found.wrong > 0 && !remaining.empty()) {
      judgement_.counts_all = false;
      for (const std::uint64_t row : remaining) found.rows[row] = true;
      found.columns = columns;
      found.wrong = found.wrong * every_row.size() / (every_row.size() - remaining.size());
    }
    found.checked = sizes_.m * sizes_.n;
    take(found);
  }

  Judgement finish() {
    if (wrong_matrices_ > 0 && sizes_.batch > 1) {
      const auto* const conv = std::get_if<ConvProblem>(&problem_);
      const char* const parts = conv == nullptr     ? " matrices"
                                : conv->groups == 1 ? " images"
                                                    : " groups of all images";
      judgement_.where +=
          ", in " + std::to_string(wrong_matrices_) + " of " + std::to_string(sizes_.batch) + parts;
    }
    judgement_.share =
        static_cast<double>(judgement_.checked) / static_cast<double>(c_count(problem_));
    return std::move(judgement_);
  }

  const Problem& problem_;
  const ProblemTypes& types_;
  ProductView view_;
  ProductSizes sizes_;
  std::span<const std::byte> result_;
  Rounding rounding_;
  double units_;
  PlaceNames names_;
  bool wraps_ = false;           ///< sums of i32, of any numbers
  bool has_whole_sums_ = false;  ///< sums are whole numbers that the accumulator holds
  bool has_exact_sums_ = false;  ///< and the result is to be exactly them
  double tolerance_ = 0;         ///< of a result to its whole number, in checksums
  std::mutex mutex_;
  Judgement judgement_;
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

double bound_units_of(const Problem& problem, Transforms transforms) {
  const ProblemTypes& types = types_of(problem);
  if (types.compute == Compute::i32) return 0;
  const auto terms = static_cast<double>(term_count(problem));
  const bool is_rounded = element_size_bytes(types.dtype) >= 4 && types.compute != Compute::tf32;
  double units = 8 * std::sqrt(terms);
  if (!is_rounded) {
    units += terms / 4;  // matrix units truncate
  } else if (transforms == Transforms::allowed && kind_of(problem) == ProblemKind::conv2d) {
    // Winograd's F(4x4, 3x3) is off by 25 sqrt(k); factors of TF32 by 15000, however many.
    constexpr double most_of_transforms = 8192;
    units = std::max(units, std::min(8 * units, most_of_transforms));
  }
  return units * accumulator_unit(types.compute);
}

Judgement judge_problem(const Problem& problem, const ProblemData& data,
                        std::span<const std::byte> result, double budget_s, Transforms transforms) {
  return Judge(problem, data, result, transforms).run(budget_s);
}

}  // namespace hiptool::measure
