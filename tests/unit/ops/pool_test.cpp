// SPDX-License-Identifier: MIT
#include "reference/ops/pool.hpp"

#include <cmath>

#include "for_call.hpp"
#include "hiptool/error.hpp"
#include "unit/ops/check_images.hpp"

using namespace hiptool;
using ops::HeightWidth;
using test::Dims;
using test::Placement;

namespace {

constexpr std::array pool_types{DType::u8,   DType::u32, DType::i64, DType::f16,
                                DType::bf16, DType::f32, DType::f64};
constexpr std::array bilinear_types{DType::f16, DType::bf16, DType::f32, DType::f64};

struct PoolCase {
  Dims dims;
  HeightWidth kernel;
  HeightWidth stride;
};

const std::vector<PoolCase> pool_cases{
    {{2, 3, 7, 6}, {2, 3}, {1, 2}}, {{1, 2, 6, 9}, {3, 2}, {2, 1}}, {{2, 1, 5, 5}, {5, 5}, {1, 1}},
    {{1, 3, 4, 8}, {2, 2}, {2, 2}}, {{1, 1, 9, 4}, {1, 1}, {4, 3}}, {{1, 2, 8, 3}, {3, 1}, {9, 5}},
    {{0, 2, 4, 4}, {2, 2}, {1, 1}},
};

struct SizeCase {
  Dims dims;
  HeightWidth size;
};

const std::vector<SizeCase> size_cases{
    {{1, 1, 3, 5}, {7, 4}}, {{2, 3, 4, 3}, {8, 9}}, {{1, 2, 6, 7}, {3, 2}},  {{2, 1, 1, 5}, {4, 1}},
    {{1, 2, 5, 1}, {1, 6}}, {{1, 3, 4, 5}, {4, 5}}, {{2, 2, 0, 3}, {0, 11}},
};

/// The last one for outputs, so that inputs and outputs have different layouts.
Placement other_placement(Placement placement) {
  return test::placements[(static_cast<std::size_t>(placement) + 1) % test::placements.size()];
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("pooling of every type and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : pool_types) {
    CAPTURE(to_string(dtype));
    for (const PoolCase& each : pool_cases) {
      CAPTURE(each.kernel[0]);
      CAPTURE(each.kernel[1]);
      const auto whole = test::whole_values(dtype, each.dims, 1);
      const auto any = test::some_values(dtype, each.dims, 2);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const auto average = reference::avg_pool2d(dtype, whole, each.kernel, each.stride);
        const Tensor x = test::placed(backend, dtype, whole, placement);
        Tensor out = test::place(backend, dtype, average.values.dims, other_placement(placement));
        ops::avg_pool2d_into(backend, out, x, each.kernel, each.stride);
        test::check_result(dtype, test::read(backend, out), average);
        test::write(backend, x, any);
        ops::max_pool2d_into(backend, out, x, each.kernel, each.stride);
        test::check_result(dtype, test::read(backend, out),
                           reference::max_pool2d(any, each.kernel, each.stride));
      }
      if (!is_floating_point(dtype)) {
        const Tensor x = test::placed(backend, dtype, any, Placement::packed);
        const Tensor out = ops::avg_pool2d(backend, x, each.kernel, each.stride);
        backend.synchronize();
        std::vector<std::byte> bytes(out.size_bytes());
        out.copy_to_host(bytes);
        test::check_result(dtype, bytes,
                           reference::avg_pool2d(dtype, any, each.kernel, each.stride));
      }
    }
  }
}

TEST_CASE("averages of reals stay within the bound") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : bilinear_types) {
    CAPTURE(to_string(dtype));
    const auto values = test::real_values(dtype, {1, 2, 20, 30}, 3);
    const Tensor x = test::placed(backend, dtype, values, Placement::packed);
    for (const HeightWidth kernel : {HeightWidth{3, 5}, HeightWidth{20, 30}}) {
      const HeightWidth stride{3, 1};
      const Tensor out = ops::avg_pool2d(backend, x, kernel, stride);
      backend.synchronize();
      std::vector<std::byte> bytes(out.size_bytes());
      out.copy_to_host(bytes);
      test::check_result(dtype, bytes, reference::avg_pool2d(dtype, values, kernel, stride));
    }
  }
}

