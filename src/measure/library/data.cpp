// SPDX-License-Identifier: MIT
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "measure/library/product_judge.hpp"

namespace hiptool::measure {
namespace {

/// splitmix64 (Steele, Lea and Flood 2014) of a place.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void store(DType dtype, double value, std::byte* to) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::i8: *to = static_cast<std::byte>(static_cast<std::int8_t>(value)); return;
    case DType::f64: std::memcpy(to, &value, sizeof(value)); return;
    case DType::f16: {
      const std::uint16_t bits = to_half(single).bits;
      std::memcpy(to, &bits, sizeof(bits));
      return;
    }
    case DType::bf16: {
      const std::uint16_t bits = to_bfloat16(single).bits;
      std::memcpy(to, &bits, sizeof(bits));
      return;
    }
    default: std::memcpy(to, &single, sizeof(single)); return;
  }
}

/// Digits of the significand.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 53;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 24;
  }
}

/// How whole numbers are drawn: from -most to most, and 0 instead in all but `kept` of 2^16 cases.
struct WholeNumbers {
  std::uint64_t most = 8;
  std::uint64_t kept = 65536;
};

WholeNumbers whole_numbers(const Problem& problem) {
  WholeNumbers numbers;
  const ProblemTypes& types = types_of(problem);
  const int sum_digits = types.compute == Compute::f64   ? 53
                         : types.compute == Compute::f16 ? 11
                                                         : 24;
  if (types.dtype == DType::i8) return numbers;  // all sums are exact modulo 2^32
  const auto terms = static_cast<double>(term_count(problem));
  const double limit = std::ldexp(1.0, std::min(sum_digits, digits_of(types.result)));
  const bool may_be_inexact = kind_of(problem) == ProblemKind::conv2d;
  const double bound_units = bound_units_of(problem, Transforms::allowed);
  const double sum_limit = std::ldexp(1.0, sum_digits);
  // Sums are about normally distributed: 6.5 times the deviation is exceeded once in 10^10.
  const auto fits = [&](double most, double share) {
    const double variance = most * (most + 1) / 3 * share;
    const double largest = most * most * terms;
    constexpr double most_bound = 0.25;
    if (may_be_inexact && bound_units * std::sqrt(terms) * variance > most_bound) return false;
    return largest <= limit || (6.5 * std::sqrt(terms) * variance <= limit && largest <= sum_limit);
  };
  while (numbers.most > 1 && !fits(static_cast<double>(numbers.most), 1)) numbers.most /= 2;
  while (numbers.kept > 2048 && !fits(1, static_cast<double>(numbers.kept) / 65536)) {
    if (numbers.most > 1) break;
    numbers.kept = numbers.kept * 3 / 4;
  }
  return numbers;
}

std::vector<std::byte> make_numbers(DType dtype, std::uint64_t count, DataKind kind,
                                    const WholeNumbers& whole, std::uint64_t seed) {
  const std::size_t size = element_size_bytes(dtype);
  std::vector<std::byte> bytes(count * size);
  constexpr std::uint64_t part = 1u << 16;
  for_each_in_threads((count + part - 1) / part, [&](std::uint64_t index) {
    const std::uint64_t end = std::min(count, (index + 1) * part);
    for (std::uint64_t i = index * part; i < end; ++i) {
      const std::uint64_t bits = mixed(seed, i);
      double value = 0;
      if (dtype == DType::i8 && kind != DataKind::whole) {
        value = static_cast<double>(bits >> 56) - 128;
      } else if (kind != DataKind::whole) {
        const double unit = dtype == DType::f64 ? static_cast<double>(bits >> 11) * 0x1p-52
                                                : static_cast<double>(bits >> 40) * 0x1p-23;
        value = unit - 1;
      } else if ((bits & 0xFFFF) < whole.kept) {
        value = static_cast<double>((bits >> 16) % (2 * whole.most + 1)) -
                static_cast<double>(whole.most);
      }
      store(dtype, value, bytes.data() + i * size);
    }
  });
  return bytes;
}

/// The first row of A and column of B become -128, so that their sum leaves 32 bits from 131072
/// terms on: a library whose sums do not wrap is wrong there.
void add_extremes(const MatmulProblem& problem, ProblemData& data) {
  constexpr auto least = std::byte{0x80};
  for (std::uint64_t p = 0; p < problem.k; ++p) {
    data.a[problem.transpose_a ? p * problem.m : p] = least;
    data.b[problem.transpose_b ? p : p * problem.n] = least;
  }
}

}  // namespace

void for_each_in_threads(std::uint64_t count, const std::function<void(std::uint64_t)>& function) {
  cpu_set_t set;
  const int usable = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const std::uint64_t threads = std::min<std::uint64_t>(count, static_cast<std::uint64_t>(usable));
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::uint64_t i = next++; i < count; i = next++) function(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::uint64_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::exception&) {
    // Without another thread those that there are do the rest.
  }
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

ProblemData make_data(const Problem& problem, DataKind kind, std::uint64_t seed) {
  const WholeNumbers whole = whole_numbers(problem);
  ProblemData data;
  data.kind = kind;
  data.most = whole.most;
  const std::uint64_t own = mixed(seed, kind == DataKind::whole ? 1 : 2);
  const DType dtype = types_of(problem).dtype;
  data.a = make_numbers(dtype, a_count(problem), kind, whole, mixed(own, 1));
  data.b = make_numbers(dtype, b_count(problem), kind, whole, mixed(own, 2));
  const MatmulProblem* const product = matmul_of(problem);
  if (dtype == DType::i8 && kind == DataKind::random && product != nullptr) {
    add_extremes(*product, data);
  }
  return data;
}

}  // namespace hiptool::measure
