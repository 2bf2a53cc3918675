// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "hiptool/backend.hpp"
#include "hiptool/export.hpp"
#include "hiptool/tensor.hpp"

/// Movement, indexing and random numbers. Conventions and errors as in hiptool/ops.hpp: work is
/// queued on the Backend's stream; Error(invalid_argument) for dtypes, shapes, axes or devices that
/// do not fit comes before anything is queued. Movement keeps all bits, also of NaN, and
/// has all dtypes. Functions whose results are not contiguous take any layout.
namespace hiptool::ops {

/// A new contiguous tensor with the same elements.
[[nodiscard]] HIPTOOL_API Tensor copy(const Backend& backend, const Tensor& x);
/// `out` has the dtype and the dimensions of `x`.
HIPTOOL_API void copy_into(const Backend& backend, Tensor& out, const Tensor& x);

/// The tensor itself where it is contiguous, otherwise a copy.
[[nodiscard]] HIPTOOL_API Tensor contiguous(const Backend& backend, const Tensor& x);

/// Rows of the same length inside two contiguous tensors; all numbers are in elements, offsets from
/// a tensor's first element.
struct Rows {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t destination_stride = 0;  ///< from the start of a row to the start of the next
  std::uint64_t source_stride = 0;
  std::uint64_t destination_offset = 0;
  std::uint64_t source_offset = 0;
};

/// Copies rows between tensors of one dtype. Without rows or columns it does nothing, whatever the
/// other numbers are. Throws Error(invalid_argument) where a tensor is not contiguous, a stride is
/// below the number of columns (with more than one row), or source and destination overlap;
/// Error(out_of_bounds) where the last element is beyond the end of its tensor.
HIPTOOL_API void copy_2d(const Backend& backend, Tensor& destination, const Tensor& source,
                         const Rows& rows);

/// Writes the elements of the source, of any layout and the same dtype, in row-major order to a
/// contiguous destination, from that element on: as many as it has room for, the others are left
/// out. Returns how many were written. Throws Error(invalid_argument) for a destination that is not
/// contiguous or overlaps the source, Error(out_of_bounds) for an offset beyond its end.
HIPTOOL_API std::uint64_t copy_strided(const Backend& backend, Tensor& destination,
                                       std::uint64_t destination_offset, const Tensor& source);

/// Tensors of one dtype, one after the other along an axis; the other dimensions are equal. There
/// must be at least one tensor, of rank 1 or more. `out` must not overlap any of them.
[[nodiscard]] HIPTOOL_API Tensor concat(const Backend& backend, std::span<const Tensor> tensors,
                                        std::size_t axis);
[[nodiscard]] HIPTOOL_API Tensor concat(const Backend& backend,
                                        std::initializer_list<Tensor> tensors, std::size_t axis);
HIPTOOL_API void concat_into(const Backend& backend, Tensor& out, std::span<const Tensor> tensors,
                             std::size_t axis);
HIPTOOL_API void concat_into(const Backend& backend, Tensor& out,
                             std::initializer_list<Tensor> tensors, std::size_t axis);

// ---- Indexing. Ids are u8, u32 or i64 (otherwise Error(unsupported)), of any layout. An id that
// is the largest number of its type chooses nothing: the result is 0 where elements are read, and
// nothing is written. Any other id that is negative or not below the size of the axis does the same
// and makes the next Backend::synchronize() throw Error(out_of_bounds), which names the operation,
// the position of the id and its value, of the first such operation and, in it, of the first
// id in row-major order. Outputs must not overlap ids or other inputs, except as stated.

/// The slices of `x` along an axis that the 1-D ids choose: out[i, k, j] = x[i, ids[k], j].
[[nodiscard]] HIPTOOL_API Tensor index_select(const Backend& backend, const Tensor& x,
                                              const Tensor& ids, std::size_t axis);
HIPTOOL_API void index_select_into(const Backend& backend, Tensor& out, const Tensor& x,
                                   const Tensor& ids, std::size_t axis);

/// For each id one element: out[i, k, j] = x[i, ids[i, k, j], j]. Ids have the rank of `x`, and no
/// dimension is larger than in `x`, except along the axis. The result has their dimensions.
[[nodiscard]] HIPTOOL_API Tensor gather(const Backend& backend, const Tensor& x, const Tensor& ids,
                                        std::size_t axis);
HIPTOOL_API void gather_into(const Backend& backend, Tensor& out, const Tensor& x,
                             const Tensor& ids, std::size_t axis);

/// `x` with out[i, ids[i, k, j], j] = source[i, k, j]; of several ids for one place the last along
/// the axis wins. Ids and source have the same dimensions, the rank of `x`, and no dimension larger
/// than in `x`, except along the axis. `out` may be `x`: then only chosen elements are
/// written.
[[nodiscard]] HIPTOOL_API Tensor scatter(const Backend& backend, const Tensor& x, const Tensor& ids,
                                         const Tensor& source, std::size_t axis);
HIPTOOL_API void scatter_into(const Backend& backend, Tensor& out, const Tensor& x,
                              const Tensor& ids, const Tensor& source, std::size_t axis);

/// The same with out[i, ids[i, k, j], j] += source[i, k, j], in the order of the axis, so that
/// results do not depend on the device. Integers wrap. Sums of f16, bf16 and f8e4m3 are f32 until
/// the last one, and rounded once; they need scratch memory of 4 bytes for each element of `x`.
[[nodiscard]] HIPTOOL_API Tensor scatter_add(const Backend& backend, const Tensor& x,
                                             const Tensor& ids, const Tensor& source,
                                             std::size_t axis);
HIPTOOL_API void scatter_add_into(const Backend& backend, Tensor& out, const Tensor& x,
                                  const Tensor& ids, const Tensor& source, std::size_t axis);

/// The same by 1-D ids for whole slices: out[i, ids[k], j] += source[i, k, j]. The source has the
/// dimensions of `x`, but along the axis as many as there are ids.
[[nodiscard]] HIPTOOL_API Tensor index_add(const Backend& backend, const Tensor& x,
                                           const Tensor& ids, const Tensor& source,
                                           std::size_t axis);
HIPTOOL_API void index_add_into(const Backend& backend, Tensor& out, const Tensor& x,
                                const Tensor& ids, const Tensor& source, std::size_t axis);

// ---- Random numbers of floating-point dtypes (otherwise Error(unsupported)). An element depends
// on the seed and on its index in row-major order alone: not on the device, the layout or the
// number of elements. They come from Philox4x32-10 with the seed as key and index / 4 (f64: index /
// 2) as counter: element i takes word i modulo 4, without its lowest 8 bits; of f64 it takes
// the words 2 (i modulo 2), as the upper half, and the next, as the lower half of 64 bits without
// the lowest 11.

/// Numbers of [low, high), both rounded to f32 and the dtype first; where they are equal all
/// elements are that number. They are low + u (high - low), computed in f32 (f64 for f64) and
/// rounded to the dtype, with the random bits as u in [0, 1), of which only the upper 11, 8 and 4
/// serve for f16, bf16 and f8e4m3; what rounds to `high` is `low`. Throws Error(invalid_argument)
/// unless low <= high and both and their difference are finite in those types.
[[nodiscard]] HIPTOOL_API Tensor rand_uniform(const Backend& backend, DType dtype,
                                              std::span<const std::uint64_t> dims,
                                              std::uint64_t seed, double low, double high);
[[nodiscard]] HIPTOOL_API Tensor rand_uniform(const Backend& backend, DType dtype,
                                              std::initializer_list<std::uint64_t> dims,
                                              std::uint64_t seed, double low, double high);
HIPTOOL_API void rand_uniform_into(const Backend& backend, Tensor& out, std::uint64_t seed,
                                   double low, double high);

/// Normally distributed numbers, by the method of Box and Muller from two neighbouring elements'
/// bits, the even one's as the radius and the odd one's as the angle, whose cosine makes the even
/// and sine the odd element; the largest deviation is 5.8 standard deviations (f64: 8.6). Computed
/// in f32 (f64 for f64) and rounded to the dtype. Throws Error(invalid_argument) unless both
/// numbers are finite in f32 (f64) and the deviation is not negative.
[[nodiscard]] HIPTOOL_API Tensor rand_normal(const Backend& backend, DType dtype,
                                             std::span<const std::uint64_t> dims,
                                             std::uint64_t seed, double mean, double deviation);
[[nodiscard]] HIPTOOL_API Tensor rand_normal(const Backend& backend, DType dtype,
                                             std::initializer_list<std::uint64_t> dims,
                                             std::uint64_t seed, double mean, double deviation);
HIPTOOL_API void rand_normal_into(const Backend& backend, Tensor& out, std::uint64_t seed,
                                  double mean, double deviation);

}  // namespace hiptool::ops
