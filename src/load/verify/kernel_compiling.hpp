// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "kernel_store/kernel_loader.hpp"

namespace hiptool::load {

/// How a load gets kernels of which the device has no image: compiled by that `hiptool` program in
/// a process of its own, since an old hipRTC can abort; empty: in this process. The token, which
/// may be null, ends that process.
kernel_store::KernelLoader::Options loader_options(const Device& device,
                                                   const std::string& compiler_program,
                                                   const CancelToken* cancel);

}  // namespace hiptool::load
