// SPDX-License-Identifier: MIT
#include <array>
#include <limits>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

using Dims = std::vector<std::uint64_t>;

void call_layouts(Hostile& hostile) {
  const Layout layout({4, 6});
  const Dims nine(9, 1);
  const Dims wide{huge, huge};
  const Dims empty_wide{huge, huge, 0};
  for (const Dims& dims : {nine, wide, empty_wide}) {
    hostile.call("hiptool::Layout::Layout", [&] { const Layout made(dims, most); });
    hostile.call("hiptool::Layout::strided", [&] { (void)Layout::strided(dims, dims, most); });
    hostile.call("hiptool::Layout::broadcast_to", [&] { (void)layout.broadcast_to(dims); });
    hostile.call("hiptool::Layout::reshape", [&] { (void)layout.reshape(dims); });
    hostile.call("hiptool::Layout::offset_of", [&] { (void)layout.offset_of(dims); });
  }
  hostile.call("hiptool::Layout::Layout", [] { const Layout made({huge, 8}, huge); });
  hostile.call("hiptool::Layout::strided", [] { (void)Layout::strided(Dims{2}, {}, 0); });
  hostile.call("hiptool::Layout::broadcast_to", [&] { (void)layout.broadcast_to({huge, 4, 6}); });
  hostile.call("hiptool::Layout::broadcast_to", [] {
    (void)Layout({1}).broadcast_to({huge}).reshape({huge / 2, 2});
  });
  hostile.call("hiptool::Layout::reshape", [&] { (void)layout.reshape({most, 1}); });
  hostile.call("hiptool::Layout::offset_of", [&] { (void)layout.offset_of({most, 0}); });
  hostile.call("hiptool::Layout::offset_at", [&] { (void)layout.offset_at(most); });
  hostile.call("hiptool::Layout::is_contiguous", [] { (void)Layout().is_contiguous(); });
  hostile.call("hiptool::Layout::narrow", [&] { (void)layout.narrow(most, 0, 1); });
  hostile.call("hiptool::Layout::narrow", [&] { (void)layout.narrow(0, most, 2); });
  hostile.call("hiptool::Layout::narrow", [&] { (void)layout.narrow(0, 2, most); });
  hostile.call("hiptool::Layout::transpose", [&] { (void)layout.transpose(0, most); });
}

void call_dtypes(Hostile& hostile) {
  constexpr auto number = wrong<DType>();
  hostile.call("hiptool::to_string", [] { (void)to_string(number); });
  hostile.call("hiptool::dtype_from_name", [] { (void)dtype_from_name({}); });
  hostile.call("hiptool::element_size_bytes", [] { (void)element_size_bytes(number); });
  hostile.call("hiptool::is_floating_point", [] { (void)is_floating_point(number); });
  hostile.call("hiptool::to_half", [] { (void)to_half(static_cast<float>(nan)); });
  hostile.call("hiptool::to_bfloat16", [] { (void)to_bfloat16(static_cast<float>(nan)); });
  hostile.call("hiptool::to_float8_e4m3",
               [] { (void)to_float8_e4m3(1e30F, wrong<Float8Overflow>()); });
  hostile.call("hiptool::to_float", [] { (void)to_float(Half{0xFFFF}); });
  hostile.call("hiptool::to_float", [] { (void)to_float(BFloat16{0xFFFF}); });
  hostile.call("hiptool::to_float", [] { (void)to_float(Float8E4M3{0xFF}); });
}

