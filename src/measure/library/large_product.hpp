// SPDX-License-Identifier: MIT
/// Products whose matrices are too large to be made, kept and read back on the host as a whole.
#pragma once
#include <cstdint>
#include <string>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/stream.hpp"
#include "measure/library/product_judge.hpp"

namespace hiptool::measure {

/// Data of all three matrices from which on a product is one of these.
inline constexpr std::uint64_t large_data_bytes = std::uint64_t{1} << 30;

/// Whether it has so much data, and many more rows (m) or columns (n) than terms of a sum (k).
bool is_large_product(const Problem& problem, std::uint64_t least_bytes = large_data_bytes);

/// "needs 9.10 GiB of the device's memory; 7.50 GiB are free"; empty if it fits.
std::string missing_memory(const Problem& problem, std::uint64_t free_bytes);

/// The rows of A, or the columns of B, whichever are more, repeat after `period` of them, and so do
/// the columns of C. The period is a prime: an index that loses its upper bits, or that is off by a
/// power of two, leads to other numbers. The host keeps one period; of C it reads parts.
class LargeProduct {
 public:
  static constexpr std::uint64_t period = 4093;

  /// Makes one period of the data. The problem is one of is_large_product().
  LargeProduct(const MatmulProblem& problem, DataKind kind, std::uint64_t seed);

  const ProblemData& data() const { return data_; }

  /// Fills both operands. Blocks.
  void write(Buffer a, Buffer b, const StreamRef& stream) const;
  /// Whether the start and the end of both operands are as they were written. Blocks.
  bool is_intact(const Buffer& a, const Buffer& b, const StreamRef& stream) const;

  /// Judges the first period as judge_problem() does. Of whole numbers, whose sums are exact, every
  /// other element is compared with the one that it repeats; of random ones the last period and up
  /// to ten others are judged, those where an index needs 31 bits, 32 bits or 33 bits among them.
  /// Blocks. Throws Error(cancelled).
  Judgement judge(const Buffer& c, const StreamRef& stream, double budget_s,
                  const CancelToken* cancel = nullptr) const;
  /// Whether a second read of the first wrong element gives the same. Blocks.
  bool is_still_wrong(const Buffer& c, const report::WrongData& wrong,
                      const StreamRef& stream) const;

 private:
  std::uint64_t length() const { return is_of_rows_ ? problem_.m : problem_.n; }
  std::uint64_t width() const { return is_of_rows_ ? problem_.n : problem_.m; }
  /// The same product of that many rows or columns.
  MatmulProblem part_of(std::uint64_t count) const;
  /// That many rows or columns of C from one on, row-major and packed.
  std::vector<std::byte> read(const Buffer& c, std::uint64_t first, std::uint64_t count,
                              const StreamRef& stream) const;
  ProblemData data_of(std::uint64_t count) const;
  std::vector<std::uint64_t> sampled_periods() const;
  void compare_whole(const Buffer& c, const std::vector<std::byte>& first, const StreamRef& stream,
                     const CancelToken* cancel, Judgement& judgement) const;
  void judge_periods(const Buffer& c, const StreamRef& stream, double budget_s,
                     const CancelToken* cancel, Judgement& judgement) const;
  /// The place in C of an element of a part that begins there.
  std::uint64_t place_in_all(std::uint64_t index, std::uint64_t first, std::uint64_t count) const;

  MatmulProblem problem_;
  bool is_of_rows_;
  ProblemData data_;  ///< of part_of(period)
};

}  // namespace hiptool::measure
