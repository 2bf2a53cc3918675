// SPDX-License-Identifier: MIT
#include "reference/ops/index.hpp"

#include "hiptool/ops_move.hpp"
#include "unit/ops/check_move.hpp"

using namespace hiptool;
using reference::Values;
using test::Bits;
using test::placed;
using test::Placement;
using Dims = std::vector<std::uint64_t>;

namespace {

constexpr std::array id_types{DType::u8, DType::u32, DType::i64};

/// The id that chooses nothing.
long double sentinel(DType ids) {
  if (ids == DType::u8) return 255;
  if (ids == DType::u32) return 4294967295.0L;
  return 9223372036854775807.0L;
}

/// Indices below `size`, in places twice, among them the sentinel.
Values some_ids(DType dtype, const Dims& dims, std::uint64_t size) {
  std::size_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  std::mt19937 random(11);
  Values ids{dims, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_none = size == 0 || random() % 7 == 0;
    ids.at.push_back(is_none ? sentinel(dtype) : static_cast<long double>(random() % size));
  }
  return ids;
}

Dims with_length(Dims dims, std::size_t axis, std::uint64_t length) {
  dims[axis] = length;
  return dims;
}

std::string message_of(const Backend& backend) {
  try {
    backend.synchronize();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_bounds);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("index_select and gather along every axis, by ids of every type and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Dims dims{5, 6, 16};
  for (const DType dtype : {DType::f8e4m3, DType::bf16, DType::f32, DType::i64}) {
    CAPTURE(to_string(dtype));
    const Values x = test::some_values(test::bits_dtype(dtype), dims, 1);
    for (const Placement placement : test::placements) {
      CAPTURE(static_cast<int>(placement));
      Bits source(backend, dtype, dims, placement, &x);
      for (const DType id_type : id_types) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          CAPTURE(axis);
          const Values ids = some_ids(id_type, {9}, dims[axis]);
          const Tensor chosen = placed(backend, id_type, ids, placement);
          Bits out(backend, dtype, with_length(dims, axis, 9), placement);
          ops::index_select_into(backend, out.tensor, source.tensor, chosen, axis);
          out.check(reference::index_select(x, ids, axis));
          test::check_bits(backend, ops::index_select(backend, source.tensor, chosen, axis),
                           reference::index_select(x, ids, axis));

          Dims fewer{3, 5, 11};
          fewer[axis] = 10;
          const Values each = some_ids(id_type, fewer, dims[axis]);
          Bits gathered(backend, dtype, fewer, placement);
          ops::gather_into(backend, gathered.tensor, source.tensor,
                           placed(backend, id_type, each, placement), axis);
          gathered.check(reference::gather(x, each, axis));
        }
      }
      source.check(x);
    }
  }
}

TEST_CASE("every dtype can be chosen from; nothing can be chosen from nothing") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : dtypes) {
    const Values x = test::some_values(test::bits_dtype(dtype), Dims{4, 3}, 2);
    const Values ids = some_ids(DType::u32, {4, 3}, 4);
    Bits source(backend, dtype, Dims{4, 3}, Placement::packed, &x);
    const Tensor chosen = placed(backend, DType::u32, ids, Placement::packed);
    test::check_bits(backend, ops::gather(backend, source.tensor, chosen, 0),
                     reference::gather(x, ids, 0));
    const Tensor none =
        ops::index_select(backend, source.tensor, backend.empty(DType::u32, {0}), 0);
    CHECK(none.element_count() == 0);
    const Values all_none = some_ids(DType::u8, {3}, 0);
    const Tensor zeros =
        ops::index_select(backend, backend.empty(dtype, {0, 2}),
                          placed(backend, DType::u8, all_none, Placement::packed), 0);
    test::check_bits(backend, zeros, {{3, 2}, std::vector<long double>(6)});
  }
}

