// SPDX-License-Identifier: MIT
/// Devices: the current one of each thread, their properties, access between peers.
#pragma once

namespace hiptool::hip::cpu {

inline constexpr int max_devices = 64;

/// The largest number of devices of all bindings so far: objects of an earlier, larger binding
/// stay valid after a smaller one.
int known_device_count();
void raise_known_device_count(int count);

bool is_device(int ordinal);

/// The calling thread's device; each thread starts on 0.
int current_device();
void set_current_device(int ordinal);

}  // namespace hiptool::hip::cpu
