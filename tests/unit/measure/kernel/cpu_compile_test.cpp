// SPDX-License-Identifier: MIT
#include "measure/kernel/cpu_compile.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/platform.hpp"
#include "kernels/child_process.hpp"
#include "measure/kernel/user_image.hpp"

using namespace hiptool;
using namespace hiptool::measure;
using kernels::WorkFolder;

namespace {

namespace fs = std::filesystem;

fs::path compiler() {
  const char* const path = std::getenv("PATH");
  return find_host_compiler(path == nullptr ? "" : path);
}

/// A text in a file of its own.
class Source {
 public:
  explicit Source(const std::string& text) : path_(folder_.file("kernel.hip")) {
    std::ofstream(path_) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  WorkFolder folder_;
  fs::path path_;
};

Error error_of(const Source& source, const std::string& kernel, const fs::path& with) {
  try {
    compile_for_cpu(source.path(), kernel, with);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "test", "nothing was thrown");
}

}  // namespace

TEST_CASE("a compiler is looked for in the folders of a path, and only in absolute ones") {
  const WorkFolder folder;
  CHECK(find_host_compiler("").empty());
  CHECK(find_host_compiler(folder.file("")).empty());
  for (const char* name : {"clang++", "g++", "c++"}) {
    const fs::path file = folder.file(name);
    std::ofstream(file) << "#!/bin/sh\n";
    CHECK(find_host_compiler("/nowhere:" + folder.file("")) != file);
    fs::permissions(file, fs::perms::owner_all);
    CHECK(find_host_compiler("/nowhere::relative:" + folder.file("")) == file);
  }
  const fs::path before = fs::current_path();
  fs::current_path(folder.file(""));
  const fs::path found = find_host_compiler(".::..");
  fs::current_path(before);
  CHECK(found.empty());
}

TEST_CASE("a source may include the header that hiptool's own kernels share") {
  if (compiler().empty()) return;
  const Source source(R"(#include "hiptool_device.h"
extern "C" __global__ void half_sum(const float* in, unsigned* out) {
  auto* const groups = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  const float sum = hiptool_device::join_block<hiptool_device::Sum>(in[threadIdx.x], groups);
  out[threadIdx.x] = hiptool_device::to_f16(sum);
}
)");
  Platforms platforms;
  const Device device = find_device(platforms, "cpu:0");
  UserImage image;
  image.path = source.path();
  const UserKernel compiled = load_user_kernel(device, image, "half_sum", {{}, compiler()});
  const std::vector<float> values(96, 1.0f);
  std::vector<unsigned> got(values.size());
  const Buffer in(device, values.size() * 4);
  const Buffer out(device, values.size() * 4);
  const Stream stream(device);
  copy_h2d_and_wait(in, std::as_bytes(std::span(values)));
  launch(compiled.kernel, {{1}, {96}, 3 * 4}, stream, in, out);
  stream.synchronize();
  copy_d2h_and_wait(std::as_writable_bytes(std::span(got)), out);
  CHECK(got == std::vector<unsigned>(values.size(), 0x5600));  // 96
}

TEST_CASE("a compiled text runs, with barriers, shuffles and shared memory") {
  if (compiler().empty()) return;
  const Source source(R"(#include <hip/hip_runtime.h>
__global__ void rotate(const unsigned* in, unsigned* out, unsigned bias) {
  HIP_DYNAMIC_SHARED(unsigned, part);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = in[i];
  __syncthreads();
  const unsigned next = part[(threadIdx.x + 1) % blockDim.x];
  const unsigned above = __shfl_xor(next, 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = above + bias * blockIdx.x + gridDim.x;
}
HIPTOOL_EXPORT(rotate);
)");
  const std::string name = compile_for_cpu(source.path(), "rotate", compiler());
  CHECK(name == "rotate");
  Platforms platforms;
  const Device device = find_device(platforms, "cpu:0");
  UserImage image;
  image.path = source.path();
  const UserKernel again = load_user_kernel(device, image, "rotate", {{}, compiler()});
  CHECK(again.kernel.name() == "rotate.2");
  REQUIRE(again.arguments);
  REQUIRE(again.arguments->size() == 3);
  CHECK((*again.arguments)[0].kind == ArgumentKind::pointer);
  CHECK((*again.arguments)[2].kind == ArgumentKind::value);
  CHECK((*again.arguments)[2].size_bytes == 4);

  constexpr unsigned width = 64;
  std::vector<unsigned> values(3 * width);
  std::iota(values.begin(), values.end(), 7u);
  const Buffer in(device, values.size() * 4);
  const Buffer out(device, values.size() * 4);
  const Stream stream(device);
  copy_h2d(in, std::as_bytes(std::span(values)), stream);
  for (const std::string& one : {name, again.kernel.name()}) {
    const Kernel kernel(again.kernel.module(), one);
    launch(kernel, {{3}, {width}, width * 4}, stream, in, out, 5u);
    std::vector<unsigned> got(values.size());
    copy_d2h(std::as_writable_bytes(std::span(got)), out, stream);
    stream.synchronize();
    for (unsigned i = 0; i < got.size(); ++i) {
      const unsigned block = i / width;
      const unsigned lane = (i % width) ^ 1u;
      const unsigned wanted = 7 + block * width + (lane + 1) % width + 5 * block + 3;
      if (got[i] != wanted) {
        CAPTURE(i);
        REQUIRE(got[i] == wanted);
      }
    }
  }
}

TEST_CASE("what cannot be compiled says why, with file and line") {
  const Source broken("__global__ void f(int* x) {\n  *x = nothing;\n}\n");
  const Error none = error_of(broken, "f", {});
  CHECK(none.code() == ErrorCode::unsupported);
  CHECK_FALSE(none.hint().empty());
  if (compiler().empty()) return;
  const Error refused = error_of(broken, "f", compiler());
  CHECK(refused.code() == ErrorCode::input_failed);
  CHECK(std::string(refused.what()).find("kernel.hip:2:") != std::string::npos);
  CHECK(std::string(refused.what()).find("nothing") != std::string::npos);
  const Source unresolved("int other();\n__global__ void f(int* x) { *x = other(); }\n");
  const Error unbound = error_of(unresolved, "f", compiler());
  CHECK(unbound.code() == ErrorCode::input_failed);
  CHECK(std::string(unbound.what()).find("other") != std::string::npos);
  CHECK(error_of(unresolved, "f", "/bin/true").code() == ErrorCode::input_failed);
  CHECK(error_of(unresolved, "f", "/nowhere/c++").code() == ErrorCode::device);
}
