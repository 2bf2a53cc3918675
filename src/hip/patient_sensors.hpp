// SPDX-License-Identifier: MIT
/// Sensors for whoever must not wait for a driver that hangs.
#pragma once
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>

#include "hip/sensors.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

/// A first reading may initialize a GPU, which takes some seconds.
inline constexpr std::chrono::milliseconds sensor_patience{10'000};

/// How long a call is waited for once the program is to stop: sensors that respond take some
/// milliseconds.
inline constexpr std::chrono::milliseconds cancelled_patience{100};

/// Opens and reads the sensors on a thread of their own. Where that does not end within `patience`,
/// there are no sensors, or a reading has timed out; until it ends, later calls for that platform
/// give the same without waiting. The same holds, after `cancelled_patience`, where `cancel` is
/// set, which outlives the sensors; null: nothing cuts a wait short. The thread is left running if
/// it hangs, see has_left_sensors(). Safe under threads; throws what the sensors throw.
SensorLibrary open_patient_sensors(Platform platform, const std::filesystem::path& root = "/",
                                   std::chrono::milliseconds patience = sensor_patience,
                                   const CancelToken* cancel = nullptr);

/// Whether such a thread has not ended. The process must then end without destructors, which would
/// run beside it. A thread that the kernel cannot interrupt keeps the process from ending.
bool has_left_sensors() noexcept;

/// The same with other sensors. `late_calls` counts calls and threads that nobody waits for any
/// more and that have not ended; it outlives them.
SensorLibrary open_patient_sensors(std::function<SensorLibrary()> open,
                                   std::chrono::milliseconds patience, std::atomic<int>& late_calls,
                                   const CancelToken* cancel = nullptr);

}  // namespace hiptool::hip
