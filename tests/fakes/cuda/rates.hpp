// SPDX-License-Identifier: MIT
/// Copies that take a planted time by the events around them:
///   FAKE_CUDA_RATE=50:0.005:0.003:FILE  copies from 64 KiB on run at 50 GB/s; the rates of
///                                       processes have a standard deviation of 0.5 %, times within
///                                       a process of 0.3 %. The numbers are random, by how many
///                                       processes have used FILE, so that each run has the same.
#pragma once
#include <cstddef>
#include <optional>

#include "fakes/cuda/call.hpp"

namespace hiptool::fake {

/// A copy was queued.
void plant_copy(CUstream stream, std::size_t bytes);
/// An event was recorded behind the copies so far.
void plant_event(CUevent event, CUstream stream);
/// What the copies between two events take; absent where there were none.
std::optional<float> planted_milliseconds(CUevent start, CUevent stop);

}  // namespace hiptool::fake
