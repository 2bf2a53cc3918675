// SPDX-License-Identifier: MIT
#include "load/place/partition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "load/place/memory.hpp"
#include "small_model.hpp"

using namespace hiptool;

namespace {

std::vector<load::TensorGroup> groups_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<load::TensorGroup> groups;
  for (const std::uint64_t size : sizes) groups.push_back({1, size, size, 0});
  return groups;
}

std::vector<std::uint64_t> sizes_of(std::span<const load::TensorGroup> runs,
                                    const std::vector<std::uint64_t>& groups) {
  std::vector<std::uint64_t> sizes;
  load::TensorGroup all;
  for (const load::TensorGroup& run : runs) {
    sizes.push_back(run.size_bytes());
    all += run;
  }
  CHECK(all.tensors == groups.size());
  CHECK(all.size_bytes() == std::accumulate(groups.begin(), groups.end(), std::uint64_t{0}));
  return sizes;
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
    const auto runs = sizes_of(load::cut_evenly(groups_of(sizes), most), sizes);
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
    return sizes_of(load::cut_evenly(groups_of(sizes), none), sizes);
  };
  CHECK(even(std::vector<std::uint64_t>(10, 1)) == std::vector<std::uint64_t>{2, 2, 3, 3});
  CHECK(even(std::vector<std::uint64_t>(4, 5)) == std::vector<std::uint64_t>{5, 5, 5, 5});
  CHECK(even({1, 1, 1, 1, 100}) == std::vector<std::uint64_t>{2, 1, 1, 100});
  CHECK(even({1, 1}) == std::vector<std::uint64_t>{1, 1, 0, 0});
  CHECK(even({100, 1, 1, 1}) == std::vector<std::uint64_t>{100, 1, 1, 1});
  for (const std::uint64_t run : even({7, 7, 7, 7, 7, 1})) CHECK(run >= 7);
}

TEST_CASE("proportions are met as nearly as groups allow") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 30);
    for (auto& size : sizes) size = random() % 100;
    std::vector<double> shares(1 + random() % 5);
    for (auto& share : shares) share = 0.01 + static_cast<double>(random() % 1000);
    const auto runs = sizes_of(load::cut_by_proportions(groups_of(sizes), shares), sizes);
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
  CHECK(sizes_of(load::cut_by_proportions(groups_of(ten), std::vector{3.0, 2.0}), ten) ==
        std::vector<std::uint64_t>{60, 40});
  CHECK(sizes_of(load::cut_by_proportions(groups_of(ten), std::vector{1e-9, 1.0}), ten) ==
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
  const auto grouped = load::group_by_layer(model.tensors());
  const auto names_of = [&](std::size_t first, std::size_t count) {
    std::string names;
    for (std::size_t i = first; i < first + count; ++i) {
      names += model.tensors()[grouped.order[i]].name + " ";
    }
    return names;
  };
  REQUIRE(grouped.groups.size() == 3);
  CHECK(grouped.groups[0].tensors == 4);
  CHECK(grouped.groups[1].tensors == 1);
  CHECK(grouped.groups[2].tensors == 4);
  CHECK(names_of(0, 4) == "token_embd.weight rope_freqs.weight blk.2.a blk.2.b ");
  CHECK(names_of(4, 1) == "blk.3.a ");
  CHECK(names_of(5, 4) == "blk.10.b blk.10.a output.weight output_norm.weight ");
  CHECK(grouped.groups[0].size_bytes() == 4 * 512);
  CHECK(grouped.groups[0].tensor_bytes == 4 * 300);
  CHECK(grouped.groups[1].size_bytes() == 512);
}

TEST_CASE("the largest arena with its margin fills the free memory to the byte") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t free = random() >> (random() % 50);
    const std::uint64_t most = load::most_bytes({"amd:0", free, free, false});
    if (most > 0) CHECK(most + load::margin_bytes(most, false) <= free);
    CHECK(most + 1 + load::margin_bytes(most + 1, false) > free);
    CHECK(load::most_bytes({"cpu:0", free, free, true}) == free);
  }
}
