// SPDX-License-Identifier: MIT
#include "kernel_store/kernel_loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "core/platform_state.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "unit/core/fake_modules.hpp"
#include "unit/kernel_store/cubin.hpp"

using namespace hiptool;
using namespace hiptool::kernel_store;

namespace {

std::string loader_failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "nothing";
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Of hipModuleLoadData, which loads cubins; PTX is loaded with options.
int cubin_error = 0;

hip::hipError_t refuse_cubin(hip::hipModule_t* module, const void* image) {
  if (cubin_error != 0) return static_cast<hip::hipError_t>(cubin_error);
  return test::fake::load(module, image);
}

// A cubin and the PTX for drivers that refuse it.
KernelLoader::Options cubin_and_ptx() {
  static const std::string cubin = test::made_cubin();
  static const std::string ptx = ".version 6.0\n.target sm_60\n";
  KernelLoader::Options options;
  options.choose = [](std::string_view source, Platform, std::string_view) {
    return std::vector<Image>{
        {source, "sm_90", std::as_bytes(std::span(cubin))},
        {source, "sm_60", std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1))}};
  };
  return options;
}

}  // namespace

TEST_CASE("a source is loaded once, from its image") {
  Platforms platforms;
  const Device device = test::device(platforms);
  int chosen = 0;
  KernelLoader::Options options;
  options.choose = [&](std::string_view source, Platform platform, std::string_view arch) {
    ++chosen;
    CHECK(arch == device.info().arch);
    return choose_images(source, platform, arch);
  };
  KernelLoader loader(device, options);
  const KernelLoader::Loaded& loaded = loader.load("fill");
  CHECK(&loader.load("fill") == &loaded);
  CHECK(chosen == 1);
  CHECK(loaded.module.name() == "fill");
  CHECK(loader.kernel("hiptool_fill_u32").name() == "hiptool_fill_u32");
  CHECK(chosen == 1);
  if (device.platform() == Platform::cpu) CHECK(loaded.image == "cpu");
  CHECK(mentions(loader_failure([&] { loader.kernel("hiptool_none"); }),
                 "not_found: there is no kernel"));
}

TEST_CASE("a kernel lives on when the loader is gone") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Kernel kernel = KernelLoader(device).kernel("hiptool_fill_u32");
  CHECK(kernel.native_handle() != nullptr);
  CHECK(kernel.module().name() == "fill");
}

TEST_CASE("without an image the cpu platform has nothing to compile") {
  Platforms platforms;
  KernelLoader::Options options;
  options.choose = [](std::string_view, Platform, std::string_view) {
    return std::vector<Image>();
  };
  KernelLoader loader(find_device(platforms, "cpu"), options);
  const std::string answer = loader_failure([&] { loader.load("fill"); });
  CHECK(mentions(answer, "unsupported: "));
  CHECK(mentions(answer, "no image of the kernels 'fill' for cpu:0"));
}

TEST_CASE("without an image the text is compiled for the device's own arch") {
  Platforms platforms = core::make_platforms({}, std::make_shared<test::FakeModuleBinder>());
  const Device device = platforms.devices(Platform::nvidia).front();
  const std::string ptx = "//\n.version 6.0\n.target sm_60\n";
  int compiled = 0;
  KernelLoader::Options options;
  options.choose = [](std::string_view, Platform, std::string_view) {
    return std::vector<Image>();
  };
  options.compile = [&](const CompileRequest& request) {
    ++compiled;
    CHECK(request.platform == Platform::nvidia);
    CHECK(request.arch == "x86_64");  // what this device says
    CHECK(request.source == embedded_text("fill"));
    CHECK(mentions(request.source, "hiptool_fill_u32"));
    for (const char* name : {"hip/hip_runtime.h", "hiptool_device.h"}) {
      CHECK(std::any_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
        return header.name == name && header.text == embedded_text(name);
      }));
    }
    const auto* const bytes = reinterpret_cast<const std::byte*>(ptx.c_str());
    return std::vector<std::byte>(bytes, bytes + ptx.size() + 1);
  };
  KernelLoader loader(device, options);
  CHECK(loader.load("fill").image == "compiled for x86_64");
  CHECK(loader.load("fill").module.name() == "fill");
  CHECK(compiled == 1);
  CHECK(test::fake_modules().image == ptx);
  CHECK(mentions(loader_failure([&] { loader.load("absent"); }),
                 "unsupported: this build has no image"));

  options.compile = [](const CompileRequest&) -> std::vector<std::byte> {
    throw Error(ErrorCode::unsupported, "compile kernel", "no NVRTC was found");
  };
  KernelLoader without_compiler(device, options);
  const std::string answer = loader_failure([&] { without_compiler.load("fill"); });
  CHECK(
      mentions(answer, "unsupported: this build has no image of the kernels 'fill' for nvidia:0"));
  CHECK(mentions(answer, "no NVRTC was found"));

  // Else a load that is interrupted would go on without the kernel.
  options.compile = [](const CompileRequest&) -> std::vector<std::byte> {
    throw Error(ErrorCode::cancelled, "compile kernel", "interrupted");
  };
  KernelLoader interrupted(device, options);
  CHECK(loader_failure([&] { interrupted.load("fill"); }) == "cancelled: interrupted");
}

