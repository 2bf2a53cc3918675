// SPDX-License-Identifier: MIT
#include "measure/ops/call_judge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "measure/ops/sweep.hpp"
#include "report/report.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

using Run = std::function<void(const Backend&, std::span<const Tensor>, Tensor&)>;

std::string text(const report::Value& value) {
  return report::format_value(value, report::Unit::none);
}

OperationCase case_of(const char* name, DType dtype, const Dims& dims,
                      DataKind kind = DataKind::random) {
  InputMaker maker(kind, 1);
  return find_operation(name)->cases(dtype, dims, maker).front();
}

/// The operation with something done before or after it.
CallResult judge_faulty(const Backend& backend, OperationCase call, Arrangement arrangement,
                        Run run) {
  call.run = std::move(run);
  return judge_call(backend, "add", call, arrangement);
}

const WrongCall& wrong_of(const CallResult& result) {
  REQUIRE(result.wrong);
  return *result.wrong;
}

/// Changes bytes of a tensor's memory behind its back.
void poke(const Backend& backend, const Tensor& tensor, std::uint64_t offset, std::byte flip) {
  backend.synchronize();
  std::vector<std::byte> all(tensor.buffer().size_bytes());
  copy_d2h_and_wait(all, tensor.buffer());
  all[offset] ^= flip;
  copy_h2d_and_wait(Buffer(tensor.buffer()), all);
}

/// Numbers given as such, packed.
InputData input_of(DType dtype, const Dims& dims, std::vector<long double> numbers) {
  return {dtype, dims, reference::bytes_of(dtype, {dims, std::move(numbers)})};
}

/// Writes what a function makes of the inputs, each element by itself, from the host.
template <class Function>
Run on_host(Function value_of) {
  return [value_of](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    backend.synchronize();
    std::vector<reference::Values> values;
    for (const Tensor& tensor : in) {
      std::vector<std::byte> all(tensor.buffer().size_bytes());
      copy_d2h_and_wait(all, tensor.buffer());
      const PlacedTensor placed{tensor, all};
      values.push_back(
          reference::values_of(tensor.dtype(), placed.elements_of(all), tensor.dims()));
    }
    reference::Values result{values[0].dims, {}};
    for (std::size_t i = 0; i < values[0].at.size(); ++i) {
      result.at.push_back(value_of(values[0].at[i], values[1].at[i]));
    }
    std::vector<std::byte> all(out.buffer().size_bytes());
    copy_d2h_and_wait(all, out.buffer());
    PlacedTensor placed{out, all};
    placed.write(reference::bytes_of(out.dtype(), result));
  };
}

const Run add = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
  ops::add_into(backend, out, in[0], in[1]);
};

}  // namespace

TEST_CASE("a right call is right in every arrangement and has the same elements in most") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const OperationCase call = case_of("add", DType::f32, {6, 5});
  const CallResult packed = judge_call(backend, "add", call, Arrangement::packed);
  CHECK_FALSE(packed.wrong);
  CHECK(packed.checked == 30);
  for (const Arrangement arrangement : arrangements) {
    if (!takes_any_shape(arrangement)) continue;
    CAPTURE(to_string(arrangement));
    const CallResult result = judge_call(backend, "add", call, arrangement);
    CHECK_FALSE(result.wrong);
    CHECK((result.elements == packed.elements) == (arrangement != Arrangement::broadcast));
  }
}

TEST_CASE("a stride that is off by one is found at the first element that it misplaces") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Run run = [](const Backend& on, std::span<const Tensor> in, Tensor& out) {
    Dims strides(in[0].layout().strides().begin(), in[0].layout().strides().end());
    ++strides[0];
    const Layout off = Layout::strided(in[0].dims(), strides, in[0].layout().start_offset());
    ops::add_into(on, out, in[0].with_layout(off), in[1]);
  };
  for (const Arrangement arrangement : {Arrangement::packed, Arrangement::spread}) {
    const auto result = judge_faulty(backend, case_of("add", DType::i32, {4, 7}), arrangement, run);
    const WrongCall& wrong = wrong_of(result);
    CHECK(wrong.what == "element [1,0] (7)");
    REQUIRE(wrong.element);
    CHECK(wrong.element->first_index == 7);
    CHECK(wrong.element->count > 10);
    CHECK(wrong.element->reread_agrees);
  }
}

