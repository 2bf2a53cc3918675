// SPDX-License-Identifier: MIT
#include "hiptool/module.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/platform_state.hpp"
#include "fake_modules.hpp"
#include "hiptool/error.hpp"
#include "hiptool/kernel.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace std::string_literals;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct ModuleFixture {
  std::shared_ptr<test::RecordingTrace> trace = std::make_shared<test::RecordingTrace>();
  std::shared_ptr<test::FakeModuleBinder> binder = std::make_shared<test::FakeModuleBinder>();
  Platforms platforms = core::make_platforms(options(), binder);

  Platforms::Options options() const {
    Platforms::Options options;
    options.trace = trace;
    return options;
  }

  Device device(Platform platform) { return platforms.devices(platform).front(); }
};

template <class Number>
void put(std::string& text, std::size_t offset, Number number) {
  std::memcpy(&text[offset], &number, sizeof number);
}

/// An ELF with one section of 100 bytes at its end.
std::string make_elf(std::uint16_t machine) {
  std::string elf(64 + 64 + 100, '\0');
  elf.replace(0, 5,
              "\x7f"
              "ELF\x02");
  put<std::uint16_t>(elf, 18, machine);
  put<std::uint64_t>(elf, 40, 64);  // section table
  put<std::uint16_t>(elf, 58, 64);  // bytes of an entry
  put<std::uint16_t>(elf, 60, 1);   // entries
  put<std::uint32_t>(elf, 64 + 4, 1);
  put<std::uint64_t>(elf, 64 + 24, 128);
  put<std::uint64_t>(elf, 64 + 32, 100);
  return elf;
}

std::string make_bundle() {
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__" + std::string(32, '\0') + id;
  put<std::uint64_t>(bundle, 24, 1);
  put<std::uint64_t>(bundle, 32, bundle.size());
  put<std::uint64_t>(bundle, 40, 10);
  put<std::uint64_t>(bundle, 48, id.size());
  return bundle + std::string(10, 'x');
}

std::string make_fatbin() {
  std::string fatbin = "\x50\xED\x55\xBA"s + std::string(12, '\0') + "twenty bytes follow.";
  put<std::uint16_t>(fatbin, 6, 16);
  put<std::uint64_t>(fatbin, 8, 20);
  return fatbin;
}

const std::string ptx = "//\n// made by hand\n/* so */ \n.version 6.0\n.target sm_60\n";
const std::string plain_image = "hiptool cpu kernels 1";

std::optional<Error> failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

