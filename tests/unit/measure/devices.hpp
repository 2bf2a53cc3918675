// SPDX-License-Identifier: MIT
/// Devices for tests of measurements: cpu devices behind a wrapper table, as cpu or as GPUs with
/// names, bus ids and memory that the test chooses.
#pragma once
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"

namespace hiptool::test {

class CpuDevices {
 public:
  explicit CpuDevices(int count = 1, Platform platform = Platform::cpu)
      : platform_(platform),
        binder_(std::make_shared<WrapperBinder>(std::make_shared<Inner>(count, platform))),
        platforms_(core::make_platforms(Platforms::Options{}, binder_)),
        devices_(platforms_.devices(platform)) {}

  const std::vector<Device>& all() const { return devices_; }
  const Device& operator[](std::size_t i) const { return devices_.at(i); }
  Platforms& platforms() { return platforms_; }
  /// From now on copies answer that all is well and copy nothing.
  static void drop_copies(bool drop) { is_dropping() = drop; }
  WrapperTable& table() { return *binder_->table(platform_); }

 private:
  // Bus ids of GPUs: 0000:0N:00.0 for the N-th.
  static hip::hipError_t bus_id_of(char* id, int length, int ordinal) {
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", ordinal + 1);
    return hip::hipSuccess;
  }

  static hip::hipError_t maybe_copy(void* destination, const void* source, std::size_t bytes,
                                    hip::hipMemcpyKind kind, hip::hipStream_t stream) {
    if (is_dropping()) return hip::hipSuccess;
    return plain_copy()(destination, source, bytes, kind, stream);
  }

  static hip::Api table_of(hip::Api api, bool is_gpu) {
    plain_copy() = api.hipMemcpyAsync;
    api.hipMemcpyAsync = maybe_copy;
    if (is_gpu) api.hipDeviceGetPCIBusId = bus_id_of;
    return api;
  }

  static std::atomic<bool>& is_dropping() {
    static std::atomic<bool> dropping{false};
    return dropping;
  }
  static decltype(hip::Api::hipMemcpyAsync)& plain_copy() {
    static decltype(hip::Api::hipMemcpyAsync) copy = nullptr;
    return copy;
  }

  class Inner final : public hip::Binder {
   public:
    Inner(int count, Platform platform) : count_(count), platform_(platform) {}

    hip::Binding bind(Platform platform, const hip::BindRequest&) override {
      hip::BindRequest request;
      request.cpu_devices = count_;
      hip::Binding binding = hip::bind_cpu(request);
      binding.status.platform = platform;
      if (platform != platform_) binding.status.usable = false;
      // Tables live to the end of the process, and there is one for each number of devices.
      static std::map<std::pair<int, Platform>, hip::Api> tables;
      hip::Api& table = tables[{count_, platform_}];
      table = table_of(*binding.api, platform_ != Platform::cpu);
      binding.api = &table;
      return binding;
    }

   private:
    int count_;
    Platform platform_;
  };

  Platform platform_;
  std::shared_ptr<WrapperBinder> binder_;
  Platforms platforms_;
  std::vector<Device> devices_;
};

}  // namespace hiptool::test
