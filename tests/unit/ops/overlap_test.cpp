// SPDX-License-Identifier: MIT
// Outputs whose elements share memory with each other or with inputs, against all pairs of places.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hiptool/ops.hpp"
#include "ops/operands.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

using Sizes = std::vector<std::uint64_t>;

std::set<std::uint64_t> places_of(const Layout& layout) {
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < layout.element_count(); ++i) places.insert(layout.offset_at(i));
  return places;
}

bool share_elements(const Layout& a, const Layout& b) {
  const auto of_a = places_of(a);
  const auto of_b = places_of(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](auto place) { return of_b.contains(place); });
}

/// Why the output is refused; empty: it is taken.
std::string refusal_of(const Tensor& input, const Tensor& out) {
  try {
    const Tensor* const inputs[] = {&input};
    ops::require_output("copy", inputs, out, out.dtype(), out.dims());
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

struct Memory {
  Platforms platforms;
  Backend backend{test::device(platforms)};
  Tensor whole = backend.zeros(DType::f32, {1024});

  Tensor view(const Layout& layout) const { return whole.with_layout(layout); }
};

}  // namespace

TEST_CASE_FIXTURE(Memory, "an output of which two elements share memory is refused") {
  const Sizes dims{3, 3};
  const auto refused = [&](const Sizes& strides) {
    const Tensor out = view(Layout::strided(dims, strides));
    const std::string why = refusal_of(view(Layout({3, 3}, 512)), out);
    if (why.empty()) return false;
    CHECK(why == "copy: elements of the output f32[3,3] share memory (strides " +
                     ops::list_of(strides) + ")");
    return true;
  };
  CHECK(refused({1, 1}));
  CHECK(refused({2, 1}));
  CHECK(refused({0, 1}));
  CHECK(refused({1, 2}));
  CHECK_FALSE(refused({3, 1}));
  CHECK_FALSE(refused({1, 3}));
  CHECK_FALSE(refused({6, 2}));
  const Tensor a = view(Layout({3, 3}, 512));
  CHECK_THROWS_AS(
      ops::add_into(backend, test::for_call(view(Layout::strided(dims, Sizes{1, 1}))), a, a),
      Error);
}

TEST_CASE_FIXTURE(Memory, "parts of one matrix that share no element are input and output") {
  const Layout matrix({6, 8});
  const auto columns = [&](std::uint64_t first, std::uint64_t count) {
    return view(matrix.narrow(1, first, count));
  };
  ops::fill_into(backend, test::for_call(view(matrix)), 3);
  ops::affine_into(backend, test::for_call(columns(4, 4)), columns(0, 4), 2, 1);
  backend.synchronize();
  const auto found = view(matrix).to_host<float>();
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == (i % 8 < 4 ? 3 : 7));
  CHECK_THROWS_WITH_AS(
      ops::affine_into(backend, test::for_call(columns(3, 4)), columns(0, 4), 2, 1),
      "affine: the output f32[6,4] overlaps the input f32[6,4]", Error);
  CHECK(refusal_of(columns(0, 3), columns(3, 5)).empty());
  CHECK_FALSE(refusal_of(columns(0, 4), columns(3, 5)).empty());
  CHECK(refusal_of(view(matrix.narrow(0, 0, 3).transpose(0, 1)), view(matrix.narrow(0, 3, 3))) ==
        "");
}

TEST_CASE_FIXTURE(Memory, "no output is taken that shares an element, and few others are refused") {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  int taken_beside = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::size_t rank = 1 + below(3);
    Sizes dims(rank), other_dims(rank), strides(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      dims[axis] = 1 + below(4);
      other_dims[axis] = 1 + below(4);
      strides[axis] = below(3) == 0 ? below(13) : std::uint64_t{1} << (2 * below(3));
    }
    const Layout out = Layout::strided(dims, strides, below(24));
    const Layout in = Layout::strided(other_dims, strides, below(24));
    const bool is_unique = places_of(out).size() == out.element_count();
    const bool is_apart = !share_elements(in, out);
    const bool is_same = in == out;
    const bool is_taken = refusal_of(view(in), view(out)).empty();
    CAPTURE(ops::list_of(dims));
    CAPTURE(ops::list_of(other_dims));
    CAPTURE(ops::list_of(strides));
    CAPTURE(in.start_offset());
    CAPTURE(out.start_offset());
    if (is_taken) CHECK((is_unique && (is_apart || is_same)));
    const bool ranges_meet = in.start_offset() < out.extent() && out.start_offset() < in.extent();
    if (is_taken && ranges_meet && !is_same) ++taken_beside;
    // Strides in powers of 4 with dimensions up to 4 are nested, unless they repeat.
    const bool is_nested = std::all_of(strides.begin(), strides.end(), [&](std::uint64_t stride) {
      return (stride == 1 || stride == 4 || stride == 16) &&
             std::count(strides.begin(), strides.end(), stride) == 1;
    });
    if (is_nested) CHECK(is_taken == (is_apart || is_same));
  }
  CHECK(taken_beside > 100);
}
