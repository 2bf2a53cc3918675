// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <vector>

#include "core/platform_state.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::scenarios {

/// The devices behind a table that is bound already. A fresh one knows nothing of what was lost
/// before.
class FixedPlatform {
 public:
  FixedPlatform(Platform platform, const hip::Api& api, int device_count,
                std::shared_ptr<TraceSink> trace = nullptr)
      : platform_(platform),
        platforms_(core::make_platforms(options(std::move(trace)),
                                        std::make_shared<Fixed>(platform, api, device_count))) {}

  std::vector<Device> devices() { return platforms_.devices(platform_); }

 private:
  class Fixed final : public hip::Binder {
   public:
    Fixed(Platform platform, const hip::Api& api, int device_count) {
      binding_.status.platform = platform;
      binding_.status.usable = true;
      binding_.status.device_count = device_count;
      binding_.api = &api;
    }
    hip::Binding bind(Platform, const hip::BindRequest&) override { return binding_; }

   private:
    hip::Binding binding_;
  };

  static Platforms::Options options(std::shared_ptr<TraceSink> trace) {
    Platforms::Options options;
    options.trace = std::move(trace);
    return options;
  }

  Platform platform_;
  Platforms platforms_;
};

}  // namespace hiptool::scenarios
