// SPDX-License-Identifier: MIT
/// Each family of kernels on tensors of more than 2^32 elements where HIPTOOL_LARGE_TENSORS is set
/// (for a GPU with 60 GiB; some minutes), else on small ones. Every element is compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "for_call.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/random.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Numbers = std::vector<std::uint64_t>;

bool is_large() { return std::getenv("HIPTOOL_LARGE_TENSORS") != nullptr; }

/// A tensor x[m, n] = of_row[m] + of_column[n] modulo 256, of 2^32 + 5 * 65537 - 1 bytes. The width
/// is a prime: an index that lost its upper half would meet another column.
struct LargeTensors {
  const std::uint64_t rows = is_large() ? 65'540 : 67;
  const std::uint64_t columns = is_large() ? 65'537 : 257;
  Platforms platforms;
  Backend backend{test::device(platforms)};
  Bytes of_row, of_column;
  Tensor x = make();

  Tensor make() {
    for (std::uint64_t m = 0; m < rows; ++m) of_row.push_back((m * 89 + (m >> 8)) & 255);
    for (std::uint64_t n = 0; n < columns; ++n) of_column.push_back((n * 131 + (n >> 8)) & 255);
    Tensor made = empty(DType::u8);
    ops::add_into(backend, made, row_numbers(), column_numbers());
    return made;
  }

  Tensor empty(DType dtype) const { return backend.empty(dtype, {rows, columns}); }
  Tensor row_numbers() const {
    const Tensor t = Tensor::from_host(backend.device(), of_row, {rows, 1});
    return t.with_layout(t.layout().broadcast_to({rows, columns}));
  }
  Tensor column_numbers() const {
    const Tensor t = Tensor::from_host(backend.device(), of_column, {1, columns});
    return t.with_layout(t.layout().broadcast_to({rows, columns}));
  }

  /// All 256 rows that x has.
  Tensor every_row() const {
    Bytes values;
    for (int key = 0; key < 256; ++key) {
      for (const std::uint8_t number : of_column)
        values.push_back(static_cast<std::uint8_t>(key + number));
    }
    return Tensor::from_host(backend.device(), values, {256, columns});
  }
};

/// Rows of a tensor against rows that depend on a key alone.
void expect_rows(const Backend& backend, const Tensor& got, const Bytes& keys,
                 const std::function<std::vector<std::byte>(std::uint8_t key)>& row_of) {
  backend.synchronize();
  std::map<std::uint8_t, std::vector<std::byte>> wanted;
  const std::uint64_t rows = got.dims()[0];
  REQUIRE(rows == keys.size());
  const std::uint64_t at_once = std::max<std::uint64_t>(1, (64u << 20) * rows / got.size_bytes());
  std::vector<std::byte> read;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t row_bytes = got.size_bytes() / rows;
    if (row % at_once == 0) {
      const std::uint64_t count = std::min(at_once, rows - row);
      read.resize(count * row_bytes);
      got.with_layout(got.layout().narrow(0, row, count)).copy_to_host(read);
    }
    auto& want = wanted[keys[row]];
    if (want.empty()) want = row_of(keys[row]);
    REQUIRE(want.size() == row_bytes);
    const std::byte* have = read.data() + row % at_once * row_bytes;
    if (std::memcmp(have, want.data(), row_bytes) == 0) continue;
    const auto found = std::mismatch(want.begin(), want.end(), have).first;
    const auto place = static_cast<std::size_t>(found - want.begin());
    FAIL("row " << row << ", byte " << place << " is " << static_cast<int>(have[place])
                << " instead of " << static_cast<int>(want[place]));
  }
}

/// The same, bytes whose values depend on a key and on a number for each place in the row.
void expect(const Backend& backend, const Tensor& got, const Bytes& keys, const Bytes& numbers,
            const std::function<unsigned(unsigned key, unsigned number)>& value) {
  expect_rows(backend, got, keys, [&](std::uint8_t key) {
    std::vector<std::byte> row;
    for (const std::uint8_t number : numbers) row.push_back(std::byte(value(key, number) & 255));
    return row;
  });
}

