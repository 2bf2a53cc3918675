// SPDX-License-Identifier: MIT
#include "load/place/partition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "load/place/margin.hpp"
#include "small_model.hpp"

using namespace hiptool;

namespace {

std::vector<load::Unit> units_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<load::Unit> units;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) units.push_back({{i}, sizes[i]});
  return units;
}

std::vector<std::uint64_t> runs_of(const std::vector<std::uint64_t>& sizes,
                                   const std::vector<std::size_t>& ends) {
  std::vector<std::uint64_t> runs;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    REQUIRE(begin <= end);
    REQUIRE(end <= sizes.size());
    runs.push_back(std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(begin),
                                   sizes.begin() + static_cast<std::ptrdiff_t>(end),
                                   std::uint64_t{0}));
    begin = end;
  }
  CHECK(begin == sizes.size());
  return runs;
}

constexpr std::uint64_t impossible = UINT64_MAX;

// The size of the largest run of the best cut, found by trying all of them.
std::uint64_t best_largest(std::span<const std::uint64_t> sizes,
                           std::span<const std::uint64_t> most) {
  if (most.empty()) return sizes.empty() ? 0 : impossible;
  std::uint64_t best = impossible;
  std::uint64_t run = 0;
  for (std::size_t end = 0; end <= sizes.size(); ++end) {
    if (end > 0) run += sizes[end - 1];
    if (run > most.front()) break;
    best = std::min(best, std::max(run, best_largest(sizes.subspan(end), most.subspan(1))));
  }
  return best;
}

}  // namespace

TEST_CASE("cuts are as even as a search through all of them, within what devices hold") {
  std::mt19937_64 random(7);
  int possible = 0;
  int refused = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::uint64_t> sizes(random() % 9);
    for (auto& size : sizes) size = random() % 5 == 0 ? 0 : random() % 20;
    std::vector<std::uint64_t> most(1 + random() % 4);
    for (auto& bytes : most) bytes = random() % 3 == 0 ? UINT64_MAX : random() % 40;
    const auto runs = runs_of(sizes, load::cut_evenly(units_of(sizes), most));
    REQUIRE(runs.size() == most.size());
    const std::uint64_t best = best_largest(sizes, most);
    if (best == impossible) {
      ++refused;
      // All but the last, which gets what is too much, stay within their bounds.
      for (std::size_t i = 0; i + 1 < runs.size(); ++i) CHECK(runs[i] <= most[i]);
      CHECK(runs.back() > most.back());
    } else {
      ++possible;
      CHECK(*std::max_element(runs.begin(), runs.end()) == best);
      for (std::size_t i = 0; i < runs.size(); ++i) CHECK(runs[i] <= most[i]);
    }
  }
  CHECK(possible > 1'000);
  CHECK(refused > 200);
}

TEST_CASE("the smaller runs are even too, and no device stays empty without need") {
  const std::vector<std::uint64_t> none(4, UINT64_MAX);
  const auto even = [&](std::vector<std::uint64_t> sizes) {
    return runs_of(sizes, load::cut_evenly(units_of(sizes), none));
  };
  CHECK(even(std::vector<std::uint64_t>(10, 1)) == std::vector<std::uint64_t>{2, 2, 3, 3});
  CHECK(even(std::vector<std::uint64_t>(4, 5)) == std::vector<std::uint64_t>{5, 5, 5, 5});
  CHECK(even({1, 1, 1, 1, 100}) == std::vector<std::uint64_t>{2, 1, 1, 100});
  CHECK(even({1, 1}) == std::vector<std::uint64_t>{1, 1, 0, 0});
  CHECK(even({100, 1, 1, 1}) == std::vector<std::uint64_t>{100, 1, 1, 1});
  for (const std::uint64_t run : even({7, 7, 7, 7, 7, 1})) CHECK(run >= 7);
}

TEST_CASE("shares are met as nearly as units allow") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 30);
    for (auto& size : sizes) size = random() % 100;
    std::vector<double> shares(1 + random() % 5);
    for (auto& share : shares) share = 0.01 + static_cast<double>(random() % 1000);
    const auto ends = load::cut_by_shares(units_of(sizes), shares);
    const auto runs = runs_of(sizes, ends);
    const auto bytes = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), 0ull));
    const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
    const auto largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
    double wanted = 0;
    double reached = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      wanted += bytes * shares[i] / whole;
      reached += static_cast<double>(runs[i]);
      CHECK(std::abs(wanted - reached) <= largest / 2 + 1.0);
    }
  }
  const std::vector<std::uint64_t> ten(10, 10);
  CHECK(runs_of(ten, load::cut_by_shares(units_of(ten), std::vector{3.0, 2.0})) ==
        std::vector<std::uint64_t>{60, 40});
  CHECK(runs_of(ten, load::cut_by_shares(units_of(ten), std::vector{1e-9, 1.0})) ==
        std::vector<std::uint64_t>{0, 100});
}

TEST_CASE("layers go by number; embeddings join the first, the output the last") {
  const test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors;
  std::uint64_t seed = 1;
  for (const char* name : {"output.weight", "blk.10.b", "blk.2.a", "token_embd.weight", "blk.10.a",
                           "blk.2.b", "rope_freqs.weight", "blk.3.a", "output_norm.weight"}) {
    tensors.push_back({name, test::random_bytes(300, seed++)});
  }
  const ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  const auto names_of = [&](const load::Unit& unit) {
    std::string names;
    for (const std::uint32_t index : unit.tensors) names += model.tensors()[index].name + " ";
    return names;
  };
  const auto units = load::layer_units(model);
  REQUIRE(units.size() == 3);
  CHECK(names_of(units[0]) == "blk.2.a token_embd.weight blk.2.b rope_freqs.weight ");
  CHECK(names_of(units[1]) == "blk.3.a ");
  CHECK(names_of(units[2]) == "output.weight blk.10.b blk.10.a output_norm.weight ");
  CHECK(units[0].size_bytes == 4 * 512);
  CHECK(units[1].size_bytes == 512);
}

TEST_CASE("the largest arena with its margin fills the free memory to the byte") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t free = random() >> (random() % 50);
    const std::uint64_t most = load::most_arena_bytes(free, false);
    if (most > 0) CHECK(most + load::margin_bytes(most, false) <= free);
    CHECK(most + 1 + load::margin_bytes(most + 1, false) > free);
    CHECK(load::most_arena_bytes(free, true) == free);
  }
}