TEST_CASE("scatter: of several elements for one place the last wins") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Dims dims{5, 6, 7};
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    CAPTURE(to_string(dtype));
    const Values x = test::some_values(test::bits_dtype(dtype), dims, 1);
    for (const Placement placement : test::placements) {
      for (const DType id_type : id_types) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          CAPTURE(axis);
          Dims fewer{4, 5, 6};
          fewer[axis] = 12;
          const Values ids = some_ids(id_type, fewer, dims[axis]);
          const Values source = test::some_values(test::bits_dtype(dtype), fewer, 2);
          Bits base(backend, dtype, dims, Placement::packed, &x);
          Bits from(backend, dtype, fewer, placement, &source);
          Bits out(backend, dtype, dims, placement);
          const Tensor chosen = placed(backend, id_type, ids, placement);
          ops::scatter_into(backend, out.tensor, base.tensor, chosen, from.tensor, axis);
          const Values wanted = reference::scatter(x, ids, source, axis);
          out.check(wanted);
          base.check(x);
          ops::scatter_into(backend, base.tensor, base.tensor, chosen, from.tensor, axis);
          base.check(wanted);
        }
      }
    }
  }
}

TEST_CASE("scatter_add and index_add add in order and round once, in every dtype") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Dims dims{5, 6, 7};
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    const Values x = test::some_values(dtype, dims, 1);
    for (const Placement placement : test::placements) {
      CAPTURE(static_cast<int>(placement));
      const DType id_type = id_types[static_cast<std::size_t>(placement) % 3];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        CAPTURE(axis);
        const auto check = [&](auto operation, const Values& ids, const Values& each,
                               const Values& source) {
          Tensor out = test::place(backend, dtype, dims, placement);
          operation(backend, out, placed(backend, dtype, x, placement),
                    placed(backend, id_type, ids, placement),
                    placed(backend, dtype, source, placement), axis);
          test::check_result(dtype, test::read(backend, out),
                             {reference::scatter_add(dtype, x, each, source, axis), {}});
        };
        Dims fewer{4, 5, 6};
        fewer[axis] = 12;
        const Values ids = some_ids(id_type, fewer, dims[axis]);
        check(ops::scatter_add_into, ids, ids, test::some_values(dtype, fewer, 2));
        const Values few = some_ids(id_type, {13}, dims[axis]);
        check(ops::index_add_into, few, reference::spread_ids(few, dims, axis),
              test::some_values(dtype, with_length(dims, axis, 13), 3));
      }
    }
  }
}

TEST_CASE("sums of halves are f32 until the last; elements that nothing is added to keep bits") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // 2048 + 1 is 2048 in f16; a sum beyond 65504 comes back.
  const Tensor x = Tensor::from_host<Half>({backend.allocator(), backend.stream()},
                                           std::vector<Half>{{0x6800}, {0x7BFF}, {0xFC01}}, {3});
  std::vector<std::uint8_t> ids(100, 0);
  std::vector<Half> source(100, Half{0x3C00});
  ids[7] = ids[9] = 1;
  source[7] = Half{0x7BFF};
  source[9] = Half{0xFBFF};
  const auto memory = TensorMemory(backend.allocator(), backend.stream());
  const Tensor sums = ops::index_add(backend, x, Tensor::from_host(memory, ids, {100}),
                                     Tensor::from_host(memory, source, {100}), 0);
  backend.synchronize();
  CHECK(sums.to_host<Half>(backend.stream()) ==
        std::vector<Half>{to_half(2146), {0x7BFF}, {0xFC01}});
}

TEST_CASE("an id out of range is an error at the next synchronize, which names the first") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const Tensor x = backend.zeros(DType::f32, {2, 1000});
  std::vector<std::uint32_t> many(600, 3);
  many[599] = 1000;
  many[17] = 0xFFFFFFFE;
  many[400] = 5000;
  const Tensor ids = Tensor::from_host(memory, many, {600});
  const Tensor selected = ops::index_select(backend, x, ids, 1);
  const Tensor wrong =
      Tensor::from_host(memory, std::vector<std::int64_t>{0, 1, -1, 1, -7, 0}, {2, 3});
  static_cast<void>(ops::gather(backend, x, wrong, 0));
  CHECK(message_of(backend) ==
        "index_select: id 4294967294 at position [17] of u32[600] is out of range: axis 1 of "
        "f32[2,1000] has 1000 elements");
  CHECK(message_of(backend) == "none");
  CHECK(selected.to_host<float>(backend.stream()) == std::vector<float>(1200));

  static_cast<void>(ops::index_select(backend, x, backend.zeros(DType::u8, {5}), 1));
  CHECK(message_of(backend) == "none");
  const std::vector<std::uint8_t> past_end{2};
  static_cast<void>(ops::index_select(backend, x, Tensor::from_host(memory, past_end, {1}), 0));
  CHECK(message_of(backend) ==
        "index_select: id 2 at position [0] of u8[1] is out of range: axis 0 of f32[2,1000] has 2 "
        "elements");

  const Tensor turned = wrong.with_layout(wrong.layout().transpose(0, 1));
  static_cast<void>(ops::gather(backend, x.with_layout(x.layout().transpose(0, 1)), turned, 1));
  CHECK(message_of(backend) ==
        "gather: id -7 at position [1,1] of i64[3,2] is out of range: axis 1 of f32[1000,2] has 2 "
        "elements");
  const Tensor source = Tensor::from_host(memory, std::vector<float>(6, 1.0F), {2, 3});
  const Tensor out = ops::scatter_add(backend, x, wrong, source, 0);
  CHECK(message_of(backend) ==
        "scatter_add: id -1 at position [0,2] of i64[2,3] is out of range: axis 0 of f32[2,1000] "
        "has 2 elements");
  const auto sums = out.to_host<float>(backend.stream());
  CHECK(std::vector(sums.begin(), sums.begin() + 3) == std::vector<float>{1, 0, 1});
  CHECK(std::vector(sums.begin() + 1000, sums.begin() + 1003) == std::vector<float>{1, 1, 0});
}

