// SPDX-License-Identifier: MIT
#include "fakes/common/inner.hpp"

#include <cstdlib>

#include "fakes/common/settings.hpp"
#include "hip/binding.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "kernel_store/references.hpp"

namespace hiptool::kernel_store {
void keep_cpu_kernels();  // generated with the build; see kernels/meson.build
}

namespace hiptool::fake {

const hip::Api& inner() {
  static const hip::Api& table = []() -> const hip::Api& {
    kernel_store::keep_cpu_kernels();
    kernel_store::register_references();
    if (text_from("FAKE_KERNEL_PATH", "native") == "fibers") {
      hip::cpu::set_kernel_path(hip::cpu::KernelPath::fibers);
    }
    hip::BindRequest request;
    request.cpu_devices = most_devices;
    const hip::Binding binding = hip::bind_cpu(request);
    if (binding.api == nullptr) std::abort();
    return *binding.api;
  }();
  return table;
}

void set_inner_warp_size(unsigned lanes) { hip::cpu::set_warp_size(lanes); }

}  // namespace hiptool::fake
