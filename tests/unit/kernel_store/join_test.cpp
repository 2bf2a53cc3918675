// SPDX-License-Identifier: MIT
// The reductions of kernels/include/hiptool_device.h: the same bits whatever the size of a warp is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "support.hpp"
#include "unit/kernel_store/join_kernels.hpp"

using namespace hiptool;

namespace {

constexpr std::uint32_t blocks = 3;

/// Of very different size and both signs: each order of additions leads to other bits.
template <class Real>
std::vector<Real> values_where_order_matters(std::size_t count) {
  std::mt19937 random(8);
  std::vector<Real> values(count);
  for (Real& value : values) {
    const double digits = static_cast<double>(random()) / 4294967296.0 - 0.5;
    value = static_cast<Real>(std::ldexp(digits, static_cast<int>(random() % 40)));
  }
  return values;
}

template <class Out, class In>
std::vector<Out> run(const char* name, const std::vector<In>& values, std::size_t results_each,
                     unsigned lanes) {
  keep_join_kernels();
  hip::cpu::set_warp_size(lanes);
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  kernel_store::KernelLoader loader(device);
  const Kernel kernel(loader.load("fill").module, name);
  Buffer in(device, values.size() * sizeof(In));
  std::vector<Out> results(values.size() * results_each);
  const Buffer out(device, results.size() * sizeof(Out));
  const Stream stream(device);
  copy_h2d_and_wait(in, std::as_bytes(std::span(values)));
  const auto threads = static_cast<std::uint32_t>(values.size() / blocks);
  LaunchConfig config{{blocks}, {threads}};
  config.shared_bytes = threads / 32 * static_cast<std::uint32_t>(sizeof(Out));
  launch(kernel, config, stream, in, out);
  stream.synchronize();
  copy_d2h_and_wait(std::as_writable_bytes(std::span(results)), out);
  hip::cpu::set_warp_size(32);
  return results;
}

template <class Real>
Real tree_of_32(const Real* from) {
  std::vector<Real> values(from, from + 32);
  for (std::size_t distance = 16; distance > 0; distance /= 2) {
    for (std::size_t i = 0; i < distance; ++i) values[i] = values[i] + values[i + distance];
  }
  return values[0];
}

template <class Real>
Real in_order(const Real* from, std::size_t threads) {
  Real sum = tree_of_32(from);
  for (std::size_t i = 32; i < threads; i += 32) sum = sum + tree_of_32(from + i);
  return sum;
}

template <class Value>
bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0;
}

template <class Real>
void check_sums(const char* name, std::size_t threads) {
  CAPTURE(name);
  CAPTURE(threads);
  const auto values = values_where_order_matters<Real>(blocks * threads);
  std::vector<Real> expected(values.size());
  std::size_t differ_from_plain = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const Real* const from = values.data() + block * threads;
    const Real sum = in_order(from, threads);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(block * threads), threads, sum);
    Real plain = 0;
    for (std::size_t i = 0; i < threads; ++i) plain += from[i];
    if (plain != sum) ++differ_from_plain;
  }
  CHECK(differ_from_plain > 0);  // else the values prove nothing
  CHECK(same_bits(run<Real>(name, values, 1, 32), expected));
  CHECK(same_bits(run<Real>(name, values, 1, 64), expected));
}

}  // namespace

TEST_CASE("32 neighbours are joined by one tree, and all of them get the sum") {
  const auto values = values_where_order_matters<float>(blocks * 96);
  std::vector<float> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = tree_of_32(&values[i / 32 * 32]);
  CHECK(same_bits(run<float>("test_join_32", values, 1, 32), expected));
  CHECK(same_bits(run<float>("test_join_32", values, 1, 64), expected));
}

TEST_CASE("a block is joined in the order of its groups of 32, whatever a warp is") {
  for (const std::size_t threads : {32u, 96u, 256u, 1024u})
    check_sums<float>("test_join_f32", threads);
  check_sums<double>("test_join_f64", 256);
}

TEST_CASE("structures are joined whole, and shared memory is free afterwards") {
  const std::size_t threads = 160;
  std::vector<float> values(blocks * threads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 53);
  const auto largest = [&](std::size_t block, float below) {
    Place best{-1, 0};
    for (std::size_t i = block * threads; i < (block + 1) * threads; ++i) {
      const float value = values[i] < below ? values[i] : -1;
      if (value > best.value) best = {value, static_cast<std::uint32_t>(i)};
    }
    return best;
  };
  for (const unsigned lanes : {32u, 64u}) {
    const auto got = run<Place>("test_join_places", values, 2, lanes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Place first = largest(i / threads, 1e9f);
      if (!(got[2 * i] == first)) ++wrong;
      if (!(got[2 * i + 1] == largest(i / threads, first.value))) ++wrong;
    }
    CHECK(wrong == 0);
  }
}
