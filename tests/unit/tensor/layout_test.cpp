// SPDX-License-Identifier: MIT
#include "hiptool/layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

std::uint64_t product(const Numbers& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::uint64_t{1}, std::multiplies<>());
}

// A layout as nothing but a list of offsets in row-major order.
struct Brute {
  Numbers dims;
  Numbers offsets;

  static Brute contiguous(const Numbers& dims, std::uint64_t start) {
    Brute brute{dims, Numbers(product(dims))};
    std::iota(brute.offsets.begin(), brute.offsets.end(), start);
    return brute;
  }

  // The place in row-major order of an index.
  std::uint64_t place(const Numbers& index) const {
    std::uint64_t place = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) place = place * dims[axis] + index[axis];
    return place;
  }

  // Every index of these dimensions in order.
  static std::vector<Numbers> indices(const Numbers& dims) {
    std::vector<Numbers> all;
    if (product(dims) == 0) return all;
    Numbers index(dims.size());
    for (;;) {
      all.push_back(index);
      std::size_t axis = dims.size();
      while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
      if (axis == 0) return all;
    }
  }

  // New dimensions whose elements are old ones: `to_old` says which.
  Brute mapped(const Numbers& new_dims, const std::function<Numbers(Numbers)>& to_old) const {
    Brute result{new_dims, {}};
    for (const Numbers& index : indices(new_dims)) {
      result.offsets.push_back(offsets[place(to_old(index))]);
    }
    return result;
  }

  // True when one stride for each dimension can say where the elements are.
  bool has_strides() const {
    if (offsets.empty()) return true;
    Numbers strides;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      Numbers one(dims.size());
      one[axis] = dims[axis] > 1 ? 1 : 0;
      strides.push_back(offsets[place(one)] - offsets[0]);
    }
    const std::vector<Numbers> all = indices(dims);
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::uint64_t offset = offsets[0];
      for (std::size_t axis = 0; axis < dims.size(); ++axis) offset += all[i][axis] * strides[axis];
      if (offset != offsets[i]) return false;
    }
    return true;
  }
};

void check_same(const Layout& layout, const Brute& brute) {
  REQUIRE(std::ranges::equal(layout.dims(), brute.dims));
  REQUIRE(layout.element_count() == brute.offsets.size());
  bool is_contiguous = true;
  std::uint64_t extent = 0;
  const std::vector<Numbers> indices = Brute::indices(brute.dims);
  for (std::size_t i = 0; i < brute.offsets.size(); ++i) {
    REQUIRE(layout.offset_at(i) == brute.offsets[i]);
    REQUIRE(layout.offset_of(indices[i]) == brute.offsets[i]);
    is_contiguous = is_contiguous && brute.offsets[i] == brute.offsets[0] + i;
    extent = std::max(extent, brute.offsets[i] + 1);
  }
  REQUIRE(layout.is_contiguous() == is_contiguous);
  REQUIRE(layout.extent() == extent);
  REQUIRE(code_of([&] { static_cast<void>(layout.offset_at(brute.offsets.size())); }) ==
          ErrorCode::out_of_bounds);
}

// Dimensions with that product: its prime factors thrown onto some axes.
Numbers random_factors(std::uint64_t count, std::mt19937& random) {
  Numbers dims(1 + random() % 5, 1);
  for (std::uint64_t factor = 2; count > 1;) {
    if (count % factor == 0) {
      dims[random() % dims.size()] *= factor;
      count /= factor;
    } else {
      ++factor;
    }
  }
  return dims;
}

}  // namespace

TEST_CASE("random chains of operations are what lists of offsets say") {
  std::mt19937 random(6);
  int reshaped = 0;
  int refused = 0;
  for (int round = 0; round < 3'000; ++round) {
    Numbers dims(random() % 5);
    for (std::uint64_t& dim : dims) dim = random() % 10 == 0 ? random() % 2 : 1 + random() % 4;
    const std::uint64_t start = random() % 3 == 0 ? random() % 100 : 0;
    Layout layout(dims, start);
    Brute brute = Brute::contiguous(dims, start);
    check_same(layout, brute);
    for (int step = 0; step < 4; ++step) {
      const std::size_t rank = layout.rank();
      const std::size_t axis = rank == 0 ? 0 : random() % rank;
      const int kind = static_cast<int>(random() % 4);
      Numbers changed = brute.dims;
      if (kind == 0 && rank > 0) {
        const std::size_t other = random() % rank;
        std::swap(changed[axis], changed[other]);
        brute = brute.mapped(changed, [&](Numbers index) {
          std::swap(index[axis], index[other]);
          return index;
        });
        layout = layout.transpose(axis, other);
      } else if (kind == 1 && rank > 0) {
        const std::uint64_t from = random() % (changed[axis] + 1);
        const std::uint64_t length = random() % (changed[axis] - from + 1);
        changed[axis] = length;
        brute = brute.mapped(changed, [&](Numbers index) {
          index[axis] += from;
          return index;
        });
        layout = layout.narrow(axis, from, length);
      } else if (kind == 2 && rank < 5) {
        Numbers wide = changed;
        for (std::uint64_t& dim : wide) {
          if (dim == 1 && random() % 2 == 0) dim = random() % 4;
        }
        wide.insert(wide.begin(), random() % 3);
        brute = brute.mapped(wide, [&](Numbers index) {
          index.erase(index.begin());
          for (std::size_t i = 0; i < index.size(); ++i) index[i] %= changed[i];
          return index;
        });
        layout = layout.broadcast_to(wide);
      } else if (kind == 3 && layout.element_count() > 0) {
        const Brute flat{random_factors(layout.element_count(), random), brute.offsets};
        const auto result = layout.reshape(flat.dims);
        REQUIRE(result.has_value() == flat.has_strides());
        ++(result ? reshaped : refused);
        if (result) {
          layout = *result;
          brute = flat;
        }
      }
      check_same(layout, brute);
    }
  }
  CHECK(reshaped > 200);
  CHECK(refused > 50);
}

