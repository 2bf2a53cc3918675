// SPDX-License-Identifier: MIT
#include "reference/ops/conv.hpp"

#include <algorithm>
#include <cmath>

#include "hiptool/error.hpp"
#include "unit/ops/check_images.hpp"

using namespace hiptool;
using ops::Conv1dOptions;
using ops::ConvOptions;
using test::Dims;
using test::Placement;

namespace {

constexpr std::array conv_types{DType::f16, DType::bf16, DType::f32, DType::f64};

struct ConvCase {
  Dims x;
  Dims weights;  // of conv2d
  ConvOptions options;
};

ConvOptions conv_options(ops::HeightWidth stride, ops::HeightWidth padding,
                         ops::HeightWidth dilation, std::uint64_t groups = 1,
                         ops::HeightWidth output_padding = {0, 0}) {
  ConvOptions options;
  options.stride = stride;
  options.padding = padding;
  options.dilation = dilation;
  options.groups = groups;
  options.output_padding = output_padding;
  return options;
}

const std::vector<ConvCase> conv_cases{
    {{2, 3, 6, 7}, {4, 3, 3, 2}, {}},
    {{1, 2, 7, 5}, {3, 2, 2, 3}, conv_options({2, 1}, {1, 2}, {1, 1})},
    {{2, 2, 8, 9}, {2, 2, 3, 2}, conv_options({1, 3}, {0, 1}, {2, 3})},
    {{1, 4, 5, 6}, {6, 2, 2, 2}, conv_options({1, 2}, {2, 0}, {1, 2}, 2)},
    {{2, 3, 4, 5}, {6, 1, 3, 3}, conv_options({1, 1}, {1, 1}, {1, 1}, 3)},
    {{2, 5, 3, 4}, {3, 5, 1, 1}, {}},
    {{1, 4, 4, 4}, {4, 2, 1, 1}, conv_options({1, 1}, {0, 0}, {3, 2}, 2)},
    {{1, 3, 5, 6}, {2, 3, 1, 1}, conv_options({2, 3}, {1, 0}, {1, 1})},
    {{1, 1, 2, 2}, {1, 1, 5, 4}, conv_options({3, 2}, {4, 5}, {1, 2})},
    {{1, 2, 1, 33}, {2, 2, 1, 4}, conv_options({1, 2}, {0, 3}, {1, 2})},
    // The same with more channels, which are made by products of matrices.
    {{2, 3, 8, 9}, {5, 3, 3, 2}, conv_options({1, 3}, {0, 1}, {2, 3})},
    {{1, 4, 5, 6}, {6, 2, 2, 2}, conv_options({2, 1}, {0, 2}, {2, 1}, 2)},
    {{2, 6, 4, 5}, {6, 3, 1, 1}, conv_options({1, 1}, {0, 0}, {1, 1}, 2)},
    {{1, 3, 5, 6}, {3, 3, 1, 1}, conv_options({2, 3}, {1, 0}, {1, 1})},
    {{1, 3, 1, 33}, {4, 3, 1, 4}, conv_options({1, 2}, {0, 3}, {1, 2})},
    // Results of one pixel: columns of one element, which several images make a matrix.
    {{2, 8, 1, 1}, {8, 8, 1, 1}, {}},
    {{3, 5, 2, 2}, {6, 5, 2, 2}, {}},
};

/// One more result along an axis where the stride leaves room for it.
ConvOptions with_output_padding(ConvOptions options) {
  options.output_padding = {options.stride[0] - 1, options.stride[1] - 1};
  return options;
}

/// Weights of conv2d as those of the transposed convolution back to the same images.
Dims transposed_input(const ConvCase& each, const std::vector<std::uint64_t>& result_dims) {
  return {each.x[0], each.weights[0], result_dims[2], result_dims[3]};
}

std::vector<std::byte> bytes_of_result(const Backend& backend, const Tensor& tensor) {
  backend.synchronize();
  std::vector<std::byte> bytes(tensor.size_bytes());
  tensor.copy_to_host(bytes);
  return bytes;
}

Placement next_placement(Placement placement, std::size_t by) {
  return test::placements[(static_cast<std::size_t>(placement) + by) % test::placements.size()];
}

std::string conv_message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Tensor tensor_of(const Backend& backend, const std::vector<double>& values,
                 std::initializer_list<std::uint64_t> dims) {
  return Tensor::from_host({backend.allocator(), backend.stream()}, values, dims);
}

}  // namespace