TEST_CASE("elements that were not written are found, also those of a tail") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Run run = [](const Backend& on, std::span<const Tensor> in, Tensor& out) {
    const auto part = [](const Tensor& tensor) {
      return tensor.with_layout(tensor.layout().narrow(0, 0, 1020));
    };
    Tensor half = part(out);
    ops::add_into(on, half, part(in[0]), part(in[1]));
  };
  const auto result = judge_faulty(backend, case_of("add", DType::f32, {1025}, DataKind::whole),
                                   Arrangement::packed, run);
  const WrongCall& wrong = wrong_of(result);
  CHECK(wrong.what == "element [1020] (1020)");
  REQUIRE(wrong.element);
  CHECK(wrong.element->count == 5);
  CHECK(text(wrong.element->got) == "NaN");
}

namespace {

/// Sums numbers in halves: `lanes` of them side by side, each of which takes runs of that many
/// elements by turns; neighbouring lanes are joined first, or distant ones.
struct HalfSum {
  std::size_t lanes;
  std::size_t run;
  bool joins_neighbours = true;

  static float rounded(long double value) { return to_float(to_half(static_cast<float>(value))); }

  float operator()(std::span<const long double> numbers) const {
    std::vector<float> sums(std::min(lanes, numbers.size()), 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      float& sum = sums[i / run % sums.size()];
      sum = rounded(sum + numbers[i]);
    }
    while (sums.size() > 1) {
      const std::size_t rest = (sums.size() + 1) / 2;
      std::vector<float> joined(rest);
      for (std::size_t i = 0; i < rest; ++i) {
        const std::size_t left = joins_neighbours ? 2 * i : i;
        const std::size_t right = joins_neighbours ? left + 1 : i + rest;
        joined[i] = right < sums.size() ? rounded(sums[left] + sums[right]) : sums[left];
      }
      sums = std::move(joined);
    }
    return sums[0];
  }
};

const std::vector<HalfSum> half_sums{
    {1, 1},   {32, 8},  {32, 4},        {32, 2},        {32, 1},        {64, 8},
    {256, 8}, {256, 1}, {32, 8, false}, {32, 1, false}, {64, 1, false}, {256, 8, false}};

/// Which of the cases of a sum show that it was computed so.
std::vector<std::string> cases_that_find(const HalfSum& sum_of, const Dims& dims, DataKind kind) {
  InputMaker maker(kind, 1);
  std::vector<std::string> found;
  for (const OperationCase& call : find_operation("sum")->cases(DType::f16, dims, maker)) {
    if (call.variant.find("cancelling") == std::string::npos) continue;
    const auto x = reference::values_of(DType::f16, call.inputs[0].bytes, dims);
    const std::size_t results = Layout(call.result_dims).element_count();
    const bool is_first_axis = call.variant.starts_with("first");
    reference::Values sums{call.result_dims, {}};
    for (std::size_t result = 0; result < results; ++result) {
      std::vector<long double> numbers;
      for (std::size_t k = 0; k < x.at.size() / results; ++k) {
        numbers.push_back(
            x.at[is_first_axis ? k * results + result : result * (x.at.size() / results) + k]);
      }
      sums.at.push_back(sum_of(numbers));
    }
    const auto bytes = reference::bytes_of(DType::f16, sums);
    if (compare_elements(DType::f16, bytes, call.reference(std::vector{x})).wrong) {
      found.push_back(call.variant);
    }
  }
  return found;
}

bool has_text(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

TEST_CASE("sums of halves in halves are found in every case that is made for it") {
  for (const HalfSum& sum_of : half_sums) {
    CAPTURE(sum_of.lanes);
    CAPTURE(sum_of.run);
    CAPTURE(sum_of.joins_neighbours);
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      CAPTURE(to_string(kind));
      CHECK(has_text(cases_that_find(sum_of, {1025}, kind), "cancelling"));
      const auto found = cases_that_find(sum_of, {33, 40}, kind);
      CHECK(has_text(found, "all axes, cancelling"));
      CHECK(has_text(found, "last axis, cancelling"));
      CHECK(has_text(found, "first axis, cancelling"));
    }
    // Of the width of rows that are timed without a shape.
    const auto found = cases_that_find(sum_of, {4, 4096}, DataKind::random);
    CHECK(has_text(found, "all axes, cancelling"));
    CHECK(has_text(found, "last axis, cancelling"));
  }
}

TEST_CASE("sums of halves by pairs alone are found in rows and columns") {
  constexpr std::size_t all_lanes = std::numeric_limits<std::size_t>::max();
  for (const bool joins_neighbours : {false, true}) {
    CAPTURE(joins_neighbours);
    const auto found =
        cases_that_find({all_lanes, 1, joins_neighbours}, {33, 40}, DataKind::random);
    CHECK(has_text(found, "last axis, cancelling"));
    CHECK(has_text(found, "first axis, cancelling"));
  }
}

TEST_CASE("quotients by zero and of the least number by -1 are among random numbers") {
  for (const DType dtype : {DType::u32, DType::i32, DType::i64}) {
    CAPTURE(to_string(dtype));
    const OperationCase call = case_of("div", dtype, {64});
    const auto numbers = [&](std::size_t input) {
      const InputData& data = call.inputs[input];
      return reference::values_of(dtype, data.bytes, data.dims).at;
    };
    const auto x = numbers(0);
    const auto y = numbers(1);
    CHECK(std::count(y.begin(), y.end(), 0) == 1);
    if (dtype == DType::u32) continue;
    CHECK(y[16] == -1);
    CHECK(x[16] == (dtype == DType::i32 ? -0x1p31L : -0x1p63L));
  }
}

TEST_CASE("a quotient that is rounded to f16 too early is found") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  OperationCase call = case_of("div", DType::f32, {3});
  call.inputs = {input_of(DType::f32, {3}, {8, 1, -4}), input_of(DType::f32, {3}, {2, 3, 1})};
  const auto result =
      judge_faulty(backend, call, Arrangement::packed, on_host([](long double x, long double y) {
                     return static_cast<long double>(to_float(to_half(static_cast<float>(x / y))));
                   }));
  const WrongCall& wrong = wrong_of(result);
  CHECK(wrong.what == "element [1] (1)");
  CHECK(wrong.element->count == 1);
  CHECK(text(wrong.element->got) == "0.333252");
}