TEST_CASE("rank 0 is one element") {
  const Layout layout;
  CHECK(layout.rank() == 0);
  CHECK(layout.element_count() == 1);
  CHECK(layout.extent() == 1);
  CHECK(layout.is_contiguous());
  CHECK(layout.offset_of(Numbers{}) == 0);
  CHECK(layout == Layout(Numbers{}));
  CHECK(Layout(Numbers{}, 7).extent() == 8);
  CHECK(layout.reshape({1, 1}).value().element_count() == 1);
  CHECK(layout.broadcast_to({2, 3}).element_count() == 6);
}

TEST_CASE("strides of dimensions of size 1 do not matter, others do") {
  CHECK(Layout::strided(Numbers{1, 4, 1}, Numbers{77, 1, 5}).is_contiguous());
  CHECK_FALSE(Layout::strided(Numbers{2, 4}, Numbers{5, 1}).is_contiguous());
  CHECK_FALSE(Layout::strided(Numbers{2, 2}, Numbers{1, 2}).is_contiguous());
  CHECK_FALSE(Layout::strided(Numbers{3}, Numbers{0}).is_contiguous());
  CHECK(Layout::strided(Numbers{0, 4}, Numbers{9, 9}).is_contiguous());
  CHECK(Layout({2, 3}, 100).is_contiguous());
  const Layout two({2, 3});
  CHECK(std::ranges::equal(two.strides(), Numbers{3, 1}));
  CHECK_FALSE(two == Layout({2, 3}, 1));
  CHECK_FALSE(two == Layout({3, 2}));
  CHECK_FALSE(two == Layout::strided(Numbers{2, 3}, Numbers{1, 2}));
}

TEST_CASE("counts and offsets that do not fit 64 bits are refused, the last that fit are not") {
  const auto make = [](Numbers dims, std::uint64_t start = 0) {
    return code_of([&] { Layout layout(dims, start); });
  };
  constexpr std::uint64_t half = std::uint64_t{1} << 32;
  CHECK(make({half, half}) == ErrorCode::invalid_argument);
  CHECK(make({half - 1, half}) == std::nullopt);  // nothing thrown
  CHECK(make({huge}) == std::nullopt);
  CHECK(make({huge}, 1) == ErrorCode::invalid_argument);
  CHECK(make({0, half, half}) == ErrorCode::invalid_argument);
  CHECK(make({half, half, 0}) == ErrorCode::invalid_argument);
  CHECK(std::ranges::equal(Layout({2, 0, 3}).strides(), Numbers{3, 3, 1}));
  CHECK(make({}, huge) == ErrorCode::invalid_argument);
  CHECK(make({}, huge - 1) == std::nullopt);
  const auto stride = [](Numbers dims, Numbers strides) {
    return code_of([&] { static_cast<void>(Layout::strided(dims, strides)); });
  };
  CHECK(stride({3}, {huge / 2}) == std::nullopt);
  CHECK(stride({3}, {huge / 2 + 1}) == ErrorCode::invalid_argument);
  CHECK(stride({2, 2}, {huge / 2, huge / 2}) == std::nullopt);
  CHECK(stride({2, 2}, {huge / 2 + 1, huge / 2 + 1}) == ErrorCode::invalid_argument);
  CHECK(stride({half, half}, {0, 0}) == ErrorCode::invalid_argument);
  CHECK(stride({0}, {huge}) == std::nullopt);
  CHECK(code_of([&] {
          static_cast<void>(Layout({1}).broadcast_to({half, half}));
        }) == ErrorCode::invalid_argument);
  // past the end is an offset that does not fit, but nothing is there
  CHECK(Layout::strided(Numbers{2}, Numbers{huge - 1}).narrow(0, 2, 0).extent() == 0);
  // 2 * 2^63 is 0 in 64 bits, which is not the stride of an even run
  const Layout wide = Layout::strided(Numbers{2, 2}, Numbers{0, std::uint64_t{1} << 63});
  CHECK_FALSE(wide.reshape({4}).has_value());
}

TEST_CASE("what does not fit a layout is refused") {
  const Layout layout({2, 3});
  CHECK(code_of([&] { static_cast<void>(layout.offset_of({0})); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(layout.offset_of({0, 3})); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.offset_of({2, 0})); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.broadcast_to({3})); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(layout.broadcast_to({3, 3}));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(layout.broadcast_to({2, 3, 1}));
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(layout.transpose(0, 2)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.transpose(2, 0)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.narrow(2, 0, 0)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.narrow(1, 4, 0)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.narrow(1, 1, 3)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.narrow(1, huge, 2)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.narrow(1, 2, huge)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(layout.reshape({5})); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(layout.reshape(Numbers{})); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] { Layout(Numbers(9, 1)); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] {
          static_cast<void>(layout.reshape(Numbers{6, 1, 1, 1, 1, 1, 1, 1, 1}));
        }) == ErrorCode::invalid_argument);
  CHECK(Layout(Numbers(8, 1)).rank() == Layout::max_rank);
  CHECK(code_of([&] {
          static_cast<void>(Layout::strided(Numbers{2}, Numbers{1, 1}));
        }) == ErrorCode::invalid_argument);
}