TEST_CASE("convolutions of whole numbers are exact, in every type and layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : conv_types) {
    CAPTURE(to_string(dtype));
    for (std::size_t i = 0; i < conv_cases.size(); ++i) {
      CAPTURE(i);
      const ConvCase& each = conv_cases[i];
      const auto x = test::whole_values(dtype, each.x, 1);
      const auto weights = test::whole_values(dtype, each.weights, 2);
      const auto wanted = reference::conv2d(dtype, x, weights, each.options);
      CHECK(wanted.slack.empty());
      const ConvOptions back = with_output_padding(each.options);
      const auto y = test::whole_values(dtype, transposed_input(each, wanted.values.dims), 3);
      const auto wanted_back = reference::conv_transpose2d(dtype, y, weights, back);
      for (const Placement placement : test::placements) {
        CAPTURE(static_cast<int>(placement));
        const Tensor in = test::placed(backend, dtype, x, placement);
        const Tensor factors = test::placed(backend, dtype, weights, next_placement(placement, 1));
        Tensor out = test::place(backend, dtype, wanted.values.dims, next_placement(placement, 2));
        ops::conv2d_into(backend, out, in, factors, each.options);
        test::check_result(dtype, test::read(backend, out), wanted);

        const Tensor in_back = test::placed(backend, dtype, y, placement);
        Tensor out_back =
            test::place(backend, dtype, wanted_back.values.dims, next_placement(placement, 2));
        ops::conv_transpose2d_into(backend, out_back, in_back, factors, back);
        test::check_result(dtype, test::read(backend, out_back), wanted_back);
      }
    }
  }
}

TEST_CASE("convolutions of reals stay within the bound, and the same whatever the workspace is") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : conv_types) {
    CAPTURE(to_string(dtype));
    for (const ConvCase& each : {conv_cases[1], conv_cases[11], conv_cases[14], conv_cases[9],
                                 ConvCase{{2, 40, 5, 6}, {3, 40, 3, 3}, {}}}) {
      const auto x = test::real_values(dtype, each.x, 4);
      const auto weights = test::real_values(dtype, each.weights, 5);
      const Tensor in = test::placed(backend, dtype, x, Placement::packed);
      const Tensor factors = test::placed(backend, dtype, weights, Placement::packed);
      const auto wanted = reference::conv2d(dtype, x, weights, each.options);
      const Tensor out = ops::conv2d(backend, in, factors, each.options);
      const auto bytes = bytes_of_result(backend, out);
      test::check_result(dtype, bytes, wanted);
      const Tensor back = ops::conv_transpose2d(backend, out, factors, each.options);
      const auto back_bytes = bytes_of_result(backend, back);
      const auto rounded = reference::values_of(dtype, bytes, wanted.values.dims);
      test::check_result(dtype, back_bytes,
                         reference::conv_transpose2d(dtype, rounded, weights, each.options));
      // Of one result, of some columns or channels, of some rows, of an image.
      const bool is_small = each.x[1] <= 3 && dtype == DType::f32;
      const std::vector<std::uint64_t> workspaces =
          is_small ? std::vector<std::uint64_t>{0, 500, 5000} : std::vector<std::uint64_t>{20000};
      for (const std::uint64_t workspace : workspaces) {
        CAPTURE(workspace);
        ConvOptions options = each.options;
        options.workspace_bytes = workspace;
        CHECK(bytes_of_result(backend, ops::conv2d(backend, in, factors, options)) == bytes);
        CHECK(bytes_of_result(backend, ops::conv_transpose2d(backend, out, factors, options)) ==
              back_bytes);
      }
    }
  }
}

TEST_CASE("convolutions along one axis") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : {DType::f16, DType::f64}) {
    for (const Conv1dOptions& options :
         std::vector<Conv1dOptions>{{}, {2, 1, 1}, {1, 0, 3}, {3, 4, 2, 0, 2}, {1, 1, 1, 0, 4}}) {
      const auto x = test::whole_values(dtype, {2, 4, 11}, 6);
      const auto weights = test::whole_values(dtype, {8, 4 / options.groups, 3}, 7);
      const auto wanted = reference::conv1d(dtype, x, weights, options);
      const auto y = test::whole_values(dtype, wanted.values.dims, 8);
      Conv1dOptions back = options;
      back.output_padding = options.stride - 1;
      const auto wanted_back = reference::conv_transpose1d(dtype, y, weights, back);
      for (const Placement placement : test::placements) {
        const Tensor in = test::placed(backend, dtype, x, placement);
        const Tensor factors = test::placed(backend, dtype, weights, next_placement(placement, 1));
        Tensor out = test::place(backend, dtype, wanted.values.dims, next_placement(placement, 2));
        ops::conv1d_into(backend, out, in, factors, options);
        test::check_result(dtype, test::read(backend, out), wanted);
        const Tensor in_back = test::placed(backend, dtype, y, placement);
        const Tensor result = ops::conv_transpose1d(backend, in_back, factors, back);
        CHECK(std::ranges::equal(result.dims(), wanted_back.values.dims));
        test::check_result(dtype, bytes_of_result(backend, result), wanted_back);
      }
    }
  }
}

