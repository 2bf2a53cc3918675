// SPDX-License-Identifier: MIT
/// Launches of operations on tensors without elements, counted at the HIP table.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/conv.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;

namespace {

/// Everything that is queued on a stream to compute or copy.
std::uint64_t queued(const test::WrapperTable& table) {
  return table.count("hipModuleLaunchKernel") + table.count("hipMemcpyAsync") +
         table.count("hipMemcpy2DAsync") + table.count("hipMemsetAsync");
}

struct EmptyCall {
  std::string name;
  std::function<void()> call;
  std::function<void()> with_elements;
};

std::vector<EmptyCall> empty_calls(const Backend& backend) {
  const auto both = [](std::string name, std::function<void(std::uint64_t)> call) {
    return EmptyCall{std::move(name), [call] { call(0); }, [call] { call(2); }};
  };
  const auto zeros = [&backend](std::uint64_t first, DType dtype = DType::f32) {
    return backend.empty(dtype, {first, 6});
  };
  const auto ids = [&backend](std::uint64_t count) { return backend.zeros(DType::u8, {count}); };
  const Tensor six = backend.zeros(DType::f32, {6});
  const Tensor table = backend.zeros(DType::f32, {4, 6});
  using N = std::uint64_t;
  std::vector<EmptyCall> calls{
      both("where_cond",
           [=, &backend](N n) {
             return ops::where_cond(backend, zeros(n, DType::u8), zeros(n), zeros(n));
           }),
      both("powf", [=, &backend](N n) { return ops::powf(backend, zeros(n), 2); }),
      both("elu", [=, &backend](N n) { return ops::elu(backend, zeros(n), 1); }),
      both("affine", [=, &backend](N n) { return ops::affine(backend, zeros(n), 2, 3); }),
      both("row_bias", [=, &backend](N n) { return ops::row_bias(backend, zeros(n), six); }),
      both("cast", [=, &backend](N n) { return ops::cast(backend, zeros(n), DType::f16); }),
      both("fill",
           [=, &backend](N n) {
             return ops::fill(backend, DType::f32, {n, 6}, 1);
           }),
      both("copy", [=, &backend](N n) { return ops::copy(backend, zeros(n)); }),
      both("concat",
           [=, &backend](N n) {
             return ops::concat(backend, {zeros(n), zeros(n)}, 0);
           }),
      both("index_select",
           [=, &backend](N n) { return ops::index_select(backend, table, ids(n), 0); }),
      both("gather",
           [=, &backend](N n) {
             return ops::gather(backend, table, backend.zeros(DType::u8, {n, 6}), 0);
           }),
      both("rand_uniform",
           [=, &backend](N n) {
             return ops::rand_uniform(backend, DType::f32, {n, 6}, 1, 0, 1);
           }),
      both("rand_normal",
           [=, &backend](N n) {
             return ops::rand_normal(backend, DType::f32, {n, 6}, 1, 0, 1);
           }),
      both("softmax", [=, &backend](N n) { return ops::softmax(backend, zeros(n)); }),
      both("log_softmax", [=, &backend](N n) { return ops::log_softmax(backend, zeros(n)); }),
      both("layernorm",
           [=, &backend](N n) { return ops::layernorm(backend, zeros(n), six, 1e-5); }),
      both("rmsnorm", [=, &backend](N n) { return ops::rmsnorm(backend, zeros(n), six, 1e-5); }),
      both("gate",
           [=, &backend](N n) { return ops::gate(backend, ops::Gate::silu, zeros(n), zeros(n)); }),
      both("rope",
           [=, &backend](N n) {
             const Tensor angles = backend.empty(DType::f32, {n, 3});
             return ops::rope(backend, backend.empty(DType::f32, {n, 1, 6}), angles, angles,
                              RopePairs::halves);
           }),
      both("matmul",
           [=, &backend](N n) {
             return ops::matmul(backend, zeros(n),
                                table.with_layout(table.layout().transpose(0, 1)));
           }),
      both("avg_pool2d",
           [&backend](N n) {
             return ops::avg_pool2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}), {2, 2},
                                    {2, 2});
           }),
      both("max_pool2d",
           [&backend](N n) {
             return ops::max_pool2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}), {2, 2},
                                    {2, 2});
           }),
      both("upsample_nearest2d",
           [&backend](N n) {
             return ops::upsample_nearest2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}),
                                            {8, 8});
           }),
      both("upsample_bilinear2d",
           [&backend](N n) {
             return ops::upsample_bilinear2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}),
                                             {8, 8});
           }),
      both("conv2d",
           [&backend](N n) {
             return ops::conv2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}),
                                backend.empty(DType::f32, {1, 1, 2, 2}));
           }),
      both("conv_transpose2d",
           [&backend](N n) {
             return ops::conv_transpose2d(backend, backend.empty(DType::f32, {n, 1, 4, 4}),
                                          backend.empty(DType::f32, {1, 1, 2, 2}));
           }),
      both("attention",
           [&backend](N n) {
             const ops::KVCache cache = ops::make_kv_cache(backend, 4, 1, 6, 6);
             return ops::attention(backend, backend.empty(DType::f32, {n, 1, 6}), cache, {});
           }),
      both("quantised_matmul",
           [=, &backend](N n) {
             return ops::quantised_matmul(backend, ops::QuantisedTensor(table), zeros(n));
           }),
      both("copy_strided",
           [=, &backend](N n) {
             Tensor out = backend.empty(DType::f32, {12});
             return ops::copy_strided(backend, out, 0, zeros(n));
           }),
  };
  for (const ops::Unary operation : ops::unary_operations) {
    calls.push_back(both(std::string(to_string(operation)),
                         [=, &backend](N n) { return ops::unary(backend, operation, zeros(n)); }));
  }
  for (const ops::Binary operation : {ops::Binary::add, ops::Binary::div, ops::Binary::maximum}) {
    calls.push_back(both(std::string(to_string(operation)), [=, &backend](N n) {
      return ops::binary(backend, operation, zeros(n), zeros(n));
    }));
  }
  calls.push_back(both("eq", [=, &backend](N n) { return ops::eq(backend, zeros(n), zeros(n)); }));
  calls.push_back(
      both("sum of rows", [=, &backend](N n) { return ops::sum(backend, zeros(n), {1}); }));
  calls.push_back(
      both("argmax of rows", [=, &backend](N n) { return ops::argmax(backend, zeros(n), {1}); }));
  return calls;
}

}  // namespace

