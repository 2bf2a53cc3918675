// SPDX-License-Identifier: MIT
#include "hiptool/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "hip/api.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

std::vector<float> counted(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<float> part(const std::vector<float>& values, std::size_t from, std::size_t count) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(from);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

void make_dirty(Buffer& buffer) {
  const std::vector<std::byte> dirt(buffer.size_bytes(), std::byte{0xA5});
  copy_h2d_and_wait(buffer, dirt);
}

bool is_zero(const Tensor& tensor) {
  const auto values = tensor.to_host<float>();
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

}  // namespace

TEST_CASE("a tensor of zeros is zero, also in memory that was used before") {
  Platforms platforms;
  const Device device = test::device(platforms);
  CHECK(is_zero(Tensor::zeros(device, DType::f32, {5, 7})));

  Arena arena(device, 4'096);
  const void* slice = nullptr;
  {
    Buffer used = arena.allocate(4'096);
    make_dirty(used);
    slice = used.address();
  }
  const Tensor in_arena = Tensor::zeros(arena, DType::f32, {1'024});
  CHECK(in_arena.address() == slice);
  CHECK(is_zero(in_arena));

  const Stream stream(device);
  CachingAllocator allocator(device);
  const void* block = nullptr;
  test::Gate gate(stream);
  {
    // The dirt is still queued when the block is used again: zeros must come behind it.
    Buffer used = allocator.allocate(4'096, stream);
    block = used.address();
    fill(used, std::byte{0xA5}, stream);
  }
  const Tensor cached = Tensor::zeros({allocator, stream}, DType::f32, {1'024});
  CHECK(cached.address() == block);
  gate.open();
  stream.synchronize();
  CHECK(is_zero(cached));
}

TEST_CASE("an empty tensor is not filled: only zeros are") {
  test::WrappedDevice wrapped;
  const Device& device = wrapped.device();
  const auto fills = [&] { return wrapped.table().count("hipMemsetAsync"); };
  const Stream stream(device);
  CachingAllocator allocator(device);
  Arena arena(device, 8'192);
  for (const TensorMemory& memory :
       {TensorMemory(device), TensorMemory(arena), TensorMemory(allocator, stream)}) {
    const Tensor tensor = Tensor::empty(memory, DType::f32, {3, 5});
    CHECK(tensor.dims().size() == 2);
    CHECK(tensor.layout().is_contiguous());
    CHECK(tensor.size_bytes() == 60);
  }
  CHECK(fills() == 0);
  static_cast<void>(Tensor::zeros(device, DType::f32, {3, 5}));
  CHECK(fills() == 1);
  static_cast<void>(Tensor::zeros({allocator, stream}, DType::f32, {3, 5}));
  CHECK(fills() == 2);
  stream.synchronize();
}

TEST_CASE("values of every type go there and back") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto check = [&]<class Value>(std::vector<Value> values) {
    const Tensor tensor = Tensor::from_host(device, values, {values.size()});
    CHECK(tensor.dtype() == dtype_of<Value>());
    CHECK(tensor.size_bytes() == values.size() * sizeof(Value));
    CHECK(tensor.template to_host<Value>() == values);
  };
  check(std::vector<std::uint8_t>{1, 255});
  check(std::vector<std::uint32_t>{1, 0xFFFF'FFFF, 3});
  check(std::vector<std::int16_t>{-1, 32'767});
  check(std::vector<std::int32_t>{-1, 7});
  check(std::vector<std::int64_t>{-1, std::int64_t{1} << 62});
  check(std::vector{to_half(1.5F), to_half(-2)});
  check(std::vector{to_bfloat16(1.5F)});
  check(counted(1'000));
  check(std::vector{1e300, -0.0});
  check(std::vector{to_float8_e4m3(448), to_float8_e4m3(-1)});
}

TEST_CASE("tensors are made in an arena and with a caching allocator as well") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto values = counted(600);
  Arena arena(device, 1 << 16);
  const Tensor in_arena = Tensor::from_host(arena, values, {2, 300});
  CHECK(arena.counters().requested_bytes == 2'400);
  CHECK(in_arena.to_host<float>() == values);
  const Stream stream(device);
  CachingAllocator allocator(device);
  {
    const Tensor cached = Tensor::from_host({allocator, stream}, values, {600});
    CHECK(cached.to_host<float>(stream) == values);
  }
  CHECK(allocator.statistics().cached_blocks == 1);
  CHECK(Tensor::empty(device, DType::f64, {3, 0}).address() == nullptr);
  CHECK(Tensor::zeros(device, DType::f64, {3, 0}).address() == nullptr);
  CHECK(Tensor::from_host(device, std::vector<float>{}, {0}).to_host<float>().empty());
  CHECK(Tensor::from_host(device, std::vector{7.0F}, {}).to_host<float>() == std::vector{7.0F});
}

TEST_CASE("a number of values that is not the layout's is refused before memory is taken") {
  test::WrappedDevice wrapped;
  const auto values = counted(6);
  const auto make = [&](std::initializer_list<std::uint64_t> dims) {
    return code_of([&] { static_cast<void>(Tensor::from_host(wrapped.device(), values, dims)); });
  };
  CHECK(make({5}) == ErrorCode::invalid_argument);
  CHECK(make({7}) == ErrorCode::invalid_argument);
  CHECK(make({}) == ErrorCode::invalid_argument);
  CHECK(make({std::uint64_t{1} << 62}) == ErrorCode::invalid_argument);  // 2^64 bytes
  CHECK(code_of([&] {
          static_cast<void>(Tensor::empty(wrapped.device(), DType::f32, {std::uint64_t{1} << 62}));
        }) == ErrorCode::invalid_argument);
  CHECK(wrapped.table().count("hipMalloc") == 0);
}

TEST_CASE("memory that is there is wrapped where it is large enough and aligned") {
  Platforms platforms;
  const Buffer buffer(test::device(platforms), 100);
  const auto wrap = [&](const Buffer& memory, DType dtype, const Layout& layout) {
    return code_of([&] { Tensor(memory, dtype, layout); });
  };
  CHECK(wrap(buffer, DType::f32, Layout({25})) == std::nullopt);  // nothing thrown
  CHECK(wrap(buffer, DType::f32, Layout({26})) == ErrorCode::out_of_bounds);
  CHECK(wrap(buffer, DType::f32, Layout({25}, 1)) == ErrorCode::out_of_bounds);
  CHECK(wrap(buffer, DType::f64, Layout({12})) == std::nullopt);
  CHECK(wrap(buffer, DType::f64, Layout({13})) == ErrorCode::out_of_bounds);
  CHECK(wrap(buffer, DType::f32, Layout({25}).broadcast_to({1'000, 25})) == std::nullopt);
  CHECK(wrap(buffer.view(2, 98), DType::f32, Layout({1})) == ErrorCode::invalid_argument);
  CHECK(wrap(buffer.view(2, 98), DType::f16, Layout({49})) == std::nullopt);
  CHECK(wrap(buffer, DType::f32, Layout({std::uint64_t{1} << 62})) == ErrorCode::invalid_argument);
  CHECK(wrap(Buffer(), DType::f32, Layout({0})) == ErrorCode::invalid_argument);
}

TEST_CASE("elements are read through any layout") {
  Platforms platforms;
  const Tensor tensor = Tensor::from_host(test::device(platforms), counted(24), {2, 3, 4});
  const Layout& layout = tensor.layout();
  for (const Layout& other :
       {layout.transpose(0, 2), layout.narrow(1, 1, 2), layout.narrow(0, 1, 1).transpose(1, 2),
        layout.narrow(2, 3, 1).broadcast_to({2, 3, 5}), layout.narrow(0, 0, 0)}) {
    const Tensor view = tensor.with_layout(other);
    std::vector<float> expected;
    for (std::uint64_t i = 0; i < other.element_count(); ++i) {
      expected.push_back(static_cast<float>(other.offset_at(i)));  // the values count from 0
    }
    CHECK(view.to_host<float>() == expected);
    const Stream stream(tensor.device());
    CHECK(view.to_host<float>(stream) == expected);
  }
  const Tensor last = tensor.with_layout(layout.narrow(0, 1, 1));
  CHECK(static_cast<const std::byte*>(last.address()) ==
        static_cast<const std::byte*>(tensor.address()) + 12 * 4);
  CHECK(code_of([&] { static_cast<void>(tensor.with_layout(Layout({25}))); }) ==
        ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(tensor.to_host<std::uint32_t>()); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("values are overwritten whole, in place and with exact sizes") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Tensor tensor = Tensor::from_host(device, counted(24), {4, 6});
  Tensor rows = tensor.with_layout(tensor.layout().narrow(0, 1, 2));
  const auto values = counted(12, 100);
  rows.copy_from_host(std::span(values));
  auto expected = counted(24);
  std::copy(values.begin(), values.end(), expected.begin() + 6);
  CHECK(tensor.to_host<float>() == expected);

  const Stream stream(device);
  const auto others = counted(12, 500);
  rows.copy_from_host(std::span(others), stream);
  std::vector<float> read(12);
  rows.copy_to_host(std::as_writable_bytes(std::span(read)), stream);
  stream.synchronize();
  CHECK(read == others);
  std::fill(read.begin(), read.end(), 0.0F);
  rows.copy_to_host(std::as_writable_bytes(std::span(read)));
  CHECK(read == others);

  const auto write = [&](Tensor to, std::size_t count) {
    const auto given = counted(count);
    return code_of([&] { to.copy_from_host(std::span(given)); });
  };
  CHECK(write(rows, 11) == ErrorCode::invalid_argument);
  CHECK(write(rows, 13) == ErrorCode::invalid_argument);
  CHECK(write(tensor.with_layout(tensor.layout().transpose(0, 1)), 24) == ErrorCode::unsupported);
  const std::vector<std::uint32_t> integers(12);
  CHECK(code_of([&] { rows.copy_from_host(std::span(integers)); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { rows.copy_from_host(std::span(integers), stream); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] { rows.copy_to_host(std::as_writable_bytes(std::span(read).first(11))); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("regions go from tensor to tensor by offsets in elements") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto values = counted(100, 1'000);
  const Tensor source = Tensor::from_host(device, values, {10, 10});
  Tensor tensor = Tensor::zeros(device, DType::f32, {64});
  tensor.copy_region(source, {.offset = 3, .source_offset = 17, .count = 30});
  auto read = tensor.to_host<float>();
  CHECK(part(read, 3, 30) == part(values, 17, 30));
  CHECK(part(read, 0, 3) == std::vector<float>(3));
  CHECK(part(read, 33, 31) == std::vector<float>(31));

  // offsets count from the first element of a view
  const Tensor view = source.with_layout(source.layout().narrow(0, 5, 5));
  const Stream stream(device);
  tensor.copy_region(view, {.offset = 63, .source_offset = 49, .count = 1}, stream);
  stream.synchronize();
  CHECK(tensor.to_host<float>()[63] == values[99]);
  tensor.copy_region(source, {.offset = 64, .source_offset = 100, .count = 0});

  Tensor copy = Tensor::empty(device, DType::f32, {10, 10});
  copy.copy_from(source);
  CHECK(copy.to_host<float>() == values);
  Tensor again = Tensor::empty(device, DType::f32, {10, 10});
  again.copy_from(copy, stream);
  CHECK(again.to_host<float>(stream) == values);
}

TEST_CASE("regions that do not fit, overlap or do not match are refused") {
  auto options = Platforms::Options::from_environment();
  options.cpu_devices = 2;
  Platforms platforms(options);
  const auto devices = platforms.devices(Platform::cpu);
  const Tensor source = Tensor::empty(devices[0], DType::f32, {10});
  Tensor tensor = Tensor::empty(devices[0], DType::f32, {2, 3});
  const auto copy = [&](const Tensor& from, Tensor::Region region) {
    return code_of([&] { tensor.copy_region(from, region); });
  };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  CHECK(copy(source, {0, 0, 7}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {1, 0, 6}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {0, 5, 6}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {7, 0, 0}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {huge, 0, 2}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {0, huge, 2}) == ErrorCode::out_of_bounds);
  CHECK(copy(source, {2, 2, huge - 1}) == ErrorCode::out_of_bounds);
  CHECK(copy(tensor, {0, 1, 3}) == ErrorCode::invalid_argument);  // overlap
  CHECK(copy(tensor, {0, 3, 3}) == std::nullopt);                 // nothing thrown
  CHECK(copy(Tensor::empty(devices[0], DType::u32, {10}), {0, 0, 1}) ==
        ErrorCode::invalid_argument);
  CHECK(copy(Tensor::empty(devices[1], DType::f32, {10}), {0, 0, 1}) ==
        ErrorCode::invalid_argument);
  const Tensor transposed = tensor.with_layout(tensor.layout().transpose(0, 1));
  CHECK(copy(transposed, {0, 0, 1}) == ErrorCode::unsupported);
  CHECK(code_of([&] { tensor.copy_from(transposed); }) == ErrorCode::invalid_argument);
  const Stream elsewhere(devices[1]);
  CHECK(code_of([&] {
          tensor.copy_region(source, {0, 0, 1}, elsewhere);
        }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(tensor.to_host<float>(elsewhere)); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("a copy that fails leaves nothing queued and nothing behind") {
  test::WrappedDevice wrapped;
  {
    const Tensor tensor = Tensor::from_host(wrapped.device(), counted(10), {10});
    for (const char* call : {"hipMemcpyAsync", "hipStreamSynchronize"}) {
      CAPTURE(call);
      wrapped.table().fail(call, hip::hipErrorUnknown);
      CHECK(code_of([&] { static_cast<void>(tensor.to_host<float>()); }) == ErrorCode::device);
      wrapped.table().fail(call, hip::hipErrorUnknown);
      CHECK(code_of([&] {
              static_cast<void>(Tensor::from_host(wrapped.device(), counted(3), {3}));
            }) == ErrorCode::device);
    }
    wrapped.table().fail("hipMemsetAsync", hip::hipErrorUnknown);
    CHECK(code_of([&] { static_cast<void>(Tensor::zeros(wrapped.device(), DType::f32, {3})); }) ==
          ErrorCode::device);
  }
  CHECK(wrapped.table().live().is_empty());
}
