// SPDX-License-Identifier: MIT
/// What a program does with the library's objects, in small pieces that check their own results.
/// They know no test framework, so that they run as cases of the conformance program, under
/// injected faults and under delays alike. Each leaves nothing behind, also when a call fails.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/device.hpp"

namespace hiptool::scenarios {

/// What a scenario is run on.
struct Place {
  std::span<const Device> devices;  ///< at least as many as the scenario needs
  int rounds = 1;                   ///< for what only shows by repeating it

  const Device& device() const { return devices[0]; }
  const Device& peer() const { return devices[1]; }
};

struct Scenario {
  std::string_view name;
  /// Throws Error for what the library refused and ScenarioFailed for a wrong result.
  void (*run)(const Place& place) = nullptr;
  std::size_t devices = 1;
  bool needs_kernels = false;
  bool needs_peer_access = false;
  std::string_view refused_call = {};  ///< the call whose hipErrorOutOfMemory it expects
  bool is_long = false;                ///< so it gets fewer faults
  bool races = false;                  ///< on purpose, so nothing for the thread sanitizer
  /// It holds a stream by a host function and expects others to go on. Host functions without a
  /// mandated order "may be serialized" (CUDA driver API, cuLaunchHostFunc), so delays that are
  /// host functions themselves would be held, too.
  bool holds_host_functions = false;
};

std::span<const Scenario> all();

/// Why a scenario cannot run on these devices; empty when it can.
std::string reason_to_skip(const Scenario& scenario, std::span<const Device> devices);

// memory
void buffers_round_trip(const Place& place);
void views_outlive_their_parent(const Place& place);
void views_free_nothing(const Place& place);
void allocations_come_and_go(const Place& place);
void too_much_memory(const Place& place);
void pinned_memory(const Place& place);
void registered_memory(const Place& place);
void native_handles(const Place& place);
// copies
void copies_in_order(const Place& place);
void copies_within_a_device(const Place& place);
void rectangles(const Place& place);
void fills(const Place& place);
void bounds_are_kept(const Place& place);
// streams and events
void an_event_orders_two_streams(const Place& place);
void other_streams_pass_a_held_one(const Place& place);
void host_functions_in_order(const Place& place);
void a_host_function_sees_the_copy(const Place& place);
void priorities(const Place& place);
void event_times(const Place& place);
void event_flags(const Place& place);
void times_not_ready(const Place& place);
void moved_owners(const Place& place);
// kernels
void a_kernel_fills(const Place& place);
void kernels_in_order(const Place& place);
void a_function_outlives_its_module(const Place& place);
void images_and_names_that_are_not_there(const Place& place);
void impossible_launches(const Place& place);
void a_timed_kernel(const Place& place);
void a_copy_right_behind_a_kernel(const Place& place);
void a_gate_kernel_holds_its_stream(const Place& place);
// graphs
void a_graph_repeats_its_work(const Place& place);
void a_recording_cannot_wait(const Place& place);
// devices
void a_device_tells_of_itself(const Place& place);
void a_guard_restores(const Place& place);
void two_devices_work_apart(const Place& place);
void peer_access(const Place& place);
void copies_between_peers(const Place& place);
void copies_with_peer_access(const Place& place);
void release_with_another_device_current(const Place& place);
// threads
void threads_with_streams_of_their_own(const Place& place);
void threads_on_one_stream(const Place& place);
void objects_in_many_threads(const Place& place);
// loading
void a_model_is_loaded(const Place& place);
void a_model_is_verified_while_loading(const Place& place);

}  // namespace hiptool::scenarios
