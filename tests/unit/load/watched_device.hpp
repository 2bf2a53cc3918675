// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "support.hpp"

namespace hiptool::test {

/// The device that the suite runs on, behind a table that keeps account of it.
struct WatchedDevice {
  std::shared_ptr<WrapperBinder> binder = std::make_shared<WrapperBinder>(hip::make_registry());
  Platforms platforms = core::make_platforms(Platforms::Options::from_environment(), binder);
  Device device = test::device(platforms);
  WrapperTable& table = *binder->table(device.platform());
};

}  // namespace hiptool::test
