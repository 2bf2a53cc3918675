// SPDX-License-Identifier: MIT
#include <exception>

#include "hip/binding.hpp"

namespace hiptool::hip {
namespace {

class Registry final : public Binder {
 public:
  Binding bind(Platform platform, const BindRequest& request) override {
    Binding failed;
    failed.status.platform = platform;
    try {
      switch (platform) {
        case Platform::amd: return bind_amd(request);
        case Platform::nvidia: return bind_nvidia(request);
        case Platform::cpu: return bind_cpu(request);
      }
    } catch (const std::exception& error) {
      failed.status.reason = error.what();
    }
    return failed;
  }
};

}  // namespace

std::shared_ptr<Binder> make_registry() { return std::make_shared<Registry>(); }

}  // namespace hiptool::hip