TEST_CASE("edges of pooling") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto tensor = [&](const auto& values) {
    return Tensor::from_host({backend.allocator(), backend.stream()}, values,
                             {1, 1, 1, values.size()});
  };
  const float nan = std::nanf("");
  const Tensor x = tensor(std::vector<float>{-0.0f, 0.0f, -0.0f, -nan, INFINITY, -INFINITY, 1.0f});
  const auto largest = ops::max_pool2d(backend, x, {1, 2}, {1, 1}).to_host<float>(backend.stream());
  CHECK_FALSE(std::signbit(largest[0]));
  CHECK_FALSE(std::signbit(largest[1]));
  CHECK(std::isnan(largest[2]));
  CHECK(std::isnan(largest[3]));
  CHECK(largest[4] == INFINITY);
  CHECK(largest[5] == 1.0f);
  const Tensor minus_zero = tensor(std::vector<float>{-0.0f, -0.0f});
  CHECK(std::signbit(
      ops::max_pool2d(backend, minus_zero, {1, 2}, {1, 1}).to_host<float>(backend.stream())[0]));
  // A sum that no u8 or u32 holds, and one that f16 does not.
  CHECK(ops::avg_pool2d(backend, tensor(std::vector<std::uint8_t>{255, 255, 254}), {1, 3}, {1, 1})
            .to_host<std::uint8_t>(backend.stream())[0] == 254);
  CHECK(ops::avg_pool2d(backend, tensor(std::vector<std::uint32_t>{0xFFFFFFFF, 0xFFFFFFFF}), {1, 2},
                        {1, 1})
            .to_host<std::uint32_t>(backend.stream())[0] == 0xFFFFFFFF);
  CHECK(ops::avg_pool2d(backend, tensor(std::vector<std::int64_t>{-3, -4}), {1, 2}, {1, 1})
            .to_host<std::int64_t>(backend.stream())[0] == -3);
  CHECK(ops::avg_pool2d(backend, tensor(std::vector<Half>(3, to_half(60000.0f))), {1, 3}, {1, 1})
            .to_host<Half>(backend.stream())[0] == to_half(60000.0f));
}

TEST_CASE("errors of pooling and upsampling") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  Tensor x = backend.zeros(DType::f32, {1, 2, 3, 4});
  CHECK(refusal_of([&] {
          static_cast<void>(ops::avg_pool2d(backend, x, {4, 3}, {1, 1}));
        }) == "avg_pool2d: the kernel [4,3] is larger than f32[1,2,3,4]");
  CHECK(refusal_of([&] {
          static_cast<void>(ops::max_pool2d(backend, x, {3, 5}, {1, 1}));
        }) == "max_pool2d: the kernel [3,5] is larger than f32[1,2,3,4]");
  CHECK_THROWS_AS(ops::max_pool2d(backend, x, {0, 1}, {1, 1}), Error);
  CHECK_THROWS_AS(ops::max_pool2d(backend, x, {1, 1}, {1, 0}), Error);
  CHECK(test::code_of([&] {
          static_cast<void>(
              ops::avg_pool2d(backend, backend.zeros(DType::f8e4m3, {1, 1, 1, 1}), {1, 1}, {1, 1}));
        }) == ErrorCode::unsupported);
  CHECK_THROWS_AS(ops::avg_pool2d(backend, backend.zeros(DType::f32, {2, 3, 4}), {1, 1}, {1, 1}),
                  Error);
  CHECK_THROWS_AS(ops::max_pool2d_into(backend, x, x, {1, 1}, {1, 1}), Error);
  CHECK_THROWS_AS(ops::upsample_nearest2d_into(backend, x, x), Error);
  CHECK(refusal_of([&] { static_cast<void>(ops::upsample_nearest1d(backend, x, 4)); }) ==
        "upsample_nearest1d: f32[1,2,3,4] is not [images,channels,length]");
  CHECK(test::code_of([&] {
          static_cast<void>(
              ops::upsample_bilinear2d(backend, backend.zeros(DType::u8, {1, 1, 1, 1}), {2, 2}));
        }) == ErrorCode::unsupported);
  CHECK_THROWS_AS(ops::upsample_nearest2d(backend, backend.zeros(DType::u8, {1, 1, 0, 1}), {2, 2}),
                  Error);
  CHECK_THROWS_AS(ops::upsample_bilinear2d(backend, x, {2, 2}, {false, 0.0, {}}), Error);
  CHECK_THROWS_AS(ops::upsample_nearest2d_into(
                      backend, test::for_call(backend.zeros(DType::f32, {1, 3, 3, 4})), x),
                  Error);
}

TEST_CASE("upsampling to the nearest element moves bits") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const SizeCase& each : size_cases) {
      CAPTURE(each.size[0]);
      CAPTURE(each.size[1]);
      const auto values = test::some_values(test::bits_dtype(dtype), each.dims, 4);
      const auto wanted = reference::upsample_nearest(values, each.size);
      for (const Placement placement : test::placements) {
        test::Bits x(backend, dtype, each.dims, placement, &values);
        test::Bits out(backend, dtype, wanted.dims, other_placement(placement));
        ops::upsample_nearest2d_into(backend, out.tensor, x.tensor);
        out.check(wanted);
      }
    }
    const auto values = test::some_values(test::bits_dtype(dtype), Dims{2, 3, 5}, 5);
    for (const std::uint64_t length : {1ull, 5ull, 12ull}) {
      test::Bits x(backend, dtype, values.dims, Placement::transposed, &values);
      test::check_bits(backend, ops::upsample_nearest1d(backend, x.tensor, length),
                       reference::upsample_nearest(values, std::span(&length, 1)));
    }
  }
}