TEST_CASE("indexing refuses what does not fit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  Tensor x = backend.zeros(DType::f32, {4, 6});
  const Tensor ids = backend.zeros(DType::u32, {3});
  const Tensor each = backend.zeros(DType::u32, {5, 6});
  Tensor source = backend.zeros(DType::f32, {5, 6});
  const auto code = [](auto function) { return test::code_of(function); };
  constexpr ErrorCode bad = ErrorCode::invalid_argument;
  CHECK(code([&] { static_cast<void>(ops::index_select(backend, x, ids, 2)); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::index_select(backend, x, each, 0)); }) == bad);
  CHECK(code([&] {
          static_cast<void>(ops::index_select(backend, x, backend.zeros(DType::f32, {3}), 0));
        }) == ErrorCode::unsupported);
  CHECK(code([&] { ops::index_select_into(backend, x, x, ids, 0); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::gather(backend, x, each, 1)); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::gather(backend, x, ids, 0)); }) == bad);
  CHECK(code([&] {
          ops::gather_into(backend, x, x, backend.zeros(DType::u32, {4, 6}), 0);
        }) == bad);
  CHECK(code([&] { static_cast<void>(ops::scatter(backend, x, each, source, 1)); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::scatter(backend, x, each, x, 0)); }) == bad);
  CHECK(code([&] {
          static_cast<void>(ops::scatter(backend, x, each, backend.zeros(DType::f16, {5, 6}), 0));
        }) == bad);
  CHECK(code([&] { static_cast<void>(ops::scatter(backend, x, source, source, 0)); }) ==
        ErrorCode::unsupported);
  CHECK(code([&] { ops::scatter_into(backend, source, source, each, source, 0); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::index_add(backend, x, ids, source, 0)); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::index_add(backend, x, each, source, 0)); }) == bad);
  CHECK(code([&] { static_cast<void>(ops::scatter(backend, x, each, source, 0)); }) ==
        ErrorCode::internal);
}

TEST_CASE("division by zero is an error at the next synchronize where that is chosen") {
  Platforms platforms;
  const Device device = test::device(platforms);
  Backend::Options options;
  options.checks_division = true;
  for (const DType dtype : dtypes) {
    CAPTURE(to_string(dtype));
    for (const bool checks : {false, true}) {
      const Backend backend = checks ? Backend(device, options) : Backend(device);
      Values values{{3, 4}, std::vector<long double>(12, 5)};
      const Tensor a = placed(backend, dtype, values, Placement::packed);
      static_cast<void>(ops::div(backend, a, a));
      backend.synchronize();
      values.at[6] = values.at[9] = 0;
      const Tensor b = placed(backend, dtype, values, Placement::transposed);
      static_cast<void>(ops::div(backend, a, b));
      static_cast<void>(ops::mul(backend, a, b));
      const bool throws = checks && !is_floating_point(dtype);
      try {
        backend.synchronize();
        CHECK_FALSE(throws);
      } catch (const Error& error) {
        CHECK(throws);
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(error.what() == "div: the divisor 0 at position [1,2] of " +
                                  std::string(to_string(dtype)) + "[3,4] must not be 0");
      }
      backend.synchronize();
    }
  }
}
