// SPDX-License-Identifier: MIT
#include "measure/library/large_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/units.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/library/operands.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint64_t window_bytes = std::uint64_t{64} << 20;  // of C, read at once

/// A matrix whose rows repeat: the first ones are there, and are copied until all are.
void repeat_rows(Buffer& buffer, std::uint64_t row_bytes, std::uint64_t count, std::uint64_t period,
                 const StreamRef& stream) {
  for (std::uint64_t done = std::min(period, count); done < count;) {
    const std::uint64_t now = std::min(done, count - done);
    copy_d2d(buffer.view(done * row_bytes, now * row_bytes), buffer.view(0, now * row_bytes),
             stream);
    done += now;
  }
}

/// The same of columns: `rows` rows of `count` elements, each of which repeats.
void repeat_columns(Buffer& buffer, std::uint64_t rows, std::uint64_t size, std::uint64_t count,
                    std::uint64_t period, const StreamRef& stream) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    Buffer one = buffer.view(row * count * size, count * size);
    repeat_rows(one, size, count, period, stream);
  }
}

/// How an operand is stored: the long dimension outside, or inside of the other one.
struct Storage {
  bool is_outer;
  std::uint64_t other;  ///< elements of the other dimension
};

void write_repeated(Buffer& buffer, const Storage& storage, const std::vector<std::byte>& table,
                    std::uint64_t size, std::uint64_t count, const StreamRef& stream) {
  constexpr std::uint64_t period = LargeProduct::period;
  if (storage.is_outer) {
    copy_h2d(buffer, table, stream);
    repeat_rows(buffer, storage.other * size, count, period, stream);
  } else {
    Buffer first(stream.device(), table.size());
    copy_h2d(first, table, stream);
    copy_d2d_2d(buffer, {0, count * size}, first, {0, period * size}, period * size, storage.other,
                stream);
    repeat_columns(buffer, storage.other, size, count, period, stream);
    stream.synchronize();
  }
}

std::vector<std::byte> read_bytes(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes,
                                  const StreamRef& stream) {
  std::vector<std::byte> found(bytes);
  copy_d2h(found, buffer.view(offset, bytes), stream);
  stream.synchronize();
  return found;
}

/// Whether the first and the last row of the matrix, as far as the table has them, are as written.
bool has_ends(const Buffer& buffer, const Storage& storage, const std::vector<std::byte>& table,
              std::uint64_t size, std::uint64_t count, const StreamRef& stream) {
  constexpr std::uint64_t period = LargeProduct::period;
  const std::uint64_t row = (storage.is_outer ? storage.other : period) * size;
  if (!std::ranges::equal(read_bytes(buffer, 0, row, stream), std::span(table).first(row))) {
    return false;
  }
  // The last row: of the table's, or the elements of the last period in the last of the others.
  const std::uint64_t last = (count - 1) % period;
  const std::uint64_t bytes = storage.is_outer ? row : (last + 1) * size;
  const std::uint64_t start = (storage.is_outer ? last : storage.other - 1) * row;
  const std::uint64_t all = storage.other * count * size;
  return std::ranges::equal(read_bytes(buffer, all - bytes, bytes, stream),
                            std::span(table).subspan(start, bytes));
}

/// From the first to the last mark.
std::uint64_t length_of(const std::vector<bool>& marks) {
  const auto first = std::ranges::find(marks, true);
  const auto last = std::find(marks.rbegin(), marks.rend(), true).base();
  return static_cast<std::uint64_t>(last - first);
}

}  // namespace

bool is_large_product(const Problem& problem, std::uint64_t least_bytes) {
  const MatmulProblem* const product = matmul_of(problem);
  if (product == nullptr || product->batch != 1 || bytes_of(problem) < least_bytes) return false;
  const std::uint64_t longest = std::max(product->m, product->n);
  return longest > 2 * LargeProduct::period && longest / 64 >= product->k;
}

std::string missing_memory(const Problem& problem, std::uint64_t free_bytes) {
  const std::uint64_t needed = bytes_of(problem) + (std::uint64_t{256} << 20);  // and workspaces
  if (needed <= free_bytes) return {};
  return "needs " + format_size(needed) + " of the device's memory; " + format_size(free_bytes) +
         " are free";
}

LargeProduct::LargeProduct(const MatmulProblem& problem, DataKind kind, std::uint64_t seed)
    : problem_(problem),
      is_of_rows_(problem.m >= problem.n),
      data_(make_data(part_of(period), kind, seed)) {}

