// SPDX-License-Identifier: MIT
// Operations that many threads queue at the same time. Also a test of the thread sanitizer.
#include <doctest/doctest.h>

#include <cmath>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "ops/backend_state.hpp"
#include "support.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;

namespace {

constexpr std::size_t thread_count = test::is_sanitized ? 4 : 16;
constexpr std::size_t elements = test::is_thread_sanitized ? 259 : 515;
constexpr int rounds = test::is_sanitized ? 2 : 3;

/// One of each of several families, from numbers that no other thread has; the first result that is
/// wrong, or nothing.
std::string compute(const Backend& backend, std::size_t thread) {
  std::vector<std::int32_t> numbers(elements);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(1000 * thread));
  const TensorMemory memory{backend.allocator(), backend.stream()};
  const Tensor x = Tensor::from_host(memory, numbers, {elements});
  const Tensor doubled = ops::add(backend, x, x);
  const Tensor products = ops::mul(backend, doubled, x);
  const Tensor sum = ops::sum(backend, doubled, {0});
  const Tensor roots = ops::sqrt(backend, ops::cast(backend, products, DType::f64));
  const std::vector<std::uint32_t> last{elements - 1};
  const Tensor chosen =
      ops::index_select(backend, doubled, Tensor::from_host(memory, last, {1}), 0);
  backend.synchronize();
  const auto found = products.to_host<std::int32_t>();
  const auto found_roots = roots.to_host<double>();
  std::int32_t total = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::int32_t product = 2 * numbers[i] * numbers[i];
    if (found[i] != product) return "product " + std::to_string(i);
    if (found_roots[i] != std::sqrt(static_cast<double>(product))) return "root";
    total += 2 * numbers[i];
  }
  if (sum.to_host<std::int32_t>()[0] != total) return "sum";
  if (chosen.to_host<std::int32_t>()[0] != 2 * numbers.back()) return "chosen element";
  return {};
}

/// Of every thread, what its Backend computed wrong; they begin together.
std::vector<std::string> compute_together(const std::function<Backend()>& backend_of_thread) {
  std::vector<std::string> wrong(thread_count);
  std::latch start(thread_count);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      try {
        const Backend backend = backend_of_thread();
        for (int round = 0; round < rounds && wrong[thread].empty(); ++round) {
          wrong[thread] = compute(backend, thread);
        }
      } catch (const std::exception& error) {
        wrong[thread] = error.what();
      }
    });
  }
  threads.clear();  // joins them
  return wrong;
}

const std::vector<std::string> nothing_wrong(thread_count);

/// Modules that the operations of one thread load on a Backend of their own.
std::uint64_t modules_of_one_thread() {
  test::WrappedDevice wrapped;
  CHECK(compute(Backend(wrapped.device()), 0) == "");
  return wrapped.table().count("hipModuleLoadData");
}

}  // namespace

TEST_CASE("many threads on one Backend have right results, and each source is loaded once") {
  const std::uint64_t modules = modules_of_one_thread();
  CHECK(modules == 5);  // binary, reduce, cast, unary, index
  test::WrappedDevice wrapped;
  const Backend backend(wrapped.device());
  CHECK(compute_together([&] { return backend; }) == nothing_wrong);
  CHECK(wrapped.table().count("hipModuleLoadData") == modules);
}

TEST_CASE("many threads on a Backend each of one device have right results") {
  test::WrappedDevice wrapped;
  CHECK(compute_together([&] { return Backend(wrapped.device()); }) == nothing_wrong);
}

TEST_CASE("the shared Backend of a device is made once, by the first thread that can") {
  const std::uint64_t modules = modules_of_one_thread();
  test::WrappedDevice wrapped;
  wrapped.table().fail("hipStreamCreateWithFlags", hip::hipErrorOutOfMemory);
  CHECK_THROWS_AS(Backend::shared(wrapped.device()), Error);
  std::mutex mutex;
  std::set<const ops::BackendState*> states;
  const auto shared = [&] {
    Backend backend = Backend::shared(wrapped.device());
    const std::lock_guard lock(mutex);
    states.insert(&ops::state_of(backend));
    return backend;
  };
  CHECK(compute_together(shared) == nothing_wrong);
  CHECK(states.size() == 1);
  CHECK(wrapped.table().count("hipModuleLoadData") == modules);
}