TEST_CASE("the transposed convolution is the adjoint") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const DType dtype = DType::f64;
  const auto inner = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  for (std::size_t i = 0; i < conv_cases.size(); ++i) {
    CAPTURE(i);
    const ConvCase& each = conv_cases[i];
    const Tensor x =
        test::placed(backend, dtype, test::whole_values(dtype, each.x, 9), Placement::packed);
    const Tensor weights = test::placed(backend, dtype, test::whole_values(dtype, each.weights, 10),
                                        Placement::packed);
    const Tensor out = ops::conv2d(backend, x, weights, each.options);
    const Dims dims(out.dims().begin(), out.dims().end());
    const Tensor y =
        test::placed(backend, dtype, test::whole_values(dtype, dims, 11), Placement::packed);
    // Rows and columns of x that no kernel reaches get zeros.
    ConvOptions back = each.options;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::uint64_t reach = back.dilation[axis] * (each.weights[2 + axis] - 1) + 1;
      back.output_padding[axis] =
          (each.x[2 + axis] + 2 * back.padding[axis] - reach) % back.stride[axis];
    }
    const Tensor adjoint = ops::conv_transpose2d(backend, y, weights, back);
    REQUIRE(std::ranges::equal(adjoint.dims(), x.dims()));
    CHECK(inner(out.to_host<double>(backend.stream()), y.to_host<double>(backend.stream())) ==
          inner(x.to_host<double>(backend.stream()), adjoint.to_host<double>(backend.stream())));
  }
}

TEST_CASE("a convolution by numbers computed elsewhere") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  // x is (7 i + 3 i^2) % 11 - 5, weights (5 i + i^2) % 7 - 3, y (3 i + i^2) % 9 - 4; sums of
  // shifted slices in numpy.
  const auto numbers = [](int count, int factor, int square, int modulus, int less) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) {
      values.push_back((factor * i + square * i * i) % modulus - less);
    }
    return values;
  };
  const Tensor x = tensor_of(backend, numbers(40, 7, 3, 11, 5), {1, 2, 4, 5});
  const Tensor weights = tensor_of(backend, numbers(12, 5, 1, 7, 3), {2, 1, 2, 3});
  const Tensor y = tensor_of(backend, numbers(12, 3, 1, 9, 4), {1, 2, 2, 3});
  CHECK(ops::conv2d(backend, x, weights, conv_options({2, 1}, {1, 2}, {1, 2}, 2))
            .to_host<double>(backend.stream()) ==
        std::vector<double>{12, -8,  -8,  2,  -10, -41, 15, 7,  -1,  2,   9,  -27, -12, 27, -3,
                            10, -10, -10, -6, 15,  -16, 1,  14, -18, -18, 18, -12, -9,  15, -6});
  CHECK(ops::conv_transpose2d(backend, y, weights, conv_options({2, 3}, {1, 1}, {2, 1}, 2, {1, 2}))
            .to_host<double>(backend.stream()) ==
        std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, -4, 20, 9,  -9, 9,  0,  6, 6,   0,
                            0, 0, 0, 0, 0, 0, 0, 0, 0, 8,  8,  0,  6,  6,  0,  0, 0,   0,
                            0, 0, 0, 0, 0, 0, 0, 0, 0, 12, -4, -9, 0,  -6, -9, 9, -15, 0,
                            0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  8,  0,  0,  0,  9,  0, 6,   0});
}

