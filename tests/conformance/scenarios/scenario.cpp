// SPDX-License-Identifier: MIT
#include "scenarios/scenario.hpp"

#include <array>

#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/kernel_loader.hpp"

namespace hiptool::scenarios {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool finds_races = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool finds_races = true;
#else
constexpr bool finds_races = false;
#endif
#else
constexpr bool finds_races = false;
#endif

using Run = void(const Place&);

constexpr Scenario plain(std::string_view name, Run* run) { return {.name = name, .run = run}; }

constexpr Scenario with_kernels(std::string_view name, Run* run) {
  return {.name = name, .run = run, .needs_kernels = true};
}

constexpr Scenario on_two(std::string_view name, Run* run) {
  return {.name = name, .run = run, .devices = 2};
}

constexpr Scenario on_peers(std::string_view name, Run* run) {
  return {.name = name, .run = run, .devices = 2, .needs_peer_access = true};
}

constexpr std::array list{
    plain("memory: buffers round trip", buffers_round_trip),
    plain("memory: views outlive their parent", views_outlive_their_parent),
    plain("memory: views free nothing", views_free_nothing),
    plain("memory: allocations come and go", allocations_come_and_go),
    Scenario{.name = "memory: too much of it", .run = too_much_memory, .refused_call = "hipMalloc"},
    plain("memory: pinned", pinned_memory),
    plain("memory: registered", registered_memory),
    plain("memory: native handles", native_handles),
    plain("copies: in the order of their stream", copies_in_order),
    plain("copies: within a device", copies_within_a_device),
    plain("copies: rectangles", rectangles),
    plain("copies: fills", fills),
    plain("copies: bounds are kept", bounds_are_kept),
    plain("streams: an event orders two", an_event_orders_two_streams),
    Scenario{.name = "streams: others pass a held one",
             .run = other_streams_pass_a_held_one,
             .holds_host_functions = true},
    plain("streams: host functions in order", host_functions_in_order),
    plain("streams: a host function sees the copy", a_host_function_sees_the_copy),
    plain("streams: priorities", priorities),
    plain("streams: moved owners", moved_owners),
    plain("events: times", event_times),
    plain("events: flags", event_flags),
    plain("events: times that are not ready", times_not_ready),
    with_kernels("kernels: one fills", a_kernel_fills),
    with_kernels("kernels: in the order of their stream", kernels_in_order),
    with_kernels("kernels: a function outlives its module", a_function_outlives_its_module),
    with_kernels("kernels: images and names that are not there",
                 images_and_names_that_are_not_there),
    with_kernels("kernels: impossible launches", impossible_launches),
    with_kernels("kernels: one is timed", a_timed_kernel),
    with_kernels("kernels: a copy right behind one", a_copy_right_behind_a_kernel),
    Scenario{.name = "kernels: a gate holds its stream",
             .run = a_gate_kernel_holds_its_stream,
             .needs_kernels = true,
             .races = true},
    with_kernels("graphs: one repeats its work", a_graph_repeats_its_work),
    plain("graphs: a recording cannot wait", a_recording_cannot_wait),
    plain("devices: one tells of itself", a_device_tells_of_itself),
    on_two("devices: a guard restores", a_guard_restores),
    on_two("devices: two work apart", two_devices_work_apart),
    on_two("devices: copies between two", copies_between_peers),
    on_peers("devices: peer access", peer_access),
    on_peers("devices: copies with peer access", copies_with_peer_access),
    on_two("devices: release with another one current", release_with_another_device_current),
    plain("threads: with streams of their own", threads_with_streams_of_their_own),
    plain("threads: on one stream", threads_on_one_stream),
    plain("threads: objects in many", objects_in_many_threads),
    Scenario{.name = "loading: a model", .run = a_model_is_loaded, .is_long = true},
    Scenario{.name = "loading: a model, verified on the device",
             .run = a_model_is_verified_while_loading,
             .needs_kernels = true,
             .is_long = true},
};

}  // namespace

std::span<const Scenario> all() { return list; }

std::string reason_to_skip(const Scenario& scenario, std::span<const Device> devices) {
  if (devices.size() < scenario.devices) {
    return "needs " + std::to_string(scenario.devices) + " devices, there is " +
           std::to_string(devices.size());
  }
  if (scenario.races && finds_races) return "races on purpose, and the thread sanitizer is here";
  try {
    if (scenario.needs_peer_access && !can_access_peer(devices[0], devices[1])) {
      return devices[0].id() + " cannot access the memory of " + devices[1].id();
    }
    if (scenario.needs_kernels) kernel_store::KernelLoader(devices.front()).load("fill");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return error.what();
    throw;
  }
  return {};
}

}  // namespace hiptool::scenarios
