// SPDX-License-Identifier: MIT
// Elementwise operations, movement, indexing, random numbers and products.
#include <array>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

void call_elementwise(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  Tensor& out = hostile.out;
  hostile.each("hiptool::ops::binary",
               [&](const Tensor& x) { (void)ops::binary(on, ops::Binary::add, x, x); });
  hostile.each("hiptool::ops::binary",
               [&](const Tensor& x) { (void)ops::binary(on, wrong<ops::Binary>(), good, x); });
  hostile.into("hiptool::ops::binary_into",
               [&](Tensor& to) { ops::binary_into(on, to, ops::Binary::div, good, good); });
  hostile.call("hiptool::ops::binary_into",
               [&] { ops::binary_into(on, out, wrong<ops::Binary>(), good, good); });
  hostile.each("hiptool::ops::compare",
               [&](const Tensor& x) { (void)ops::compare(on, ops::Compare::eq, x, x); });
  hostile.into("hiptool::ops::compare_into",
               [&](Tensor& to) { ops::compare_into(on, to, wrong<ops::Compare>(), good, good); });
  hostile.each("hiptool::ops::unary",
               [&](const Tensor& x) { (void)ops::unary(on, ops::Unary::exp, x); });
  hostile.call("hiptool::ops::unary", [&] { (void)ops::unary(on, wrong<ops::Unary>(), good); });
  hostile.into("hiptool::ops::unary_into",
               [&](Tensor& to) { ops::unary_into(on, to, ops::Unary::neg, good); });
  hostile.each("hiptool::ops::powf", [&](const Tensor& x) { (void)ops::powf(on, x, nan); });
  hostile.into("hiptool::ops::powf_into", [&](Tensor& to) { ops::powf_into(on, to, good, nan); });
  hostile.each("hiptool::ops::elu", [&](const Tensor& x) { (void)ops::elu(on, x, nan); });
  hostile.into("hiptool::ops::elu_into", [&](Tensor& to) { ops::elu_into(on, to, good, nan); });
  hostile.each("hiptool::ops::affine",
               [&](const Tensor& x) { (void)ops::affine(on, x, most, nan); });
  hostile.into("hiptool::ops::affine_into",
               [&](Tensor& to) { ops::affine_into(on, to, good, nan, most); });
  hostile.each("hiptool::ops::row_bias",
               [&](const Tensor& x) { (void)ops::row_bias(on, good, x); });
  hostile.into("hiptool::ops::row_bias_into",
               [&](Tensor& to) { ops::row_bias_into(on, to, good, hostile.ids); });
  hostile.each("hiptool::ops::where_cond",
               [&](const Tensor& x) { (void)ops::where_cond(on, x, x, x); });
  hostile.into("hiptool::ops::where_cond_into",
               [&](Tensor& to) { ops::where_cond_into(on, to, hostile.ids, good, good); });
  hostile.each("hiptool::ops::cast", [&](const Tensor& x) { (void)ops::cast(on, x, DType::f16); });
  hostile.call("hiptool::ops::cast", [&] { (void)ops::cast(on, good, wrong<DType>()); });
  hostile.into("hiptool::ops::cast_into", [&](Tensor& to) { ops::cast_into(on, to, good); });
  const std::array<std::uint64_t, 2> wide{huge, huge};
  hostile.call("hiptool::ops::fill", [&] { (void)ops::fill(on, DType::f64, wide, nan); });
  hostile.call("hiptool::ops::fill", [&] { (void)ops::fill(on, wrong<DType>(), {1}, most); });
  hostile.call("hiptool::ops::fill", [&] { (void)ops::fill(on, DType::i8, {4}, 1e300); });
  hostile.into("hiptool::ops::fill_into", [&](Tensor& to) { ops::fill_into(on, to, -1e300); });
  hostile.call("hiptool::ops::to_string", [] { (void)to_string(wrong<ops::Binary>()); });
  hostile.call("hiptool::ops::to_string", [] { (void)to_string(wrong<ops::Compare>()); });
  hostile.call("hiptool::ops::to_string", [] { (void)to_string(wrong<ops::Unary>()); });
  hostile.call("hiptool::ops::to_string", [] { (void)to_string(wrong<ops::Reduce>()); });
}

void call_movement(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  Tensor& out = hostile.out;
  hostile.each("hiptool::ops::copy", [&](const Tensor& x) { (void)ops::copy(on, x); });
  hostile.into("hiptool::ops::copy_into", [&](Tensor& to) { ops::copy_into(on, to, good); });
  hostile.each("hiptool::ops::contiguous", [&](const Tensor& x) { (void)ops::contiguous(on, x); });
  hostile.each("hiptool::ops::copy_2d", [&](const Tensor& x) {
    ops::copy_2d(on, out, x, {most, most, most, most, most, most});
    ops::copy_2d(on, out, x, {2, 3, 3, 3, most, 0});
  });
  hostile.each("hiptool::ops::concat", [&](const Tensor& x) {
    (void)ops::concat(on, {x, x, good}, most);
  });
  hostile.call("hiptool::ops::concat",
               [&] { (void)ops::concat(on, std::span<const Tensor>(), 0); });
  hostile.each("hiptool::ops::concat", [&](const Tensor& x) { (void)ops::concat(on, {x, x}, 0); });
  hostile.into("hiptool::ops::concat_into", [&](Tensor& to) {
    ops::concat_into(on, to, {good, good}, most);
  });
  hostile.into("hiptool::ops::concat_into",
               [&](Tensor& to) { ops::concat_into(on, to, std::span<const Tensor>(), 0); });
}