TEST_CASE("products of sizes beyond 31 bits") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // One element of memory: the sizes are those of a layout that repeats it.
  const Tensor one = Tensor::from_host({backend.allocator(), backend.stream()},
                                       std::vector<std::uint8_t>{7}, {1, 1, 1});
  const std::uint64_t length = std::uint64_t{1} << 40;
  const Tensor x = one.with_layout(one.layout().broadcast_to({1, 1, length}));
  CHECK(ops::upsample_nearest1d(backend, x, 3).to_host<std::uint8_t>(backend.stream()) ==
        std::vector<std::uint8_t>(3, 7));
  // Places of a long input, 2^31 of 2^32 bytes apart.
  const Tensor two = Tensor::from_host({backend.allocator(), backend.stream()},
                                       std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7}, {1, 1, 7});
  const Tensor tall(two.buffer(), DType::u8,
                    Layout::strided(Dims{1, 1, 7, std::uint64_t{1} << 30}, Dims{0, 0, 1, 0}));
  CHECK(ops::upsample_nearest2d(backend, tall, {3, 4}).to_host<std::uint8_t>(backend.stream()) ==
        std::vector<std::uint8_t>{1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5});
}

TEST_CASE("bilinear upsampling") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : bilinear_types) {
    CAPTURE(to_string(dtype));
    for (const SizeCase& each : size_cases) {
      const auto values = test::real_values(dtype, each.dims, 6);
      for (const ops::BilinearOptions& options : std::vector<ops::BilinearOptions>{
               {}, {true, {}, {}}, {false, 2.5, {}}, {false, 0.3, 1.7}}) {
        CAPTURE(options.aligns_corners);
        const auto wanted = reference::upsample_bilinear2d(dtype, values, each.size, options);
        for (const Placement placement : test::placements) {
          const Tensor x = test::placed(backend, dtype, values, placement);
          Tensor out = test::place(backend, dtype, wanted.values.dims, other_placement(placement));
          ops::upsample_bilinear2d_into(backend, out, x, options);
          test::check_result(dtype, test::read(backend, out), wanted);
        }
      }
    }
  }
}

TEST_CASE("3x5 to 7x4, both ways, by numbers computed elsewhere") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor x = Tensor::from_host(
      {backend.allocator(), backend.stream()},
      std::vector<double>{0, 3, 1, 5, 4, 7, 10, 8, 1, 0, 3, 6, 4, 8, 7}, {1, 1, 3, 5});
  // The formula of PyTorch's documentation in numpy.
  const std::vector<double> centres{
      0.375,      2.25,       3.5,        4.125,      1.375,      3.25,  3.51785714,
      3.55357143, 4.375,      6.25,       3.57142857, 1.83928571, 7.375, 9.25,
      3.625,      0.125,      5.66071429, 7.53571429, 4.85714286, 3.125, 3.94642857,
      5.82142857, 6.08928571, 6.125,      3.375,      5.25,       6.5,   7.125};
  const std::vector<double> corners{
      0.0,        2.33333333, 3.66666667, 4.0,        2.33333333, 4.66666667, 3.55555556,
      2.66666667, 4.66666667, 7.0,        3.44444444, 1.33333333, 7.0,        9.33333333,
      3.33333333, 0.0,        5.66666667, 8.0,        4.44444444, 2.33333333, 4.33333333,
      6.66666667, 5.55555556, 4.66666667, 3.0,        5.33333333, 6.66666667, 7.0};
  for (const bool aligns_corners : {false, true}) {
    const auto found = ops::upsample_bilinear2d(backend, x, {7, 4}, {aligns_corners, {}, {}})
                           .to_host<double>(backend.stream());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == doctest::Approx((aligns_corners ? corners : centres)[i]).epsilon(1e-8));
    }
  }
  const auto nearest =
      ops::upsample_nearest2d(backend, x, {7, 4}).to_host<double>(backend.stream());
  const std::vector<double> rows{0, 3, 1, 5, 7, 10, 8, 1, 3, 6, 4, 8};
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    constexpr std::array<std::size_t, 7> row_of{0, 0, 0, 1, 1, 2, 2};
    CHECK(nearest[i] == rows[row_of[i / 4] * 4 + i % 4]);
  }
}
