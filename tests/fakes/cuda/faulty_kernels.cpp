// SPDX-License-Identifier: MIT
#include "fakes/cuda/faulty_kernels.hpp"

#include <hiptool_cpu_half.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fakes/common/settings.hpp"

// Shared with the kernels, which have these types without a namespace.
using std::uint32_t;
using std::uint64_t;
#include <hiptool_rows.h>

namespace hiptool::fake {
namespace {

using hiptool_cpu::HalfFormat;
using hiptool_ops::Operands;
using hiptool_ops::Reduction;

template <class Argument>
Argument& argument(void** arguments, std::size_t index) {
  return *static_cast<Argument*>(arguments[index]);
}

/// Queues a function that takes the place of a kernel.
CUresult queue(CUstream stream, std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  const auto call = [](void* data) {
    const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()>*>(data));
    (*own)();
  };
  return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, call,
                       owned.release());
}

/// Each element of a packed operation of two tensors by a function of the host.
template <class Number, class Function>
CUresult queue_binary(CUstream stream, void** arguments, Function function) {
  const auto count = argument<std::uint64_t>(arguments, 1);
  const auto* const a = argument<const Number*>(arguments, 2);
  const auto* const b = argument<const Number*>(arguments, 3);
  auto* const out = argument<Number*>(arguments, 4);
  return queue(stream, [=] { std::transform(a, a + count, b, out, function); });
}

template <unsigned operands>
std::array<std::uint64_t, operands> places_of(const Operands<operands>& all, std::uint64_t index) {
  std::array<std::uint64_t, operands> places{};
  for (unsigned axis = 0; axis < all.axes; ++axis) {
    for (unsigned k = 0; k < operands; ++k) {
      places[k] += index % all.dims[axis] * all.strides[k][axis];
    }
    index /= all.dims[axis];
  }
  return places;
}

/// One sum after the other, each element added in halves.
void sum_in_halves(const Reduction& all, const std::uint16_t* in, void* out) {
  for (std::uint64_t result = 0; result < all.kept.count; ++result) {
    const auto kept = places_of(all.kept, result);
    for (std::uint64_t chunk = 0; chunk < all.chunks; ++chunk) {
      const std::uint64_t begin = chunk * all.chunk_length;
      const std::uint64_t end = std::min(all.length, begin + all.chunk_length);
      std::uint16_t sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint16_t element = in[kept[0] + places_of(all.reduced, i)[0]];
        sum = HalfFormat::narrow(HalfFormat::widen(sum) + HalfFormat::widen(element));
      }
      const std::uint64_t place = kept[1] + chunk;
      if (all.result == hiptool_ops::SumResult::f32) {
        static_cast<float*>(out)[place] = HalfFormat::widen(sum);
      } else {
        static_cast<std::uint16_t*>(out)[place] = sum;
      }
    }
  }
}

CUresult launch_with_long_stride(void** arguments, const LaunchKernel& launch) {
  auto operands = argument<Operands<3>>(arguments, 1);
  ++operands.strides[0][operands.axes - 1];
  operands.packed &= ~1U;  // its pieces are not aligned any more
  void* changed[] = {arguments[0], &operands, arguments[2], arguments[3], arguments[4]};
  return launch(changed);
}

CUresult launch_without_tail(void** arguments, const LaunchKernel& launch) {
  std::uint64_t count = argument<std::uint64_t>(arguments, 1) / 8 * 8;
  void* changed[] = {arguments[0], &count, arguments[2], arguments[3], arguments[4]};
  return launch(changed);
}

CUresult launch_swapped(void** arguments, const LaunchKernel& launch) {
  void* changed[] = {arguments[0], arguments[1], arguments[3], arguments[2], arguments[4]};
  return launch(changed);
}

}  // namespace

CUresult launch_faulty(const std::string& kernel, CUstream stream, void** arguments,
                       const LaunchKernel& launch) {
  const std::string wanted = text_from("FAKE_CUDA_FAULTY_KERNEL", "");
  const auto colon = wanted.find(':');
  if (arguments == nullptr || wanted.substr(0, colon) != kernel) return launch(arguments);
  const std::string fault = wanted.substr(colon + 1);
  if (fault == "stride") return launch_with_long_stride(arguments, launch);
  if (fault == "tail") return launch_without_tail(arguments, launch);
  if (fault == "swapped") return launch_swapped(arguments, launch);
  if (fault == "nan") {
    return queue_binary<float>(stream, arguments, [](float x, float y) { return std::fmin(x, y); });
  }
  if (fault == "zero") {
    return queue_binary<std::int32_t>(stream, arguments, [](std::int32_t x, std::int32_t y) {
      return y == 0 ? -1 : static_cast<std::int32_t>(std::int64_t{x} / y);
    });
  }
  if (fault == "halves") {
    const auto all = argument<Reduction>(arguments, 0);
    const auto* const in = argument<const std::uint16_t*>(arguments, 1);
    void* const out = argument<void*>(arguments, 3);
    return queue(stream, [=] { sum_in_halves(all, in, out); });
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace hiptool::fake
