// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "hiptool/conv.hpp"
#include "hiptool/ops.hpp"
#include "ops/backend_state.hpp"
#include "ops/conv_columns.hpp"
#include "ops/images.hpp"
#include "ops/rows.hpp"

namespace hiptool::ops {
namespace {

/// A convolution along one axis or two; x and weights as the caller has them.
struct ConvCall {
  std::string_view name;
  bool is_transposed;
  const Tensor& x;
  const Tensor& weights;
  ConvOptions options;  // of one axis, the width

  [[noreturn]] void fail(const std::string& why) const {
    refuse(name, describe(x) + " with weights " + describe(weights) + ": " + why);
  }

  std::size_t rank() const { return x.layout().rank(); }

  /// left * right + more, where that fits 62 bits.
  std::uint64_t checked(std::uint64_t left, std::uint64_t right, std::uint64_t more) const {
    std::uint64_t result = 0;
    if (__builtin_mul_overflow(left, right, &result) ||
        __builtin_add_overflow(result, more, &result) || result >> 62 != 0) {
      fail("the size does not fit 62 bits");
    }
    return result;
  }

  /// Results along an axis of the images: 0 for the height.
  std::uint64_t size_along(std::size_t i) const {
    const std::uint64_t in = x.dims()[rank() - 2 + i];
    const std::uint64_t kernel = weights.dims()[rank() - 2 + i];
    const std::uint64_t padding = checked(options.padding[i], 2, 0);
    if (kernel == 0) fail("the kernel has no elements");
    if (options.stride[i] == 0) fail("the stride is 0");
    if (options.dilation[i] == 0) fail("the dilation is 0");
    const std::uint64_t reach = checked(options.dilation[i], kernel - 1, 1);
    const std::string axis = rank() == 3 ? "length" : i == 0 ? "height" : "width";
    if (is_transposed) {
      if (in == 0) fail("the input has no elements along its " + axis);
      const std::uint64_t whole =
          checked(options.stride[i], in - 1, checked(1, reach, options.output_padding[i]));
      if (whole <= padding) fail("the padding leaves no result along the " + axis);
      return whole - padding;
    }
    if (options.output_padding[i] != 0) fail("only transposed convolutions have output padding");
    const std::uint64_t padded = checked(1, in, padding);
    if (reach > padded) {
      fail("the kernel spans " + std::to_string(reach) + " along the " + axis +
           ", and the padded image " + std::to_string(padded));
    }
    return (padded - reach) / options.stride[i] + 1;
  }

  std::vector<std::uint64_t> result_dims(std::size_t wanted_rank) const {
    require_rank(name, x, wanted_rank);
    require_real(name, x);
    require_same_dtype(name, x, weights);
    if (weights.layout().rank() != wanted_rank) fail("the weights have another rank");
    const std::uint64_t groups = options.groups;
    if (groups == 0) fail("0 groups");
    const std::string in_groups = " channels in " + std::to_string(groups) + " groups";
    const std::uint64_t in = x.dims()[1];
    const std::uint64_t expected = is_transposed ? weights.dims()[0] : in / groups;
    const std::uint64_t found = is_transposed ? in : weights.dims()[1];
    if (in % groups != 0 || found != expected) {
      fail("the weights do not fit " + std::to_string(in) + in_groups);
    }
    if (!is_transposed && weights.dims()[0] % groups != 0) {
      fail("the weights make " + std::to_string(weights.dims()[0]) + in_groups);
    }
    std::vector<std::uint64_t> dims{
        x.dims()[0], is_transposed ? checked(weights.dims()[1], groups, 0) : weights.dims()[0]};
    for (std::size_t i = 4 - wanted_rank; i < 2; ++i) dims.push_back(size_along(i));
    return dims;
  }
};

ConvOptions along_width(const Conv1dOptions& options) {
  return {{1, options.stride},   {0, options.padding},
          {1, options.dilation}, {0, options.output_padding},
          options.groups,        options.workspace_bytes,
          options.library,       options.allows_tf32};
}

void run_checked(const Backend& backend, const ConvCall& call, std::size_t rank, Tensor& out) {
  const std::array<const Tensor*, 3> tensors{&call.x, &call.weights, &out};
  require_device(backend, call.name, tensors);
  const auto dims = call.result_dims(rank);
  require_output(call.name, std::span(tensors).first(2), out, call.x.dtype(), dims);
  require_separate(call.name, std::span(tensors).first(2), out);
  if (out.element_count() == 0) return;
  // A sum of nothing is 0.
  if (call.weights.element_count() == 0 || call.x.element_count() == 0) {
    fill_into(backend, out, 0);
    return;
  }
  const bool is_line = rank == 3;
  const Tensor x = is_line ? as_image(call.x) : call.x;
  const Tensor weights = is_line ? as_image(call.weights) : call.weights;
  Tensor images = is_line ? as_image(out) : out;
  const bool may_use_library = call.options.library == Library::automatic && !call.is_transposed;
  if (may_use_library &&
      state_of(backend).libraries.convolve(backend, x, weights, call.options, images)) {
    return;
  }
  if (is_direct(weights, call.options, call.is_transposed)) {
    run_direct(backend, x, weights, call.options, call.is_transposed, images);
  } else {
    (call.is_transposed ? run_conv_transpose : run_conv)(backend, x, weights, call.options, images);
  }
}

Tensor run_new(const Backend& backend, const ConvCall& call, std::size_t rank) {
  Tensor out = backend.empty(call.x.dtype(), call.result_dims(rank));
  run_checked(backend, call, rank, out);
  return out;
}

}  // namespace

void conv2d_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& weights,
                 const ConvOptions& options) {
  run_checked(backend, {"conv2d", false, x, weights, options}, 4, out);
}
Tensor conv2d(const Backend& backend, const Tensor& x, const Tensor& weights,
              const ConvOptions& options) {
  return run_new(backend, {"conv2d", false, x, weights, options}, 4);
}

void conv1d_into(const Backend& backend, Tensor& out, const Tensor& x, const Tensor& weights,
                 const Conv1dOptions& options) {
  run_checked(backend, {"conv1d", false, x, weights, along_width(options)}, 3, out);
}
Tensor conv1d(const Backend& backend, const Tensor& x, const Tensor& weights,
              const Conv1dOptions& options) {
  return run_new(backend, {"conv1d", false, x, weights, along_width(options)}, 3);
}

void conv_transpose2d_into(const Backend& backend, Tensor& out, const Tensor& x,
                           const Tensor& weights, const ConvOptions& options) {
  run_checked(backend, {"conv_transpose2d", true, x, weights, options}, 4, out);
}
Tensor conv_transpose2d(const Backend& backend, const Tensor& x, const Tensor& weights,
                        const ConvOptions& options) {
  return run_new(backend, {"conv_transpose2d", true, x, weights, options}, 4);
}

void conv_transpose1d_into(const Backend& backend, Tensor& out, const Tensor& x,
                           const Tensor& weights, const Conv1dOptions& options) {
  run_checked(backend, {"conv_transpose1d", true, x, weights, along_width(options)}, 3, out);
}
Tensor conv_transpose1d(const Backend& backend, const Tensor& x, const Tensor& weights,
                        const Conv1dOptions& options) {
  return run_new(backend, {"conv_transpose1d", true, x, weights, along_width(options)}, 3);
}

}  // namespace hiptool::ops
