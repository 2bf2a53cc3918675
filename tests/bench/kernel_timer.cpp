// SPDX-License-Identifier: MIT
/// Whether KernelTimer measures a kernel of known length: one thread waits until the GPU's own
/// clock (%globaltimer of PTX, in nanoseconds) has moved on by 1, 5, 20 and 100 ms. kernel_timer
/// [DEVICE] prints both times and exits 1 where the median of 20 is off by more than 10 %. Exits 77
/// without an NVIDIA GPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/module.hpp"
#include "hiptool/platform.hpp"

using namespace hiptool;

namespace {

constexpr std::string_view wait_ptx = R"ptx(
.version 6.0
.target sm_60
.address_size 64
.visible .entry wait_ns(.param .u64 duration)
{
  .reg .pred %early;
  .reg .b64 %length, %start, %now, %passed;
  ld.param.u64 %length, [duration];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %start;
  setp.lt.u64 %early, %passed, %length;
  @%early bra again;
  ret;
}
)ptx";

double median_s(const Kernel& wait, const StreamRef& stream, std::uint64_t duration_ns) {
  KernelTimer timer(stream);
  std::vector<double> times;
  for (int i = 0; i < 23; ++i) {
    timer.start();
    launch(wait, {}, stream, duration_ns);
    timer.stop();
    if (i >= 3) times.push_back(timer.elapsed_s());
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

}  // namespace

int main(int argc, char** argv) try {
  Platforms platforms(Platforms::Options::from_environment());
  if (!platforms.status(Platform::nvidia).usable) {
    std::fprintf(stderr, "kernel_timer: skipped: %s\n",
                 platforms.status(Platform::nvidia).reason.c_str());
    return 77;
  }
  const Device device = find_device(platforms, argc > 1 ? argv[1] : "nvidia:0");
  const Kernel wait(Module(device, std::as_bytes(std::span(wait_ptx)), "wait"), "wait_ns");
  const Stream stream(device);
  bool is_right = true;
  for (const std::uint64_t duration_ms : {1u, 5u, 20u, 100u}) {
    const double known_s = static_cast<double>(duration_ms) * 1e-3;
    const double found_s = median_s(wait, stream, duration_ms * 1'000'000);
    const bool is_near = std::fabs(found_s / known_s - 1) <= 0.1;
    std::printf("%3.0f ms: timer %.3f ms, ratio %.4f%s\n", known_s * 1e3, found_s * 1e3,
                found_s / known_s, is_near ? "" : ", off by more than 10 %");
    is_right = is_right && is_near;
  }
  return is_right ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "kernel_timer: %s\n", error.what());
  return 1;
}