MatmulProblem LargeProduct::part_of(std::uint64_t count) const {
  MatmulProblem part = problem_;
  (is_of_rows_ ? part.m : part.n) = count;
  return part;
}

void LargeProduct::write(Buffer a, Buffer b, const StreamRef& stream) const {
  const std::uint64_t size = element_size_bytes(problem_.dtype);
  const bool is_outer = is_of_rows_ ? !problem_.transpose_a : problem_.transpose_b;
  Buffer& longer = is_of_rows_ ? a : b;
  Buffer& other = is_of_rows_ ? b : a;
  write_repeated(longer, {is_outer, problem_.k}, is_of_rows_ ? data_.a : data_.b, size, length(),
                 stream);
  copy_h2d(other, is_of_rows_ ? data_.b : data_.a, stream);
  stream.synchronize();
}

bool LargeProduct::is_intact(const Buffer& a, const Buffer& b, const StreamRef& stream) const {
  const std::uint64_t size = element_size_bytes(problem_.dtype);
  const bool is_outer = is_of_rows_ ? !problem_.transpose_a : problem_.transpose_b;
  const Buffer& longer = is_of_rows_ ? a : b;
  const std::vector<std::byte>& whole = is_of_rows_ ? data_.b : data_.a;
  return has_ends(longer, {is_outer, problem_.k}, is_of_rows_ ? data_.a : data_.b, size, length(),
                  stream) &&
         read_bytes(is_of_rows_ ? b : a, 0, whole.size(), stream) == whole;
}

std::vector<std::byte> LargeProduct::read(const Buffer& c, std::uint64_t first, std::uint64_t count,
                                          const StreamRef& stream) const {
  const std::uint64_t size = element_size_bytes(problem_.result);
  if (is_of_rows_) {
    return read_bytes(c, first * problem_.n * size, count * problem_.n * size, stream);
  }
  Buffer packed(stream.device(), problem_.m * count * size);
  copy_d2d_2d(packed, {0, count * size}, c, {first * size, problem_.n * size}, count * size,
              problem_.m, stream);
  return read_bytes(packed, 0, packed.size_bytes(), stream);
}

std::uint64_t LargeProduct::place_in_all(std::uint64_t index, std::uint64_t first,
                                         std::uint64_t count) const {
  if (is_of_rows_) return first * problem_.n + index;
  return index / count * problem_.n + first + index % count;
}

Judgement LargeProduct::judge(const Buffer& c, const StreamRef& stream, double budget_s,
                              const CancelToken* cancel) const {
  const std::vector<std::byte> first = read(c, 0, period, stream);
  Judgement judgement = judge_problem(part_of(period), data_, first, budget_s);
  if (judgement.wrong) {
    auto& index = judgement.wrong->first_index;
    if (index) index = place_in_all(*index, 0, period);
    judgement.where +=
        ", among the first " + std::to_string(period) + (is_of_rows_ ? " rows" : " columns");
    judgement.counts_all = false;
  } else if (data_.kind == DataKind::whole) {
    compare_whole(c, first, stream, cancel, judgement);
  } else {
    judge_periods(c, stream, budget_s, cancel, judgement);
  }
  judgement.share =
      static_cast<double>(judgement.checked) / static_cast<double>(problem_.c_count());
  return judgement;
}

bool LargeProduct::is_still_wrong(const Buffer& c, const report::WrongData& wrong,
                                  const StreamRef& stream) const {
  const std::uint64_t size = element_size_bytes(problem_.result);
  const double now =
      number_at(problem_.result, read_bytes(c, *wrong.first_index * size, size, stream).data(), 0);
  const auto before = report::number_of(wrong.got);
  return before && !std::isnan(*before) ? now == *before : std::isnan(now);
}