/// The same, rows that the operation gives for small tensors, whose results other tests judge.
void expect_as_small(const Backend& backend, const Tensor& got, const Bytes& keys,
                     const Tensor& every_row) {
  backend.synchronize();
  std::vector<std::byte> rows(every_row.size_bytes());
  every_row.copy_to_host(rows);
  const auto row_bytes = static_cast<std::ptrdiff_t>(rows.size() / 256);
  expect_rows(backend, got, keys, [&](std::uint8_t key) {
    const auto begin = rows.begin() + key * row_bytes;
    return std::vector<std::byte>(begin, begin + row_bytes);
  });
}

Tensor as_f8(const Tensor& x) { return Tensor(x.buffer(), DType::f8e4m3, x.layout()); }

unsigned sum(unsigned key, unsigned number) { return key + number; }

}  // namespace

TEST_SUITE_BEGIN("large tensors");

TEST_CASE_FIXTURE(LargeTensors, "binary operations and comparisons") {
  expect(backend, x, of_row, of_column, sum);
  Tensor out = empty(DType::u8);
  ops::mul_into(backend, out, x, x);
  expect(backend, out, of_row, of_column,
         [](unsigned key, unsigned number) { return (key + number) * (key + number); });
  ops::lt_into(backend, out, x, column_numbers());
  expect(backend, out, of_row, of_column,
         [](unsigned key, unsigned number) { return unsigned{((key + number) & 255) < number}; });
  Tensor flipped = backend.empty(DType::u8, {columns, rows});
  const Tensor turned = x.with_layout(x.layout().transpose(0, 1));
  ops::add_into(backend, flipped, turned, turned);
  expect(backend, flipped, of_column, of_row,
         [](unsigned key, unsigned number) { return 2 * (key + number); });
}

TEST_CASE_FIXTURE(LargeTensors, "unary operations, affine, where, cast, fill, row_bias") {
  Tensor out = empty(DType::u8);
  const Tensor small = every_row();
  ops::neg_into(backend, test::for_call(as_f8(out)), as_f8(x));
  expect_as_small(backend, out, of_row, ops::neg(backend, as_f8(small)));
  ops::exp_into(backend, test::for_call(as_f8(out)), as_f8(x));
  expect_as_small(backend, out, of_row, ops::exp(backend, as_f8(small)));
  ops::elu_into(backend, test::for_call(as_f8(out)), as_f8(x), 0.5);
  expect_as_small(backend, out, of_row, ops::elu(backend, as_f8(small), 0.5));
  ops::affine_into(backend, out, x, 3, 7);
  expect(backend, out, of_row, of_column,
         [](unsigned key, unsigned number) { return 3 * (key + number) + 7; });
  ops::where_cond_into(backend, out, x, column_numbers(), x);
  expect(backend, out, of_row, of_column,
         [](unsigned key, unsigned number) { return ((key + number) & 255) != 0 ? number : 0; });
  ops::cast_into(backend, test::for_call(as_f8(out)), x);
  expect_as_small(backend, out, of_row, ops::cast(backend, small, DType::f8e4m3));
  ops::row_bias_into(backend, out, x, Tensor::from_host(backend.device(), of_column, {columns}));
  expect(backend, out, of_row, of_column,
         [](unsigned key, unsigned number) { return key + 2 * number; });
  ops::fill_into(backend, out, 77);
  expect(backend, out, of_row, of_column, [](unsigned, unsigned) { return 77u; });
}

TEST_CASE_FIXTURE(LargeTensors, "copies") {
  Tensor flipped = backend.empty(DType::u8, {columns, rows});
  ops::copy_into(backend, flipped, x.with_layout(x.layout().transpose(0, 1)));
  expect(backend, flipped, of_column, of_row, sum);
  Tensor out = empty(DType::u8);
  ops::copy_into(backend, out, column_numbers());
  expect(backend, out, of_row, of_column, [](unsigned, unsigned number) { return number; });
  ops::fill_into(backend, out, 0);
  ops::Rows all{rows, columns - 1};
  all.source_stride = all.destination_stride = columns;
  all.source_offset = 1;
  ops::copy_2d(backend, out, x, all);
  Bytes shifted(of_column.begin() + 1, of_column.end());
  const Tensor most = out.with_layout(out.layout().narrow(1, 0, columns - 1));
  expect(backend, ops::copy(backend, most), of_row, shifted, sum);
  for (const std::size_t axis : {0u, 1u}) {
    const std::uint64_t half = x.dims()[axis] / 2;
    const auto part = [&](std::uint64_t begin, std::uint64_t end) {
      return x.with_layout(x.layout().narrow(axis, begin, end - begin));
    };
    ops::concat_into(backend, out, {part(0, half), part(half, x.dims()[axis])}, axis);
    expect(backend, out, of_row, of_column, sum);
  }
}