bool contains(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("each platform takes its own kinds of image and names the others") {
  struct Case {
    std::string image;
    std::string words;
    std::optional<Platform> platform;
  };
  const std::vector<Case> cases{
      {make_elf(224), "AMD code object", Platform::amd},
      {make_bundle(), "bundle of AMD code objects", Platform::amd},
      {"CCOB compressed", "compressed bundle", Platform::amd},
      {make_elf(190), "cubin", Platform::nvidia},
      {ptx, "PTX source", Platform::nvidia},
      {make_fatbin(), "fat binary", Platform::nvidia},
      {plain_image, "image of the cpu platform", Platform::cpu},
      {plain_image + '\0', "image of the cpu platform", Platform::cpu},
      {plain_image + "1", "of an unrecognised kind", {}},
      {make_elf(62), "ELF object for another machine", {}},
      {"\x7f"
       "ELF",
       "of an unrecognised kind",
       {}},
      {"garbage", "of an unrecognised kind", {}},
      {"// only a comment", "of an unrecognised kind", {}},
      {"", "empty", {}},
  };
  ModuleFixture fixture;
  for (const Case& example : cases) {
    for (const auto platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
      CAPTURE(example.words);
      CAPTURE(to_string(platform));
      const Device device = fixture.device(platform);
      const auto error = failure([&] { Module(device, bytes_of(example.image), "sample"); });
      CHECK(error.has_value() == (example.platform != platform));
      if (!error) continue;
      CHECK(error->code() == ErrorCode::input_failed);
      CHECK(contains(*error, "'sample'"));
      CHECK(contains(*error, example.words));
      const bool is_gfx_expected = platform == Platform::amd;  // which x86_64 is not
      CHECK(contains(*error,
                     device.id() + (is_gfx_expected ? " (of unknown architecture)" : " (x86_64)")));
    }
  }
  CHECK(test::fake_modules().loaded == test::fake_modules().unloaded);
}

TEST_CASE("an image cut anywhere never reaches the runtime") {
  ModuleFixture fixture;
  const auto check = [&](const std::string& image, Platform platform, std::size_t least) {
    const Device device = fixture.device(platform);
    for (std::size_t size = least; size < image.size(); ++size) {
      CAPTURE(size);
      const auto error = failure([&] { Module(device, bytes_of(image.substr(0, size))); });
      REQUIRE(error.has_value());
      CHECK(error->code() == ErrorCode::corrupt_data);
      CHECK(contains(*error, "ends too early"));
    }
  };
  check(make_elf(224), Platform::amd, 64);
  check(make_elf(190), Platform::nvidia, 64);
  check(make_bundle(), Platform::amd, 24);
  check(make_fatbin(), Platform::nvidia, 4);
  CHECK(test::fake_modules().loaded == 0);
}

TEST_CASE("headers with huge numbers do not bypass the check") {
  ModuleFixture fixture;
  std::string elf = make_elf(224);
  put<std::uint64_t>(elf, 64 + 24, ~std::uint64_t{0} - 50);
  CHECK(failure([&] { Module(fixture.device(Platform::amd), bytes_of(elf)); }).has_value());
  std::string bundle = make_bundle();
  put<std::uint64_t>(bundle, 24, ~std::uint64_t{0});
  CHECK(failure([&] { Module(fixture.device(Platform::amd), bytes_of(bundle)); }).has_value());
  put<std::uint64_t>(bundle, 24, 1);
  put<std::uint64_t>(bundle, 48, ~std::uint64_t{0} - 20);
  CHECK(failure([&] { Module(fixture.device(Platform::amd), bytes_of(bundle)); }).has_value());
}

TEST_CASE("PTX is passed on with a terminating zero, whatever its size") {
  ModuleFixture fixture;
  for (const std::size_t size : {100u, 4095u, 4096u, 4097u}) {
    std::string text = ptx;
    text.resize(size, ' ');
    const Module module(fixture.device(Platform::nvidia), bytes_of(text));
    CHECK(test::fake_modules().image == text);
  }
}

TEST_CASE("an image that the runtime refuses is reported with the arch and the compiler's log") {
  ModuleFixture fixture;
  test::fake_modules().load_error = hip::hipErrorNoBinaryForGpu;
  const auto of_amd =
      failure([&] { Module(fixture.device(Platform::amd), bytes_of(make_elf(224)), "digest"); });
  REQUIRE(of_amd.has_value());
  CHECK(of_amd->code() == ErrorCode::input_failed);
  CHECK(contains(*of_amd, "'digest'"));
  CHECK(contains(*of_amd, "the device is of unknown architecture"));
  const auto of_nvidia =
      failure([&] { Module(fixture.device(Platform::nvidia), bytes_of(ptx), "digest"); });
  REQUIRE(of_nvidia.has_value());
  CHECK(contains(*of_nvidia, "the device is x86_64; ptxas says no"));
  CHECK(test::fake_modules().unloaded == 0);
}

TEST_CASE("a module is unloaded once, after its last kernel; a failure goes to the trace") {
  ModuleFixture fixture;
  std::optional<Kernel> kernel;
  {
    const Module module(fixture.device(Platform::cpu), bytes_of(plain_image), "sample");
    const Module copy = module;
    kernel.emplace(copy, "saxpy");
  }
  CHECK(test::fake_modules().unloaded == 0);
  CHECK(kernel->module().name() == "sample");
  test::fake_modules().unload_error = hip::hipErrorInvalidHandle;
  kernel.reset();
  CHECK(test::fake_modules().unloaded == 1);
  REQUIRE(fixture.trace->notes().size() == 1);
  CHECK(fixture.trace->notes().front().starts_with("hipModuleUnload: failed on cpu:0"));
}

TEST_CASE("a native module is borrowed") {
  ModuleFixture fixture;
  const Device device = fixture.device(Platform::cpu);
  const Module owner(device, bytes_of(plain_image));
  {
    const Module borrowed = Module::borrow_native(device, owner.native_handle());
    CHECK(borrowed.native_handle() == owner.native_handle());
    CHECK(Kernel(borrowed, "saxpy").name() == "saxpy");
  }
  CHECK(test::fake_modules().unloaded == 0);
  const auto error = failure([&] { static_cast<void>(Module::borrow_native(device, nullptr)); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
}

TEST_CASE("an unknown kernel is not found") {
  ModuleFixture fixture;
  const Module module(fixture.device(Platform::cpu), bytes_of(plain_image), "sample");
  const auto error = failure([&] { Kernel(module, "missing"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::not_found);
  CHECK(contains(*error, "kernel 'missing' of module 'sample'"));
}
