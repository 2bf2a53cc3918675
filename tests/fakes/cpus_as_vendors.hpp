// SPDX-License-Identifier: MIT
#pragma once
#include "hip/binding.hpp"

namespace hiptool::test {

/// Binds that many devices of the cpu platform under the name of every platform, so that tests have
/// several GPUs, which have memory of their own.
class CpusAsVendors final : public hip::Binder {
 public:
  explicit CpusAsVendors(int devices) : devices_(devices) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::BindRequest chosen = request;
    chosen.cpu_devices = devices_;
    hip::Binding binding = hip::bind_cpu(chosen);
    binding.status.platform = platform;
    return binding;
  }

 private:
  int devices_;
};

}  // namespace hiptool::test