void make_tensors(Hostile& hostile) {
  constexpr auto number = wrong<DType>();
  const Device& device = hostile.device;
  const Dims wide{1u << 20, 1u << 20, 1u << 20};
  Arena arena(device, 256);
  const Arena taken = std::move(arena);
  hostile.call("hiptool::TensorMemory::allocate",
               [&] { (void)TensorMemory(device).allocate(most); });
  hostile.call("hiptool::TensorMemory::allocate", [&] { (void)TensorMemory(arena).allocate(1); });
  hostile.call("hiptool::TensorMemory::allocate", [&] {
    // The Device and the stream that it was made of are gone.
    const TensorMemory memory(hostile.platforms.devices(Platform::cpu)[1]);
    (void)memory.allocate(16);
    const TensorMemory by_stream(hostile.backend.allocator(), StreamRef(hostile.stream));
    (void)by_stream.allocate(16);
  });
  hostile.call("hiptool::Tensor::Tensor", [] { const Tensor made({}, DType::f32, Layout({1})); });
  hostile.call("hiptool::Tensor::Tensor",
               [&] { const Tensor made(Buffer(device, 16), number, Layout({1})); });
  hostile.call("hiptool::Tensor::Tensor",
               [&] { const Tensor made(Buffer(device, 16), DType::f64, Layout({huge})); });
  hostile.call("hiptool::Tensor::empty", [&] { (void)Tensor::empty(device, DType::f64, wide); });
  hostile.call("hiptool::Tensor::empty", [&] { (void)Tensor::empty(device, number, {1}); });
  hostile.call("hiptool::Tensor::zeros", [&] { (void)Tensor::zeros(device, DType::u8, wide); });
  hostile.call("hiptool::Tensor::zeros", [&] { (void)Tensor::zeros(device, number, {1}); });
  hostile.call("hiptool::Tensor::from_host_bytes",
               [&] { (void)Tensor::from_host_bytes(device, {}, number, wide); });
  hostile.call("hiptool::Tensor::from_host_bytes",
               [&] { (void)Tensor::from_host_bytes(device, {}, DType::f64, wide); });
  Backend backend = hostile.backend;
  const Backend copied = std::move(backend);
  hostile.call("hiptool::Backend::empty", [&] { (void)backend.empty(DType::f64, wide); });
  hostile.call("hiptool::Backend::empty", [&] { (void)backend.empty(number, {1}); });
  hostile.call("hiptool::Backend::zeros", [&] { (void)backend.zeros(DType::f64, wide); });
  hostile.call("hiptool::Backend::zeros", [&] { (void)backend.zeros(number, {1}); });
  hostile.call("hiptool::Backend::Backend", [&] { const Backend made(device); });
  hostile.call("hiptool::Backend::Backend", [&] { const Backend made(device, {}); });
  hostile.call("hiptool::Backend::borrow_stream",
               [&] { (void)Backend::borrow_stream(hostile.moved_stream); });
  hostile.call("hiptool::Backend::borrow_stream",
               [&] { (void)Backend::borrow_stream(hostile.moved_stream, {}); });
  hostile.call("hiptool::Backend::shared", [&] { (void)Backend::shared(device); });
  hostile.call("hiptool::Backend::gpu_available", [] {
    Platforms from;
    const Platforms to = std::move(from);
    (void)Backend::gpu_available(from);
  });
  hostile.call("hiptool::Backend::allocator", [&] { (void)backend.allocator(); });
  hostile.call("hiptool::Backend::device", [&] { (void)backend.device(); });
  hostile.call("hiptool::Backend::stream", [&] { (void)backend.stream(); });
  hostile.call("hiptool::Backend::synchronize", [&] { backend.synchronize(); });
}

void use_tensors(Hostile& hostile) {
  Tensor& good = hostile.good;
  std::array<std::byte, 96> bytes{};
  const StreamRef stream = hostile.stream;
  hostile.each("hiptool::Tensor::address", [](const Tensor& x) { (void)x.address(); });
  hostile.each("hiptool::Tensor::size_bytes", [](const Tensor& x) { (void)x.size_bytes(); });
  hostile.each("hiptool::Tensor::with_layout",
               [](const Tensor& x) { (void)x.with_layout(Layout({huge})); });
  hostile.each("hiptool::Tensor::to_host", [](const Tensor& x) { (void)x.to_host<float>(); });
  hostile.each("hiptool::Tensor::to_host",
               [&](const Tensor& x) { (void)x.to_host<float>(hostile.moved_stream); });
  hostile.each("hiptool::Tensor::copy_to_host", [&](const Tensor& x) { x.copy_to_host(bytes); });
  hostile.each("hiptool::Tensor::copy_to_host",
               [&](const Tensor& x) { x.copy_to_host(bytes, stream); });
  hostile.into("hiptool::Tensor::copy_from_host_bytes",
               [&](Tensor& x) { x.copy_from_host_bytes(bytes); });
  hostile.into("hiptool::Tensor::copy_from_host_bytes",
               [&](Tensor& x) { x.copy_from_host_bytes(bytes, stream); });
  hostile.each("hiptool::Tensor::copy_from", [&](const Tensor& x) { good.copy_from(x); });
  hostile.into("hiptool::Tensor::copy_from", [&](Tensor& x) { x.copy_from(good, stream); });
  hostile.each("hiptool::Tensor::copy_region", [&](const Tensor& x) {
    good.copy_region(x, {most, most, most});
  });
  hostile.into("hiptool::Tensor::copy_region", [&](Tensor& x) {
    x.copy_region(good, {0, 0, 1}, stream);
  });
}

}  // namespace

void call_tensors(Hostile& hostile) {
  call_layouts(hostile);
  call_dtypes(hostile);
  make_tensors(hostile);
  use_tensors(hostile);
}

}  // namespace hiptool::test