TEST_CASE("edges and errors of convolutions") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto zeros = [&](DType dtype, std::initializer_list<std::uint64_t> dims) {
    return backend.zeros(dtype, dims);
  };
  Tensor x = zeros(DType::f32, {1, 4, 5, 6});
  const Tensor weights = zeros(DType::f32, {2, 4, 3, 3});
  const auto error_of = [&](const Tensor& factors, const ConvOptions& options) {
    return conv_message([&] { static_cast<void>(ops::conv2d(backend, x, factors, options)); });
  };
  CHECK(error_of(zeros(DType::f32, {2, 4, 6, 3}), {}) ==
        "conv2d: f32[1,4,5,6] with weights f32[2,4,6,3]: the kernel spans 6 along the height, and "
        "the padded image 5");
  CHECK(error_of(weights, conv_options({1, 1}, {0, 0}, {1, 3})) ==
        "conv2d: f32[1,4,5,6] with weights f32[2,4,3,3]: the kernel spans 7 along the width, and "
        "the padded image 6");
  CHECK(error_of(weights, conv_options({1, 1}, {0, 0}, {1, 1}, 2)) ==
        "conv2d: f32[1,4,5,6] with weights f32[2,4,3,3]: the weights do not fit 4 channels in 2 "
        "groups");
  CHECK(error_of(zeros(DType::f32, {3, 2, 3, 3}), conv_options({1, 1}, {0, 0}, {1, 1}, 2)) ==
        "conv2d: f32[1,4,5,6] with weights f32[3,2,3,3]: the weights make 3 channels in 2 groups");
  for (const ConvOptions& options :
       {conv_options({0, 1}, {0, 0}, {1, 1}), conv_options({1, 1}, {0, 0}, {1, 0}),
        conv_options({1, 1}, {0, 0}, {1, 1}, 0), conv_options({1, 1}, {0, 0}, {1, 1}, 1, {0, 1}),
        conv_options({1, 1}, {~0ull, 0}, {1, 1}), conv_options({1, 1}, {0, 0}, {~0ull / 2, 1})}) {
    CHECK(test::code_of([&] { static_cast<void>(ops::conv2d(backend, x, weights, options)); }) ==
          ErrorCode::invalid_argument);
  }
  CHECK(test::code_of([&] {
          static_cast<void>(ops::conv2d(backend, x, zeros(DType::f64, {2, 4, 3, 3})));
        }) == ErrorCode::invalid_argument);
  CHECK(conv_message([&] {
          static_cast<void>(ops::conv2d(backend, zeros(DType::f8e4m3, {1, 1, 1, 1}),
                                        zeros(DType::f8e4m3, {1, 1, 1, 1})));
        }) == "conv2d: f8e4m3[1,1,1,1]; it takes f16, bf16, f32 and f64");
  CHECK(test::code_of([&] { static_cast<void>(ops::conv1d(backend, x, weights)); }) ==
        ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { ops::conv2d_into(backend, x, x, weights, {}); }) ==
        ErrorCode::invalid_argument);
  CHECK(conv_message([&] {
          static_cast<void>(ops::conv_transpose1d(backend, zeros(DType::f32, {1, 1, 2}),
                                                  zeros(DType::f32, {1, 1, 1}), {1, 1}));
        }) ==
        "conv_transpose1d: f32[1,1,2] with weights f32[1,1,1]: the padding leaves no result "
        "along the length");
  CHECK(conv_message([&] {
          static_cast<void>(ops::conv_transpose2d(backend, x, zeros(DType::f32, {2, 4, 3, 3})));
        }) ==
        "conv_transpose2d: f32[1,4,5,6] with weights f32[2,4,3,3]: the weights do not fit 4 "
        "channels in 1 groups");

  // Sums of nothing, and nothing at all.
  const Tensor none =
      ops::conv2d(backend, zeros(DType::f32, {1, 0, 3, 3}), zeros(DType::f32, {2, 0, 2, 2}));
  CHECK(none.to_host<float>(backend.stream()) == std::vector<float>(8));
  CHECK(ops::conv2d(backend, zeros(DType::f32, {0, 4, 5, 6}), weights).element_count() == 0);
  CHECK(ops::conv_transpose2d(backend, zeros(DType::f32, {0, 2, 5, 6}), weights).element_count() ==
        0);
  // A huge stride has one result, in the transposed convolution one product each.
  const Tensor ones = ops::fill(backend, DType::f32, {1, 4, 5, 6}, 1);
  const Tensor unit = ops::fill(backend, DType::f32, {2, 4, 3, 3}, 1);
  CHECK(ops::conv2d(backend, ones, unit, conv_options({~0ull, 1ull << 40}, {0, 0}, {1, 1}))
            .to_host<float>(backend.stream()) == std::vector<float>(2, 36));
  const Tensor one = ops::fill(backend, DType::f32, {1, 2, 1, 1}, 1);
  CHECK(ops::conv_transpose2d(backend, one, unit, conv_options({1ull << 40, 3}, {0, 1}, {1, 1}))
            .to_host<float>(backend.stream()) == std::vector<float>(12, 2));
}
