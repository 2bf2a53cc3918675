// SPDX-License-Identifier: MIT
/// What the libraries' convolutions and poolings have in common.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "hip/dnn.hpp"

namespace hiptool::hip {

/// Whether there is nothing to compute, which is not an error.
bool is_empty(const ConvCall& call);

/// 0, blas_types, blas_invalid_call, or blas_too_large where the library's 32-bit sizes are too
/// small.
int check_conv(const ConvCall& call);

/// The same of a pooling. An image smaller than the window is blas_invalid_call.
int check_pool(const PoolCall& call);

/// What a solution is chosen for.
using ConvKey = std::tuple<int, int, std::array<std::int64_t, 14>, std::size_t, bool>;
ConvKey key_of(const ConvCall& call);

/// A handle with its solutions, and the stream it has; `Plan` destroys what it holds.
template <class Plan>
struct ConvHandle {
  void* native = nullptr;
  bool has_stream = false;
  hipStream_t stream = nullptr;
  std::map<ConvKey, std::unique_ptr<Plan>> plans;

  /// Keeps a plan. Work that is queued keeps no reference to one, so a full store is emptied.
  Plan& keep(const ConvKey& key, std::unique_ptr<Plan> plan) {
    constexpr std::size_t most_plans = 1024;
    if (plans.size() >= most_plans) plans.clear();
    return *(plans[key] = std::move(plan));
  }
};

}  // namespace hiptool::hip