TEST_CASE("a result within a bound is right, and one beyond is not") {
  reference::Expected expected{{{4}, {1, 2, 3, 4}}, {0.25L, 0.25L, 0.25L, 0}};
  const auto judged = [&](std::vector<float> got) {
    return compare_elements(DType::f32, std::as_bytes(std::span(got)), expected);
  };
  const CallResult right = judged({1.25F, 2, 2.875F, 4});
  CHECK_FALSE(right.wrong);
  CHECK(right.has_bound);
  CHECK(right.max_error == 1);
  CHECK(wrong_of(judged({1, 2.5F, 3, 4})).element->first_index == 1);
  CHECK(wrong_of(judged({1, 2, 3, 4.001F})).element->first_index == 3);
  CHECK(wrong_of(judged({1, 2, NAN, 4})).element->first_index == 2);
}

TEST_CASE("a zero within a bound has the sign of the zero that it should be") {
  const reference::Expected expected{{{3}, {-0.0L, 0.0L, 0.125L}}, {1, 1, 1}};
  const auto judged = [&](std::vector<float> got) {
    return compare_elements(DType::f32, std::as_bytes(std::span(got)), expected);
  };
  CHECK_FALSE(judged({-0.0F, 0.0F, -0.0F}).wrong);  // the last one is rounded
  CHECK_FALSE(judged({0.5F, -0.5F, 0.0F}).wrong);
  CHECK(wrong_of(judged({0.0F, 0.0F, 0.125F})).element->first_index == 0);
  CHECK(wrong_of(judged({-0.0F, -0.0F, 0.125F})).element->first_index == 1);
}

