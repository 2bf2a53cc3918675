// SPDX-License-Identifier: MIT
/// Matrix products and convolutions as batches of products of matrices, for the judge.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "measure/library/problem.hpp"
#include "measure/library/product_judge.hpp"

namespace hiptool::measure {

/// A number of that type, exactly.
double number_at(DType dtype, const std::byte* bytes, std::uint64_t index);
std::uint64_t bits_at(DType dtype, const std::byte* bytes, std::uint64_t index);

/// A batch of products of matrices: C is [batch, m, n], packed.
struct ProductSizes {
  std::uint64_t m;
  std::uint64_t n;
  std::uint64_t k;
  std::uint64_t batch;
};

/// Where the elements under the filter are, for each pixel of a result (a column) and each place in
/// the filter (a term).
class FilterPlaces {
 public:
  static constexpr std::uint64_t outside = ~std::uint64_t{0};  ///< the padding, where zeros are

  explicit FilterPlaces(const ConvProblem& problem);

  std::uint64_t at(std::uint64_t pixel, std::uint64_t term) const {
    const Place& from = pixels_[pixel];
    const Place& step = terms_[term];
    const std::int64_t row = from.row + step.row;
    const std::int64_t column = from.column + step.column;
    if (row < 0 || column < 0 || row >= height_ || column >= width_) return outside;
    return static_cast<std::uint64_t>((step.channel * height_ + row) * width_ + column);
  }

 private:
  struct Place {
    std::int64_t channel;
    std::int64_t row;
    std::int64_t column;
  };

  std::int64_t height_;
  std::int64_t width_;
  std::vector<Place> terms_;
  std::vector<Place> pixels_;
};

/// The elements of one product.
struct Operand {
  DType dtype;
  const std::byte* bytes;
  std::uint64_t start;                   ///< of the matrix
  std::uint64_t outer;                   ///< distance of rows of A, or columns of B
  std::uint64_t inner;                   ///< distance of terms
  const FilterPlaces* places = nullptr;  ///< instead of distances

  double at(std::uint64_t own, std::uint64_t term) const {
    if (places == nullptr) return number_at(dtype, bytes, start + own * outer + term * inner);
    const std::uint64_t index = places->at(own, term);
    return index == FilterPlaces::outside ? 0 : number_at(dtype, bytes, start + index);
  }
};

/// Of a matrix product or a convolution; both must outlive the view.
class ProductView {
 public:
  ProductView(const Problem& problem, const ProblemData& data);

  const ProductSizes& sizes() const { return sizes_; }
  Operand left(std::uint64_t batch) const;
  Operand right(std::uint64_t batch) const;

 private:
  const Problem& problem_;
  const ProblemData& data_;
  ProductSizes sizes_;
  std::optional<FilterPlaces> places_;
};

}  // namespace hiptool::measure
