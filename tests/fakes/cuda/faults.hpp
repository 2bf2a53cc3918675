// SPDX-License-Identifier: MIT
/// Faults of single devices, each named as "ORDINAL:WHAT", of several with commas:
///   FAKE_CUDA_SLOW_COPY=1:20     copies from 64 KiB on take 20 ms longer on device 1
///   FAKE_CUDA_SLOW_PEER=1:20     copies to another device do
///   FAKE_CUDA_SLOW_PEER_AT=1:5   only copy 5 of them does
///   FAKE_CUDA_SLOW_KERNEL=1:20   launches do
///   FAKE_CUDA_SLOW_AFTER=1:2:KERNEL  only from 2 s after the first launch of KERNEL on
///   FAKE_CUDA_FLAKY=1:KERNEL     launches of KERNEL leave one bit wrong in word 1000 of memory to
///                                which its first argument points: an output, or an input that the
///                                next launch reads
///   FAKE_CUDA_FLAKY_AT=1:300     only launch 300 of it on device 1 does
///   FAKE_CUDA_HANG=1:KERNEL      a launch of KERNEL never ends
///   FAKE_CUDA_HANG_AT=1:12       launch 12 of it does not
///   FAKE_CUDA_FAIL=1:KERNEL      a launch of KERNEL fails
///   FAKE_CUDA_FAIL_AT=1:12       launch 12 of it does
///   FAKE_CUDA_IDLE=1:KERNEL      a launch of KERNEL does nothing
///   FAKE_CUDA_GROWS=1:KERNEL     the first launch of KERNEL adds the line FAKE_CUDA_GROWTH to
///                                FAKE_NVML_COUNTERS, from which the fake of NVML takes counters
///   FAKE_CUDA_GROWS_AT=1:12      launch 12 of it does
///   FAKE_CUDA_NO_PEER=0:1        device 0 cannot reach device 1; *: none reaches another
///   FAKE_CUDA_NAME=TEXT          the name of all devices, which then are of one kind
/// Faults of products with weights; matrices count in the order of their first use, 7 in a layer:
///   FAKE_CUDA_FLIP_WEIGHT=12:40  the lowest bit of byte 40 of matrix 12 flips in device memory
///   FAKE_CUDA_SHORT_ROW=12:5     products with row 5 of matrix 12, of floats, end 32 columns early
/// FAKE_CUDA_UNITS is the number of multiprocessors (132), which decides how much some kernels do.
#pragma once
#include <cstddef>
#include <string>

#include "fakes/cuda/call.hpp"
#include "hiptool_layers.h"

namespace hiptool::fake {

/// The text after the ordinal of a variable that names this one; empty if it names another or is
/// not set.
std::string fault_of(const char* variable, int ordinal);

/// Queues a wait where the variable asks for one on the stream's device.
CUresult slow_down(const char* variable, CUstream stream);

/// Whether a launch of the kernel is to do nothing.
bool is_idle(const std::string& kernel, CUstream stream);

/// Around a launch: the faults of products.
class ProductFault {
 public:
  ProductFault(const std::string& kernel, CUstream stream, void** arguments);
  ~ProductFault();
  ProductFault(const ProductFault&) = delete;
  ProductFault& operator=(const ProductFault&) = delete;

 private:
  void add(const hiptool_ops::FileProduct& product, void* argument);

  CUstream stream_;
  void* hidden_ = nullptr;  // columns, while the product is computed
};

/// After a launch: damages memory or waits for ever, where that is asked for.
CUresult after_launch(const std::string& kernel, CUstream stream, void** arguments);

}  // namespace hiptool::fake
