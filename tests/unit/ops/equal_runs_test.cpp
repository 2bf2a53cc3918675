// SPDX-License-Identifier: MIT
/// Sums over many ids for one place: the same bits in each of twenty runs.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/ops_move.hpp"
#include "unit/ops/check_move.hpp"

using namespace hiptool;
using reference::Values;
using test::Placement;

namespace {

using Operation = std::function<Tensor(const Tensor& x, const Tensor& ids, const Tensor& source)>;

std::vector<std::byte> bytes_of_run(const Backend& backend, const Operation& operation,
                                    const Tensor& x, const Tensor& ids, const Tensor& source) {
  const Tensor out = operation(x, ids, source);
  backend.synchronize();
  std::vector<std::byte> bytes(out.size_bytes());
  out.copy_to_host(bytes);
  return bytes;
}

}  // namespace

TEST_CASE("scatter, scatter_add and index_add give equal bits in twenty runs") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Backend second(test::device(platforms));  // with kernels and memory of its own
  constexpr std::uint64_t rows = 3;               // each gets a hundred of the ids
  constexpr std::uint64_t count = 300;
  constexpr std::uint64_t columns = 70;
  std::mt19937 random(5);
  Values ids{{count}, {}};
  Values each{{count, columns}, {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.at.push_back(static_cast<long double>(random() % rows));
    for (std::uint64_t k = 0; k < columns; ++k) {
      each.at.push_back(static_cast<long double>(random() % rows));
    }
  }
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32}) {
    CAPTURE(to_string(dtype));
    const auto reals = [&](std::uint64_t length, std::uint32_t seed) {
      Values values{{length, columns}, {}};
      std::mt19937 numbers(seed);  // of very different sizes, so that the order of a sum shows
      for (std::uint64_t i = 0; i < length * columns; ++i) {
        const int exponent = static_cast<int>(numbers() % 12);
        values.at.push_back((0x1p-31L * numbers() - 1) * static_cast<long double>(1 << exponent));
      }
      return reference::values_of(dtype, reference::bytes_of(dtype, values), values.dims);
    };
    const Values x = reals(rows, 1);
    const Values source = reals(count, 2);
    const std::vector<std::pair<const char*, const Values*>> kinds{
        {"scatter", &each}, {"scatter_add", &each}, {"index_add", &ids}};
    for (const auto& each_kind : kinds) {
      const std::string kind = each_kind.first;
      const Values* const chosen = each_kind.second;
      CAPTURE(kind);
      std::vector<std::byte> first;
      for (int run = 0; run < 20; ++run) {
        CAPTURE(run);
        const Backend& used = run % 2 == 0 ? backend : second;
        const auto placement = test::placements[static_cast<std::size_t>(run) % 4];
        const Operation operation = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
          if (kind == "scatter") return ops::scatter(used, a, b, c, 0);
          return kind == "scatter_add" ? ops::scatter_add(used, a, b, c, 0)
                                       : ops::index_add(used, a, b, c, 0);
        };
        const std::vector<std::byte> bytes =
            bytes_of_run(used, operation, test::placed(used, dtype, x, placement),
                         test::placed(used, DType::u32, *chosen, placement),
                         test::placed(used, dtype, source, placement));
        if (run == 0) first = bytes;
        REQUIRE(bytes == first);
      }
    }
  }
}
