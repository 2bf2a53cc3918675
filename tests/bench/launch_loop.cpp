// SPDX-License-Identifier: MIT
/// Time of one launch in a queue by the CUDA driver alone, measured as the family `launch` of
/// run-kernel does: two events around 256 launches on a stream of their own, the median of 200
/// such. launch_loop [DEVICE [FILL_PTX]] Prints microseconds of an empty kernel, and of
/// hiptool_fill_u32 from FILL_PTX, which `launch` launches. Exits 77 without a driver or a device.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Handle = void*;
using Address = unsigned long long;

constexpr std::size_t repeats = 256;
constexpr std::size_t samples = 200;
constexpr std::size_t warm_ups = 10;

constexpr char empty_ptx[] =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry empty() { ret; }\n";

/// The calls of libcuda.so.1 that are needed (cuda.h of CUDA 12).
struct Driver {
  int (*init)(unsigned);
  int (*get_device)(int*, int);
  int (*retain_context)(Handle*, int);
  int (*set_context)(Handle);
  int (*load_module)(Handle*, const void*);
  int (*get_function)(Handle*, Handle, const char*);
  int (*create_stream)(Handle*, unsigned);
  int (*synchronize)(Handle);
  int (*create_event)(Handle*, unsigned);
  int (*record_event)(Handle, Handle);
  int (*elapsed)(float*, Handle, Handle);
  int (*allocate)(Address*, std::size_t);
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                Handle, void**, void**);
};

[[noreturn]] void stop(const std::string& why, int status) {
  std::fprintf(stderr, "launch_loop: %s\n", why.c_str());
  std::exit(status);
}

template <class Call>
void find(Handle library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr) stop(std::string("the driver has no ") + name, 1);
}

void check(int result, const char* call) {
  if (result != 0) stop(std::string(call) + " answers " + std::to_string(result), 1);
}

Driver open_driver() {
  const Handle library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) stop("skipped: there is no libcuda.so.1", 77);
  Driver driver{};
  find(library, "cuInit", driver.init);
  find(library, "cuDeviceGet", driver.get_device);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain_context);
  find(library, "cuCtxSetCurrent", driver.set_context);
  find(library, "cuModuleLoadData", driver.load_module);
  find(library, "cuModuleGetFunction", driver.get_function);
  find(library, "cuStreamCreate", driver.create_stream);
  find(library, "cuStreamSynchronize", driver.synchronize);
  find(library, "cuEventCreate", driver.create_event);
  find(library, "cuEventRecord", driver.record_event);
  find(library, "cuEventElapsedTime", driver.elapsed);
  find(library, "cuMemAlloc_v2", driver.allocate);
  find(library, "cuLaunchKernel", driver.launch);
  return driver;
}

class Loop {
 public:
  Loop(const Driver& driver, int number) : driver_(driver) {
    int device = 0;
    Handle context = nullptr;
    if (driver.init(0) != 0 || driver.get_device(&device, number) != 0) {
      stop("skipped: there is no device " + std::to_string(number), 77);
    }
    check(driver.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver.set_context(context), "cuCtxSetCurrent");
    constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
    check(driver.create_stream(&stream_, non_blocking), "cuStreamCreate");
    check(driver.create_event(&start_, 0), "cuEventCreate");
    check(driver.create_event(&stop_, 0), "cuEventCreate");
  }

  /// Seconds of one launch of 64 threads.
  double measure(const char* ptx, const char* name, void** arguments) const {
    Handle module = nullptr;
    Handle function = nullptr;
    check(driver_.load_module(&module, ptx), "cuModuleLoadData");
    check(driver_.get_function(&function, module, name), "cuModuleGetFunction");
    std::vector<double> times;
    for (std::size_t i = 0; i < warm_ups + samples; ++i) {
      check(driver_.record_event(start_, stream_), "cuEventRecord");
      for (std::size_t k = 0; k < repeats; ++k) {
        check(driver_.launch(function, 1, 1, 1, 64, 1, 1, 0, stream_, arguments, nullptr),
              "cuLaunchKernel");
      }
      check(driver_.record_event(stop_, stream_), "cuEventRecord");
      check(driver_.synchronize(stream_), "cuStreamSynchronize");
      float elapsed_ms = 0;
      check(driver_.elapsed(&elapsed_ms, start_, stop_), "cuEventElapsedTime");
      if (i >= warm_ups) times.push_back(static_cast<double>(elapsed_ms) * 1e-3 / repeats);
    }
    std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
    return times[samples / 2];
  }

 private:
  Driver driver_;
  Handle stream_ = nullptr;
  Handle start_ = nullptr;
  Handle stop_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const Driver driver = open_driver();
  const Loop loop(driver, argc > 1 ? std::atoi(argv[1]) : 0);
  std::printf("empty\t%.3f\n", loop.measure(empty_ptx, "empty", nullptr) * 1e6);
  if (argc <= 2) return 0;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string ptx((std::istreambuf_iterator<char>(file)), {});
  if (ptx.empty()) stop(std::string("cannot read ") + argv[2], 1);
  Address data = 0;
  check(driver.allocate(&data, 4), "cuMemAlloc");
  std::uint64_t count = 1;
  std::uint32_t value = 7;
  std::array<void*, 3> arguments{&data, &count, &value};
  std::printf("fill\t%.3f\n",
              loop.measure(ptx.c_str(), "hiptool_fill_u32", arguments.data()) * 1e6);
}
