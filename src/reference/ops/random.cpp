// SPDX-License-Identifier: MIT
#include "reference/ops/random.hpp"

#include <cmath>

namespace hiptool::reference {
namespace {

/// The random bits of an element: 24 of them, or 53 for f64.
std::uint64_t random_bits(DType dtype, std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t in_block = dtype == DType::f64 ? 2 : 4;
  const std::uint64_t block = i / in_block;
  const auto words =
      philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t place = i % in_block;
  if (dtype != DType::f64) return words[place] / 256;
  return (words[2 * place] * (std::uint64_t{1} << 32) + words[2 * place + 1]) / 2048;
}

std::uint64_t count_of(const std::vector<std::uint64_t>& dims) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  return count;
}

/// Numbers rounded to the dtype.
std::vector<long double> rounded_to(DType dtype, const std::vector<long double>& numbers) {
  const std::uint64_t count = numbers.size();
  return values_of(dtype, bytes_of(dtype, {{count}, numbers}), {&count, 1}).at;
}

/// low + u (high - low) with the roundings of that type.
template <class Real>
long double between(long double low, long double high, long double unit) {
  const Real range = static_cast<Real>(high) - static_cast<Real>(low);
  const Real part = static_cast<Real>(unit) * range;
  return static_cast<Real>(low) + part;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57} * counter[2];
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    counter = {high(product_1) ^ counter[1] ^ key[0], low(product_1),
               high(product_0) ^ counter[3] ^ key[1], low(product_0)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

Expected rand_uniform(DType dtype, std::vector<std::uint64_t> dims, std::uint64_t seed, double low,
                      double high) {
  int digits = 24;
  if (dtype == DType::f64) digits = 53;
  if (dtype == DType::f16) digits = 11;
  if (dtype == DType::bf16) digits = 8;
  if (dtype == DType::f8e4m3) digits = 4;
  const bool is_double = dtype == DType::f64;
  std::vector<long double> ends{low, high};
  if (!is_double) ends = {static_cast<float>(low), static_cast<float>(high)};
  ends = rounded_to(dtype, ends);
  std::vector<long double> numbers;
  for (std::uint64_t i = 0; i < count_of(dims); ++i) {
    const std::uint64_t bits = random_bits(dtype, seed, i) >> ((is_double ? 53 : 24) - digits);
    const long double unit = std::ldexp(static_cast<long double>(bits), -digits);
    numbers.push_back(is_double ? between<double>(ends[0], ends[1], unit)
                                : between<float>(ends[0], ends[1], unit));
  }
  numbers = rounded_to(dtype, numbers);
  for (long double& number : numbers) {
    if (!(number < ends[1])) number = ends[0];
  }
  return {{dims, numbers}, {}};
}

Expected rand_normal(DType dtype, std::vector<std::uint64_t> dims, std::uint64_t seed, double mean,
                     double deviation) {
  const bool is_double = dtype == DType::f64;
  const int width = is_double ? 53 : 24;
  const long double epsilon = std::ldexp(1.0L, -width);
  const long double two_pi = 8 * std::atan(1.0L);
  const long double center = is_double ? mean : static_cast<float>(mean);
  const long double scale = is_double ? deviation : static_cast<float>(deviation);
  Expected expected{{dims, {}}, {}};
  for (std::uint64_t i = 0; i < count_of(dims); ++i) {
    const auto first = static_cast<long double>(random_bits(dtype, seed, i / 2 * 2));
    const auto second = static_cast<long double>(random_bits(dtype, seed, i / 2 * 2 + 1));
    const long double radius = std::sqrt(-2 * std::log((first + 1) * epsilon));
    const long double angle = two_pi * second * epsilon;
    const long double z = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    const long double value = center + scale * z;
    expected.values.at.push_back(value);
    // A few roundings of the computation, and one of the dtype where that is another.
    long double slack = 5 * epsilon * (std::fabs(center) + scale * radius);
    if (element_size_bytes(dtype) < 4) slack += ulp_of(dtype, value);
    expected.slack.push_back(slack);
  }
  return expected;
}

}  // namespace hiptool::reference
