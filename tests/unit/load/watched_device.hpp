// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <utility>

#include "core/platform_state.hpp"
#include "fakes/wrapper_table.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"
#include "support.hpp"

namespace hiptool::test {

/// The cpu platform under the name of a GPU's, for whose arch there is no image.
class NoImageBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = hip::bind_cpu(request);
    binding.status.platform = platform;
    return binding;
  }
};

/// The device that the suite runs on, behind a table that counts its calls and can make them fail.
struct WatchedDevice {
  std::shared_ptr<WrapperBinder> binder = std::make_shared<WrapperBinder>(hip::make_registry());
  std::shared_ptr<RecordingTrace> trace = std::make_shared<RecordingTrace>();
  Platforms platforms = core::make_platforms(traced(trace), binder);
  Device device = test::device(platforms);
  WrapperTable& table = *binder->table(device.platform());

 private:
  static Platforms::Options traced(std::shared_ptr<TraceSink> trace) {
    Platforms::Options options = Platforms::Options::from_environment();
    options.trace = std::move(trace);
    return options;
  }
};

}  // namespace hiptool::test
