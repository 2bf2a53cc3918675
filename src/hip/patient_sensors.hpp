// SPDX-License-Identifier: MIT
/// Sensors for whoever must not wait for a driver that hangs.
#pragma once
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>

#include "hip/sensors.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

/// A first reading may initialize a GPU, which takes some seconds.
inline constexpr std::chrono::milliseconds sensor_patience{10'000};

/// Opens and reads the sensors on a thread of their own. Where that does not end within `patience`,
/// there are no sensors, or a reading has timed out; until it ends, later calls for that platform
/// give the same without waiting. The thread is left behind if it hangs, see has_left_sensors().
/// Safe under threads; throws what the sensors throw.
SensorLibrary open_patient_sensors(Platform platform, const std::filesystem::path& root = "/",
                                   std::chrono::milliseconds patience = sensor_patience);

/// Whether such a thread has not ended. The process must then end without destructors, which would
/// run beside it. A thread that the kernel cannot interrupt keeps the process from ending.
bool has_left_sensors() noexcept;

/// The same with other sensors. `late_calls` counts calls and threads that nobody waits for any
/// more and that have not ended; it outlives them.
SensorLibrary open_patient_sensors(std::function<SensorLibrary()> open,
                                   std::chrono::milliseconds patience,
                                   std::atomic<int>& late_calls);

}  // namespace hiptool::hip