TEST_CASE("results without elements queue nothing: no launch, no copy, no fill") {
  test::WrappedDevice wrapped;
  const Backend backend(wrapped.device());
  std::size_t calls = 0;
  for (const EmptyCall& each : empty_calls(backend)) {
    CAPTURE(each.name);
    const std::uint64_t before = queued(wrapped.table());
    each.call();
    CHECK(queued(wrapped.table()) == before);
    each.with_elements();
    CHECK(queued(wrapped.table()) > before);
    ++calls;
  }
  backend.synchronize();
  CHECK(calls > 50);
}

TEST_CASE("scatter and index_add of no ids copy their input and add nothing") {
  test::WrappedDevice wrapped;
  const Backend backend(wrapped.device());
  const Tensor x = backend.zeros(DType::f32, {4, 6});
  const Tensor none = backend.empty(DType::f32, {0, 6});
  const Tensor no_ids = backend.empty(DType::u32, {0, 6});
  const std::uint64_t launches = wrapped.table().count("hipModuleLaunchKernel");
  static_cast<void>(ops::scatter(backend, x, no_ids, none, 0));
  static_cast<void>(ops::scatter_add(backend, x, no_ids, none, 0));
  static_cast<void>(ops::index_add(backend, x, backend.empty(DType::u32, {0}), none, 0));
  CHECK(wrapped.table().count("hipModuleLaunchKernel") == launches);
}