TEST_CASE_FIXTURE(LargeTensors, "indexing") {
  Tensor out = empty(DType::u8);
  Bytes reversed_rows(of_row.rbegin(), of_row.rend());
  std::vector<std::int64_t> reversed(rows);
  for (std::uint64_t m = 0; m < rows; ++m) reversed[m] = static_cast<std::int64_t>(rows - 1 - m);
  const Tensor backwards = Tensor::from_host(backend.device(), reversed, {rows});
  ops::index_select_into(backend, out, x, backwards, 0);
  expect(backend, out, reversed_rows, of_column, sum);

  std::vector<std::uint32_t> order(columns);  // a permutation
  for (std::uint64_t n = 0; n < columns; ++n) {
    order[n] = static_cast<std::uint32_t>((n * 5 + 3) % columns);
  }
  Bytes chosen, placed(columns);
  for (std::uint64_t n = 0; n < columns; ++n) {
    chosen.push_back(of_column[order[n]]);
    placed[order[n]] = of_column[n];
  }
  const Tensor ids = Tensor::from_host(backend.device(), order, {1, columns});
  const Tensor all_ids = ids.with_layout(ids.layout().broadcast_to({rows, columns}));
  ops::gather_into(backend, out, x, all_ids, 1);
  expect(backend, out, of_row, chosen, sum);
  const Tensor none = Tensor::zeros(backend.device(), DType::u8, {1, 1});
  const Tensor zeros = none.with_layout(none.layout().broadcast_to({rows, columns}));
  ops::scatter_into(backend, out, zeros, all_ids, x, 1);
  expect(backend, out, of_row, placed, sum);

  const Tensor flat = Tensor::from_host(backend.device(), order, {columns});
  ops::index_add_into(backend, out, x, flat, zeros, 1);
  expect(backend, out, of_row, of_column, sum);
  ops::index_add_into(backend, out, zeros, flat, x, 1);
  expect(backend, out, of_row, placed, sum);
  Bytes both_rows;
  for (std::uint64_t m = 0; m < rows; ++m) both_rows.push_back(of_row[m] + reversed_rows[m]);
  const Tensor up = Tensor::from_host(backend.device(), reversed, {rows, 1});
  ops::scatter_add_into(backend, out, x, up.with_layout(up.layout().broadcast_to({rows, columns})),
                        x, 0);
  expect(backend, out, both_rows, of_column,
         [](unsigned key, unsigned number) { return key + 2 * number; });
}

TEST_CASE_FIXTURE(LargeTensors, "reductions") {
  const auto at = [&](std::uint64_t m, std::uint64_t n) -> std::uint8_t {
    return of_row[m] + of_column[n];
  };
  Bytes row_sums(rows), column_sums(columns), least(columns, 255);
  std::vector<std::uint32_t> places(columns);
  for (std::uint64_t m = 0; m < rows; ++m) {
    for (std::uint64_t n = 0; n < columns; ++n) {
      const std::uint8_t number = at(m, n);
      row_sums[m] += number;
      column_sums[n] += number;
      if (number < least[n]) {
        least[n] = number;
        places[n] = static_cast<std::uint32_t>(m);
      }
    }
  }
  const auto total =
      std::accumulate(row_sums.begin(), row_sums.end(), std::uint8_t{0},
                      [](std::uint8_t a, std::uint8_t b) -> std::uint8_t { return a + b; });
  const std::array<std::size_t, 1> first{0}, last{1};
  const std::array<std::size_t, 2> both{0, 1};
  using ops::Reduce;
  const auto bytes_of = [&](Reduce operation, std::span<const std::size_t> axes) {
    const Tensor result = ops::reduce(backend, operation, x, axes);
    backend.synchronize();
    return result.to_host<std::uint8_t>();
  };
  CHECK(bytes_of(Reduce::sum, last) == row_sums);
  CHECK(bytes_of(Reduce::sum, first) == column_sums);
  CHECK(bytes_of(Reduce::sum, both) == Bytes{total});
  CHECK(bytes_of(Reduce::min, first) == least);
  CHECK(bytes_of(Reduce::max, both) == Bytes{255});
  const Tensor found = ops::reduce(backend, Reduce::argmin, x, first);
  backend.synchronize();
  CHECK(found.to_host<std::uint32_t>() == places);
}

