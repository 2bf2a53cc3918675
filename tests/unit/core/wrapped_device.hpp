// SPDX-License-Identifier: MIT
/// The device under test, or another one, behind a wrapper table.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"
#include "support.hpp"

namespace hiptool::test {

class WrappedDevice {
 public:
  explicit WrappedDevice(std::shared_ptr<hip::Binder> inner = hip::make_registry(),
                         Platforms::Options options = Platforms::Options::from_environment(),
                         const std::string& id = device_id())
      : binder_(std::make_shared<WrapperBinder>(std::move(inner))),
        platforms_(core::make_platforms(std::move(options), binder_)),
        device_(find_device(platforms_, id)) {}

  const Device& device() const { return device_; }
  Platforms& platforms() { return platforms_; }
  WrapperTable& table() { return *binder_->table(device_.platform()); }

 private:
  std::shared_ptr<WrapperBinder> binder_;
  Platforms platforms_;
  Device device_;
};

}  // namespace hiptool::test
