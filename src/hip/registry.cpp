// SPDX-License-Identifier: MIT
#include "hip/binding.hpp"

namespace hiptool::hip {
namespace {

class Registry final : public Binder {
 public:
  Binding bind(Platform platform, const BindRequest& request) override {
    switch (platform) {
      case Platform::amd: return bind_amd(request);
      case Platform::nvidia: return bind_nvidia(request);
      case Platform::cpu: return bind_cpu(request);
    }
    return {};
  }
};

}  // namespace

std::shared_ptr<Binder> make_registry() { return std::make_shared<Registry>(); }

}  // namespace hiptool::hip