TEST_CASE_FIXTURE(LargeTensors, "rows and gates of f16") {
  const Tensor small =
      ops::affine(backend, ops::cast(backend, every_row(), DType::f16), 0.03125, -3);
  Tensor halves = ops::cast(backend, x, DType::f16);
  ops::affine_into(backend, halves, halves, 0.03125, -3);
  expect_as_small(backend, halves, of_row, small);
  Tensor out = empty(DType::f16);
  ops::softmax_into(backend, out, halves, 1);
  expect_as_small(backend, out, of_row, ops::softmax(backend, small, 1));
  const Tensor weight = small.with_layout(Layout::strided(Numbers{columns}, Numbers{1}, 0));
  ops::rmsnorm_into(backend, out, halves, weight, 1e-5);
  expect_as_small(backend, out, of_row, ops::rmsnorm(backend, small, weight, 1e-5));
  ops::layernorm_into(backend, out, halves, weight, weight, 1e-5);
  expect_as_small(backend, out, of_row, ops::layernorm(backend, small, weight, weight, 1e-5));
  ops::gate_into(backend, out, ops::Gate::silu, halves, halves);
  expect_as_small(backend, out, of_row, ops::gate(backend, ops::Gate::silu, small, small));

  // One angle for each pair of columns, the same for all rows.
  const auto heads = [&](const Tensor& t) {
    const Numbers dims{t.dims()[0], 1, columns - 1}, strides{columns, columns, 1};
    return t.with_layout(Layout::strided(dims, strides, 0));
  };
  std::vector<float> cosines((columns - 1) / 2), sines(cosines.size());
  for (std::size_t i = 0; i < cosines.size(); ++i) {
    cosines[i] = static_cast<float>(i % 19) / 16;
    sines[i] = static_cast<float>(i % 23) / 32;
  }
  const auto table = [&](const std::vector<float>& of, std::uint64_t count) {
    const Tensor t = Tensor::from_host(backend.device(), of, {1, of.size()});
    return t.with_layout(t.layout().broadcast_to({count, of.size()}));
  };
  const auto turn = [&](const Tensor& t, const Tensor& result) {
    ops::rope_into(backend, test::for_call(heads(result)), heads(t), table(cosines, t.dims()[0]),
                   table(sines, t.dims()[0]), RopePairs::neighbours);
  };
  ops::fill_into(backend, out, 0);
  const Tensor small_out = ops::fill(backend, DType::f16, {256, columns}, 0);
  turn(halves, out);
  turn(small, small_out);
  expect_as_small(backend, out, of_row, small_out);
}

TEST_CASE_FIXTURE(LargeTensors, "random numbers") {
  Tensor out = empty(DType::f16);
  const std::uint64_t seed = 0x123456789abcdef;
  ops::rand_uniform_into(backend, out, seed, 0, 1);
  backend.synchronize();
  std::array<std::uint16_t, 2048> numbers{};  // that a half can become, in order
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = to_half(static_cast<float>(i) / 2048).bits;
  }
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                         static_cast<std::uint32_t>(seed >> 32)};
  constexpr std::uint64_t rows_at_once = 512;
  std::vector<std::uint16_t> read;
  std::array<std::uint32_t, 4> words{};
  std::uint64_t index = 0;
  for (std::uint64_t row = 0; row < rows; row += rows_at_once) {
    const std::uint64_t count = std::min(rows_at_once, rows - row);
    read.resize(count * columns);
    out.with_layout(out.layout().narrow(0, row, count))
        .copy_to_host(std::as_writable_bytes(std::span(read)));
    for (const std::uint16_t half : read) {
      if (index % 4 == 0) {
        words = reference::philox4x32({static_cast<std::uint32_t>(index / 4),
                                       static_cast<std::uint32_t>(index / 4 >> 32), 0, 0},
                                      key);
      }
      if (half != numbers[words[index % 4] >> 21]) FAIL("element " << index);
      ++index;
    }
  }
  CHECK(index == rows * columns);
}

TEST_SUITE_END();
