// SPDX-License-Identifier: MIT
#include <array>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/facts.hpp"
#include "hip/cpu/submission.hpp"
#include "hip/error_names.hpp"

namespace hiptool::hip {
namespace cpu {
namespace {

/// The HIP version whose behaviour this platform follows, as number and as text.
constexpr int hip_version = 70000000;
constexpr const char* hip_version_text = "7.0.0";

hipError_t hipInit(unsigned flags) { return flags == 0 ? hipSuccess : hipErrorInvalidValue; }

hipError_t hipRuntimeGetVersion(int* version) {
  if (version == nullptr) return hipErrorInvalidValue;
  *version = hip_version;
  return hipSuccess;
}

// The number of devices is a property of the table: bindings may differ in it.

template <int Count>
hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  *count = Count;
  return hipSuccess;
}

template <int Count>
hipError_t hipSetDevice(int ordinal) {
  if (ordinal < 0 || ordinal >= Count) return hipErrorInvalidDevice;
  set_current_device(ordinal);
  return hipSuccess;
}

template <int Count>
Api make_table() {
  Api api = make_unsupported_api();
  add_device_calls(api);
  add_memory_calls(api);
  add_host_memory_calls(api);
  add_copy_calls(api);
  add_stream_calls(api);
  add_event_calls(api);
  add_module_calls(api);
  add_launch_calls(api);
  add_graph_calls(api);
  api.hipGetErrorName = &error_name;
  api.hipGetErrorString = &error_text;
  api.hipInit = &Entry<&hipInit>::call;
  api.hipRuntimeGetVersion = &Entry<&hipRuntimeGetVersion>::call;
  api.hipDriverGetVersion = &Entry<&hipRuntimeGetVersion>::call;
  api.hipGetDeviceCount = &Entry<&hipGetDeviceCount<Count>>::call;
  api.hipSetDevice = &Entry<&hipSetDevice<Count>>::call;
  return api;
}

using Tables = std::array<Api, max_devices>;

template <int... Indices>
const Tables* make_tables(std::integer_sequence<int, Indices...>) {
  return new Tables{make_table<Indices + 1>()...};
}

/// Tables live to the end of the process, so they are never destroyed.
const Api& table_for(int count) {
  static const Tables* const tables = make_tables(std::make_integer_sequence<int, max_devices>{});
  return (*tables)[static_cast<std::size_t>(count - 1)];
}

/// Ends the workers when the program's later objects are destroyed and its earlier ones are not.
class WorkersEnd {
 public:
  WorkersEnd() = default;
  ~WorkersEnd() { shut_down_queues(); }
  WorkersEnd(const WorkersEnd&) = delete;
  WorkersEnd& operator=(const WorkersEnd&) = delete;
};

void end_workers_at_exit() { static const WorkersEnd end; }

}  // namespace
}  // namespace cpu

Binding bind_cpu(const BindRequest& request) {
  Binding binding;
  PlatformStatus& status = binding.status;
  status.platform = Platform::cpu;
  if (request.cpu_devices < 1 || request.cpu_devices > cpu::max_devices) {
    status.reason = "the number of cpu devices is " + std::to_string(request.cpu_devices) +
                    ", it must be from 1 to " + std::to_string(cpu::max_devices);
    status.hint = "request at least one cpu device";
    return binding;
  }
  try {
    cpu::set_current_facts(cpu::read_facts(request.system_root));
    cpu::end_workers_at_exit();
    binding.api = &cpu::table_for(request.cpu_devices);
  } catch (const std::bad_alloc&) {
    throw;  // of the host, not of this platform
  } catch (const std::exception& failure) {
    status.reason = std::string("the machine could not be read: ") + failure.what();
    return binding;
  }
  cpu::raise_known_device_count(request.cpu_devices);
  status.usable = true;
  status.device_count = request.cpu_devices;
  status.library = "built in";
  status.runtime_version = cpu::hip_version_text;
  return binding;
}

}  // namespace hiptool::hip