void LargeProduct::compare_whole(const Buffer& c, const std::vector<std::byte>& first,
                                 const StreamRef& stream, const CancelToken* cancel,
                                 Judgement& judgement) const {
  const std::uint64_t size = element_size_bytes(problem_.result);
  const std::uint64_t periods =
      std::max<std::uint64_t>(1, window_bytes / (period * width() * size));
  std::vector<bool> rows(problem_.m);
  std::vector<bool> columns(problem_.n);
  std::mutex mutex;
  for (std::uint64_t start = period; start < length(); start += periods * period) {
    if (cancel != nullptr) cancel->throw_if_cancelled("run kernels");
    const std::uint64_t count = std::min(periods * period, length() - start);
    const std::vector<std::byte> part = read(c, start, count, stream);
    // Runs that repeat: rows of C, or in each row a period of columns.
    const std::uint64_t run = is_of_rows_ ? problem_.n : std::min(period, count);
    const std::uint64_t row_length = is_of_rows_ ? problem_.n : count;
    const std::uint64_t runs_of_row = (row_length + run - 1) / run;
    const std::uint64_t row_count = is_of_rows_ ? count : problem_.m;
    for_each_in_threads(row_count, [&](std::uint64_t row) {
      for (std::uint64_t i = 0; i < runs_of_row; ++i) {
        const std::uint64_t at = row * row_length + i * run;
        const std::uint64_t like = is_of_rows_ ? row % period * problem_.n : row * period;
        const std::uint64_t elements = std::min(run, row_length - i * run);
        if (std::memcmp(part.data() + at * size, first.data() + like * size, elements * size) ==
            0) {
          continue;
        }
        for (std::uint64_t j = 0; j < elements; ++j) {
          const double got = number_at(problem_.result, part.data(), at + j);
          const double want = number_at(problem_.result, first.data(), like + j);
          if (got == want) continue;  // NaN is never equal; zeros of either sign are
          const std::lock_guard lock(mutex);
          const std::uint64_t place = place_in_all(at + j, start, is_of_rows_ ? problem_.n : count);
          rows[place / problem_.n] = true;
          columns[place % problem_.n] = true;
          if (!judgement.wrong) judgement.wrong.emplace();
          report::WrongData& wrong = *judgement.wrong;
          ++wrong.count;
          wrong.xor_bits |= bits_at(problem_.result, part.data(), at + j) ^
                            bits_at(problem_.result, first.data(), like + j);
          if (wrong.first_index && *wrong.first_index <= place) continue;
          wrong.first_index = place;
          wrong.expected = want;
          wrong.got = got;
        }
      }
    });
    judgement.checked += count * width();
  }
  if (!judgement.wrong) return;
  const std::uint64_t count = judgement.wrong->count;
  judgement.where = describe_places(rows, columns, count, length_of(rows) * length_of(columns));
}

std::vector<std::uint64_t> LargeProduct::sampled_periods() const {
  const std::uint64_t last = (length() - 1) / period;
  std::vector<std::uint64_t> chosen{1, last / 2, last - 1, last};
  for (const std::uint64_t bits : {19u, 31u, 32u, 33u}) {
    // Of elements of C and of the longer operand, and of rows or columns.
    const std::uint64_t place = std::uint64_t{1} << bits;
    for (const std::uint64_t index : {place, place / width(), place / problem_.k}) {
      chosen.push_back(index / period);
    }
  }
  std::erase_if(chosen, [&](std::uint64_t one) { return one == 0 || one > last; });
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// The last period is only a part of the data.
ProblemData LargeProduct::data_of(std::uint64_t count) const {
  ProblemData data = data_;
  if (count == period) return data;
  const std::uint64_t size = element_size_bytes(problem_.dtype);
  std::vector<std::byte>& longer = is_of_rows_ ? data.a : data.b;
  const bool is_outer = is_of_rows_ ? !problem_.transpose_a : problem_.transpose_b;
  for (std::uint64_t p = 0; p < problem_.k && !is_outer; ++p) {
    std::memmove(longer.data() + p * count * size, longer.data() + p * period * size, count * size);
  }
  longer.resize(count * problem_.k * size);
  return data;
}

void LargeProduct::judge_periods(const Buffer& c, const StreamRef& stream, double budget_s,
                                 const CancelToken* cancel, Judgement& judgement) const {
  for (const std::uint64_t chosen : sampled_periods()) {
    if (cancel != nullptr) cancel->throw_if_cancelled("run kernels");
    const std::uint64_t start = chosen * period;
    const std::uint64_t count = std::min(period, length() - start);
    const Judgement found =
        judge_problem(part_of(count), data_of(count), read(c, start, count, stream), budget_s);
    judgement.checked += found.checked;
    judgement.max_error = std::max(judgement.max_error, found.max_error);
    if (!found.wrong) continue;
    judgement.wrong = found.wrong;
    auto& index = judgement.wrong->first_index;
    if (index) index = place_in_all(*index, start, is_of_rows_ ? problem_.n : count);
    judgement.where = std::string(is_of_rows_ ? "rows " : "columns ") + std::to_string(start) +
                      " to " + std::to_string(start + count - 1) + ": " + found.where;
    judgement.counts_all = false;
    return;
  }
}

}  // namespace hiptool::measure