TEST_CASE("where the driver refuses the cubin, its PTX is loaded") {
  const auto trace = std::make_shared<test::RecordingTrace>();
  Platforms::Options with_trace;
  with_trace.trace = trace;
  Platforms platforms =
      core::make_platforms(with_trace, std::make_shared<test::FakeModuleBinder>([](hip::Api& api) {
                             api.hipModuleLoadData = refuse_cubin;
                           }));
  const Device device = platforms.devices(Platform::nvidia).front();
  const auto image_loaded = [&] {
    return KernelLoader(device, cubin_and_ptx()).load("fill").image;
  };
  cubin_error = 0;
  CHECK(image_loaded() == "sm_90");
  CHECK(trace->notes().empty());
  std::size_t refused = 0;
  constexpr int unsupported_toolchain = 222;
  for (const int error : {static_cast<int>(hip::hipErrorInvalidImage),
                          static_cast<int>(hip::hipErrorNoBinaryForGpu), unsupported_toolchain}) {
    CAPTURE(error);
    cubin_error = error;
    CHECK(image_loaded() == "sm_60");
    CHECK(mentions(test::fake_modules().image, ".target sm_60"));
    REQUIRE(trace->notes().size() == ++refused);
    CHECK(mentions(trace->notes().back(), "load kernel: loading the image for sm_60 instead: "));
    CHECK(mentions(trace->notes().back(), "a CUDA object (cubin) 'fill'"));
  }
  // Other failures would meet the PTX too.
  for (const int error : {2, 999, 700}) {
    CAPTURE(error);
    cubin_error = error;
    CHECK(mentions(loader_failure(image_loaded), "hipModuleLoadData "));
    CHECK(trace->notes().size() == refused);
  }
  cubin_error = 0;
}

TEST_CASE("kernels that others can replace are left out where the driver refuses their image") {
  const auto trace = std::make_shared<test::RecordingTrace>();
  Platforms::Options with_trace;
  with_trace.trace = trace;
  Platforms platforms =
      core::make_platforms(with_trace, std::make_shared<test::FakeModuleBinder>());
  const Device device = platforms.devices(Platform::nvidia).front();
  static const std::string ptx = ".version 8.0\n.target sm_90a\n";
  int chosen = 0;
  KernelLoader::Options options;
  options.compile = [](const CompileRequest&) -> std::vector<std::byte> {
    throw Error(ErrorCode::internal, "compile kernel", "nothing is to be compiled");
  };
  options.choose = [&](std::string_view source, Platform, std::string_view) {
    ++chosen;
    if (source != "fill") return std::vector<Image>();
    return std::vector<Image>{
        {source, "sm_90a", std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1))}};
  };
  test::FakeModules& fakes = test::fake_modules();
  const hip::hipError_t no_error = fakes.load_error;
  {
    KernelLoader loader(device, options);
    const auto* const loaded = loader.load_if_taken("fill");
    REQUIRE(loaded != nullptr);
    CHECK(loaded->image == "sm_90a");
    CHECK(loader.load_if_taken("fill") == loaded);
    CHECK(&loader.load("fill") == loaded);
    CHECK(loader.load_if_taken("absent") == nullptr);
    CHECK(trace->notes().empty());
  }
  constexpr int unsupported_toolchain = 222;
  std::size_t refused = 0;
  for (const int error : {static_cast<int>(hip::hipErrorInvalidImage), unsupported_toolchain}) {
    CAPTURE(error);
    KernelLoader loader(device, options);
    fakes.load_error = static_cast<hip::hipError_t>(error);
    CHECK(loader.load_if_taken("fill") == nullptr);
    const int tried = chosen;
    CHECK(loader.load_if_taken("fill") == nullptr);
    CHECK(chosen == tried);
    REQUIRE(trace->notes().size() == ++refused);
    CHECK(mentions(trace->notes().back(), "continuing without the kernels 'fill': "));
  }
  KernelLoader loader(device, options);
  fakes.load_error = hip::hipErrorOutOfMemory;
  CHECK(mentions(loader_failure([&] { loader.load_if_taken("fill"); }), "hipModuleLoadData"));
  fakes.load_error = no_error;
  CHECK(loader.load_if_taken("fill") != nullptr);
}

TEST_CASE("a failure of the last image is the failure of the load") {
  Platforms platforms = core::make_platforms({}, std::make_shared<test::FakeModuleBinder>());
  const Device device = platforms.devices(Platform::nvidia).front();
  test::fake_modules().load_error = hip::hipErrorInvalidImage;
  KernelLoader loader(device, cubin_and_ptx());
  CHECK(mentions(loader_failure([&] { loader.load("fill"); }), "ptxas says no"));
}
