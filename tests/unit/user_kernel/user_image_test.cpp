// SPDX-License-Identifier: MIT
#include "user_kernel/user_image.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "hiptool/error.hpp"
#include "system/child_process.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;
using system::WorkFolder;

namespace {

ErrorCode code_for(const Device& device, const std::string& content) {
  const WorkFolder folder;
  const std::string path = folder.file("image");
  std::ofstream(path, std::ios::binary) << content;
  try {
    read_user_image(device, path, {});
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("a C++ kernel is found by its plain name, if there is one only") {
  const std::vector<KernelInfo> kernels{
      {"_Z5saxpyfPKfPfj", {}}, {"_Z4manyi", {}}, {"_Z4manyf", {}}, {"plain", {}}, {"_Zbroken", {}}};
  CHECK(find_user_kernel(kernels, "saxpy") == "_Z5saxpyfPKfPfj");
  CHECK(find_user_kernel(kernels, "_Z5saxpyfPKfPfj") == "_Z5saxpyfPKfPfj");
  CHECK(find_user_kernel(kernels, "plain") == "plain");
  CHECK(find_user_kernel(kernels, "_Z4manyi") == "_Z4manyi");
  CHECK(find_user_kernel(kernels, "many").empty());
  CHECK(find_user_kernel(kernels, "sax").empty());
  CHECK(find_user_kernel({}, "saxpy").empty());
  CHECK(plain_name("_Z5saxpyfPKfPfj") == "saxpy");
  CHECK(plain_name("i") == "i");  // a type's name to the demangler
  CHECK(plain_name("_Zbroken") == "_Zbroken");
}

TEST_CASE("kernels in namespaces and instances of templates are found") {
  const std::vector<KernelInfo> kernels{{"_Z3dotIfLi4EEvPT_", {}},
                                        {"_Z3dotIdLi4EEvPT_", {}},
                                        {"_Z4axpyIfEvPT_", {}},
                                        {"_ZN4blas4nrm2EPf", {}},
                                        {"_ZN12_GLOBAL__N_14scalEPf", {}}};
  CHECK(plain_name(kernels[0].name) == "dot<float, 4>");
  CHECK(plain_name(kernels[3].name) == "blas::nrm2");
  CHECK(plain_name(kernels[4].name) == "scal");
  CHECK(find_user_kernel(kernels, "dot<float,4>") == kernels[0].name);
  CHECK(find_user_kernel(kernels, "dot<double, 4>") == kernels[1].name);
  CHECK(find_user_kernel(kernels, "dot<double, 5>").empty());
  CHECK(find_user_kernel(kernels, "dot").empty());
  CHECK(find_user_kernel(kernels, "axpy") == kernels[2].name);
  CHECK(find_user_kernel(kernels, "nrm2") == kernels[3].name);
  CHECK(find_user_kernel(kernels, "blas::nrm2") == kernels[3].name);
  CHECK(find_user_kernel(kernels, "las::nrm2").empty());
  CHECK(find_user_kernel(kernels, "scal") == kernels[4].name);
}

TEST_CASE("a module is listed without a device") {
  const auto listing_of = [](const std::string& content) {
    const WorkFolder folder;
    const std::string path = folder.file("image");
    std::ofstream(path, std::ios::binary) << content;
    return list_module(path);
  };
  const ModuleListing source = listing_of(R"(
__global__ void __launch_bounds__(128) saxpy(float a, const float* x, float* y, unsigned n) {}
template <class T> __global__ void fill(T* out, T value) {}
template <class T> __global__ void made(T* out) {}
template __global__ void made<int>(int* out);
)");
  CHECK(source.description == "kernel source");
  REQUIRE(source.kernels.size() == 3);
  CHECK(source.kernels[0].name == "saxpy");
  CHECK(source.kernels[0].max_block_threads == 128);
  REQUIRE(source.kernels[0].arguments.size() == 4);
  CHECK(source.kernels[0].arguments[1].type == "const float*");
  CHECK(source.kernels[1].name == "fill<float>");
  CHECK(source.kernels[1].arguments[1].element == ElementType::f32);
  CHECK(source.kernels[2].name == "made<int>");
  CHECK(source.kernels[2].arguments[0].type == "int*");

  const ModuleListing ptx = listing_of(
      ".version 6.0\n.target sm_60\n.entry _Z5saxpyfPKfPfj(.param .f32 a, .param .u64 x, .param "
      ".u64 y, .param .u32 n) { ret; }\n");
  CHECK(ptx.description == "PTX source for sm_60");
  REQUIRE(ptx.kernels.size() == 1);
  CHECK(ptx.kernels[0].name == "saxpy");
  REQUIRE(ptx.kernels[0].arguments.size() == 4);
  CHECK(ptx.kernels[0].arguments[1].kind == ArgumentKind::pointer);  // by the mangled name
  CHECK(ptx.kernels[0].arguments[1].type == "const float*");
  CHECK_THROWS_AS(listing_of(""), Error);
  CHECK_THROWS_AS(listing_of("no kernel"), Error);
  CHECK_THROWS_AS(listing_of("CCOB...."), Error);
  CHECK_THROWS_AS(listing_of(std::string("\x7f") + "ELF" + std::string(60, '\0')), Error);
  CHECK_THROWS_AS(list_module("/nowhere/k.hip"), Error);
}

TEST_CASE("a refused file is answered with the kinds that are accepted") {
  Platforms platforms;
  const Device cpu = find_device(platforms, "cpu:0");
  const WorkFolder folder;
  const std::string path = folder.file("image");
  for (const std::string& text : {std::string(), std::string("\x01\x00\x02", 3)}) {
    std::ofstream(path, std::ios::binary) << text;
    try {
      read_user_image(cpu, path, {});
      FAIL("was accepted");
    } catch (const Error& error) {
      CHECK(std::string(error.hint()).find("give an AMD code object or bundle, PTX") == 0);
    }
  }
}

TEST_CASE("what is no image for the processor is refused") {
  Platforms platforms;
  const Device cpu = find_device(platforms, "cpu:0");
  CHECK(code_for(cpu, "") == ErrorCode::input_failed);
  CHECK(code_for(cpu, std::string("\x01\x00\x02", 3)) == ErrorCode::input_failed);
  CHECK(code_for(cpu, "int main() {}") == ErrorCode::input_failed);
  CHECK(code_for(cpu, ".version 6.0\n.target sm_60\n") == ErrorCode::input_failed);
  CHECK(code_for(cpu, "CCOB") == ErrorCode::input_failed);
  CHECK_THROWS_AS(read_user_image(cpu, "/nowhere/k.hip", {}), Error);
}