void call_indexing(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  const Tensor& ids = hostile.ids;
  const std::string name = "hiptool::ops::";
  for (const std::size_t axis : {std::size_t{0}, std::size_t{most}}) {
    hostile.each(name + "index_select",
                 [&](const Tensor& x) { (void)ops::index_select(on, x, ids, axis); });
    hostile.each(name + "index_select",
                 [&](const Tensor& x) { (void)ops::index_select(on, good, x, axis); });
    hostile.into(name + "index_select_into",
                 [&](Tensor& to) { ops::index_select_into(on, to, good, ids, axis); });
    hostile.each(name + "gather", [&](const Tensor& x) { (void)ops::gather(on, x, x, axis); });
    hostile.each(name + "gather", [&](const Tensor& x) { (void)ops::gather(on, good, x, axis); });
    hostile.into(name + "gather_into",
                 [&](Tensor& to) { ops::gather_into(on, to, good, ids, axis); });
    hostile.each(name + "scatter",
                 [&](const Tensor& x) { (void)ops::scatter(on, good, x, x, axis); });
    hostile.into(name + "scatter_into",
                 [&](Tensor& to) { ops::scatter_into(on, to, to, ids, good, axis); });
    hostile.each(name + "scatter_add",
                 [&](const Tensor& x) { (void)ops::scatter_add(on, x, x, x, axis); });
    hostile.into(name + "scatter_add_into",
                 [&](Tensor& to) { ops::scatter_add_into(on, to, good, ids, good, axis); });
    hostile.each(name + "index_add",
                 [&](const Tensor& x) { (void)ops::index_add(on, x, ids, x, axis); });
    hostile.into(name + "index_add_into",
                 [&](Tensor& to) { ops::index_add_into(on, to, good, ids, good, axis); });
  }
}

void call_random(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const std::array<std::uint64_t, 2> wide{huge, huge};
  hostile.call("hiptool::ops::rand_uniform",
               [&] { (void)ops::rand_uniform(on, DType::f32, wide, most, 0, 1); });
  hostile.call("hiptool::ops::rand_uniform",
               [&] { (void)ops::rand_uniform(on, DType::f32, {4}, most, nan, -nan); });
  hostile.call("hiptool::ops::rand_uniform",
               [&] { (void)ops::rand_uniform(on, wrong<DType>(), {4}, most, 0, 1); });
  hostile.into("hiptool::ops::rand_uniform_into",
               [&](Tensor& to) { ops::rand_uniform_into(on, to, most, 1, 0); });
  hostile.call("hiptool::ops::rand_normal",
               [&] { (void)ops::rand_normal(on, DType::f32, wide, most, 0, 1); });
  hostile.call("hiptool::ops::rand_normal",
               [&] { (void)ops::rand_normal(on, DType::f32, {4}, most, 0, -1); });
  hostile.into("hiptool::ops::rand_normal_into",
               [&](Tensor& to) { ops::rand_normal_into(on, to, most, nan, 1); });
}

void call_products(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const Tensor& good = hostile.good;
  const ops::MatmulOptions options{.alpha = nan, .beta = nan, .library = wrong<ops::Library>()};
  hostile.each("hiptool::ops::matmul", [&](const Tensor& x) { (void)ops::matmul(on, x, good); });
  hostile.each("hiptool::ops::matmul",
               [&](const Tensor& x) { (void)ops::matmul(on, x, x, options); });
  hostile.into("hiptool::ops::matmul_into",
               [&](Tensor& to) { ops::matmul_into(on, to, good, good, options); });
  hostile.each("hiptool::ops::matmul_i32",
               [&](const Tensor& x) { (void)ops::matmul_i32(on, x, x); });
  hostile.into("hiptool::ops::matmul_i32_into",
               [&](Tensor& to) { ops::matmul_i32_into(on, to, good, good); });
  hostile.each("hiptool::ops::mlp_swiglu",
               [&](const Tensor& x) { (void)ops::mlp_swiglu(on, good, x, x, x, options); });
  hostile.each("hiptool::ops::mlp_swiglu",
               [&](const Tensor& x) { (void)ops::mlp_swiglu(on, x, good, good, good); });
  hostile.into("hiptool::ops::mlp_swiglu_into",
               [&](Tensor& to) { ops::mlp_swiglu_into(on, to, good, good, good, good); });
  hostile.each("hiptool::ops::axpy", [&](const Tensor& x) { (void)ops::axpy(on, nan, x, good); });
  hostile.into("hiptool::ops::axpy_into",
               [&](Tensor& to) { ops::axpy_into(on, to, most, good, good); });
  hostile.into("hiptool::ops::scal", [&](Tensor& to) { ops::scal(on, to, nan); });
  hostile.call("hiptool::ops::library_status", [&] { (void)ops::library_status(on); });
}

}  // namespace

void call_operations(Hostile& hostile) {
  call_elementwise(hostile);
  call_movement(hostile);
  call_indexing(hostile);
  call_random(hostile);
  call_products(hostile);
}

}  // namespace hiptool::test