TEST_CASE("swapped operands, another rule for NaN and for division by zero are found") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Run swapped = [](const Backend& on, std::span<const Tensor> in, Tensor& out) {
    ops::sub_into(on, out, in[1], in[0]);
  };
  OperationCase call = case_of("sub", DType::i16, {3});
  call.inputs = {input_of(DType::i16, {3}, {5, 7, 9}), input_of(DType::i16, {3}, {5, 6, 1})};
  WrongCall wrong = wrong_of(judge_faulty(backend, call, Arrangement::offset, swapped));
  CHECK(wrong.element->first_index == 1);
  CHECK(text(wrong.element->expected) == "1");
  CHECK(text(wrong.element->got) == "-1");
  CHECK(wrong.element->count == 2);

  call = case_of("minimum", DType::f16, {4});
  call.inputs = {input_of(DType::f16, {4}, {1, 2, NAN, 4}),
                 input_of(DType::f16, {4}, {3, 1, 1, 1})};
  wrong = wrong_of(
      judge_faulty(backend, call, Arrangement::packed, on_host([](long double x, long double y) {
                     return std::fmin(x, y);  // ignores NaN
                   })));
  CHECK(wrong.element->first_index == 2);
  CHECK(text(wrong.element->expected) == "NaN");
  CHECK(text(wrong.element->got) == "1");

  call = case_of("div", DType::i64, {3});
  call.inputs = {input_of(DType::i64, {3}, {8, -8, 3}), input_of(DType::i64, {3}, {2, 2, 0})};
  wrong = wrong_of(judge_faulty(
      backend, call, Arrangement::packed,
      on_host([](long double x, long double y) { return y == 0 ? -1 : std::trunc(x / y); })));
  CHECK(wrong.element->first_index == 2);
  CHECK(text(wrong.element->expected) == "0");
  CHECK(text(wrong.element->got) == "-1");
}

TEST_CASE("NaN of another payload and zero of another sign are wrong") {
  const std::vector<float> zeros{0.0F, -0.0F};
  const reference::Expected positive{{{2}, {0, 0}}, {}};
  CHECK(wrong_of(compare_elements(DType::f32, std::as_bytes(std::span(zeros)), positive))
            .element->first_index == 1);
  const std::vector<std::uint32_t> nans{0x7FC00000u, 0x7FC00001u};
  const reference::Expected nan{{{2}, {NAN, NAN}}, {}};
  CHECK(wrong_of(compare_elements(DType::f32, std::as_bytes(std::span(nans)), nan))
            .element->xor_bits == 1);
}

TEST_CASE("writes outside of the output and to inputs are found") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto with_poke = [&](Arrangement arrangement, bool input, std::uint64_t offset) {
    const Run run = [=](const Backend& on, std::span<const Tensor> in, Tensor& out) {
      add(on, in, out);
      const Tensor& victim = input ? in[1] : out;
      const std::uint64_t start =
          static_cast<std::uint64_t>(static_cast<std::byte*>(victim.address()) -
                                     static_cast<std::byte*>(victim.buffer().address()));
      poke(on, victim, start + offset, std::byte{1});
    };
    return wrong_of(judge_faulty(backend, case_of("add", DType::f32, {6, 5}), arrangement, run))
        .what;
  };
  const std::string outside = "wrote outside of the output's elements";
  CHECK(with_poke(Arrangement::packed, false, static_cast<std::uint64_t>(-1)) == outside);
  CHECK(with_poke(Arrangement::packed, false, 30 * 4) == outside);
  CHECK(with_poke(Arrangement::spread, false, 4) == outside);  // between two elements
  CHECK(with_poke(Arrangement::packed, true, 0) == "changed input 1");
  CHECK(with_poke(Arrangement::spread, true, 4) == "changed input 1");
}

TEST_CASE("a call that depends on its run, or is refused, is wrong") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto calls = std::make_shared<int>(0);
  const Run changing = [calls](const Backend& on, std::span<const Tensor> in, Tensor& out) {
    add(on, in, out);
    if (++*calls > 1) poke(on, out, 256, std::byte{1});
  };
  const OperationCase call = case_of("add", DType::u8, {9});
  CHECK(wrong_of(judge_faulty(backend, call, Arrangement::packed, changing)).what ==
        "a second call gives other bits");
  const Run refusing = [](const Backend& on, std::span<const Tensor> in, Tensor& out) {
    ops::add_into(on, out, in[0], out.with_layout(Layout({3})));
  };
  const std::string what =
      wrong_of(judge_faulty(backend, call, Arrangement::packed, refusing)).what;
  CHECK(what.starts_with("refused: add: "));
  const Run failing = [](const Backend&, std::span<const Tensor>, const Tensor&) {
    throw Error(ErrorCode::device, "launch", "no");
  };
  CHECK_THROWS_AS(judge_faulty(backend, call, Arrangement::packed, failing), Error);
}
