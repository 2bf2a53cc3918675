// SPDX-License-Identifier: MIT
#include "user_kernel/cpu_compile.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "cases.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/platform.hpp"
#include "system/child_process.hpp"
#include "user_kernel/user_image.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;
using system::WorkFolder;

namespace {

namespace fs = std::filesystem;

fs::path compiler() {
  const char* const path = std::getenv("PATH");
  return find_host_compiler(path == nullptr ? "" : path);
}

constexpr const char* no_compiler = "no C++ compiler is installed";

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
  if (compiler().empty()) return test::skip_case(no_compiler);
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
  Buffer in(device, values.size() * 4);
  const Buffer out(device, values.size() * 4);
  const Stream stream(device);
  copy_h2d_and_wait(in, std::as_bytes(std::span(values)));
  launch(compiled.kernel, {{1}, {96}, 3 * 4}, stream, in, out);
  stream.synchronize();
  copy_d2h_and_wait(std::as_writable_bytes(std::span(got)), out);
  CHECK(got == std::vector<unsigned>(values.size(), 0x5600));  // 96
}

TEST_CASE("a compiled text runs, with barriers, shuffles and shared memory") {
  if (compiler().empty()) return test::skip_case(no_compiler);
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
  Buffer in(device, values.size() * 4);
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

namespace {

// Each thread writes one number; `threads` of them in one block, from an input 0, 1, 2, ...
std::vector<int> run_in_block(const std::string& body, unsigned threads) {
  const Source source(R"(#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int sum_of(cg::thread_group group, int* part, int value) {
  const int own = static_cast<int>(group.thread_rank());
  part[own] = value;
  group.sync();
  int sum = 0;
  for (int i = 0; i < static_cast<int>(group.size()); ++i) sum += part[i];
  group.sync();
  return sum;
}
extern "C" __global__ void in_block(const int* in, int* out) {
  __shared__ int part[256];
  const auto block = cg::this_thread_block();
  const unsigned i = block.thread_rank();
  int result = 0;
)" + body + R"(
  out[i] = result;
  part[0] = 0;
}
)");
  Platforms platforms;
  const Device device = find_device(platforms, "cpu:0");
  UserImage image;
  image.path = source.path();
  const UserKernel compiled = load_user_kernel(device, image, "in_block", {{}, compiler()});
  std::vector<int> values(threads);
  std::iota(values.begin(), values.end(), 0);
  Buffer in(device, threads * 4);
  const Buffer out(device, threads * 4);
  const Stream stream(device);
  copy_h2d_and_wait(in, std::as_bytes(std::span(values)));
  launch(compiled.kernel, {{1}, {threads / 4, 4}}, stream, in, out);
  stream.synchronize();
  copy_d2h_and_wait(std::as_writable_bytes(std::span(values)), out);
  return values;
}

std::vector<int> numbers_of(unsigned threads, const std::function<int(int)>& number) {
  std::vector<int> numbers;
  for (unsigned i = 0; i < threads; ++i) numbers.push_back(number(static_cast<int>(i)));
  return numbers;
}

}  // namespace

TEST_CASE("votes of a whole block, twice in a loop") {
  if (compiler().empty()) return test::skip_case(no_compiler);
  const auto counts = run_in_block(R"(
  for (int round = 1; round <= 2; ++round) {
    result = result * 100 + __syncthreads_count(in[i] % (round + 1) == 0);
  }
  result += __syncthreads_or(in[i] == 17) ? 10000 : 0;
  result += __syncthreads_or(in[i] == 64) ? 20000 : 0;
  result += __syncthreads_and(in[i] < 63) ? 40000 : 0;
  result += __syncthreads_and(in[i] < 64) ? 80000 : 0;)",
                                   64);
  CHECK(counts == numbers_of(64, [](int) { return 3222 + 10000 + 80000; }));
}

TEST_CASE("cooperative groups: tiles and their exchanges") {
  if (compiler().empty()) return test::skip_case(no_compiler);
  const auto sums = run_in_block(R"(
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  result = cg::reduce(tile, in[i], cg::plus<int>());
  result += 1000 * tile.shfl_xor(in[i], 1);
  tile.sync();
  result += 1000000 * static_cast<int>(tile.meta_group_rank() * 10 + tile.thread_rank());)",
                                 64);
  CHECK(sums == numbers_of(64, [](int i) {
          const int first = i / 8 * 8;
          return 8 * first + 28 + 1000 * (i ^ 1) + 1000000 * (i / 8 * 10 + i % 8);
        }));
  const auto moved = run_in_block(R"(
  const auto tile = cg::tiled_partition<4>(cg::tiled_partition<16>(block));
  result = tile.shfl(in[i], 1) + 100 * tile.shfl_down(in[i], 1);
  result += 10000 * tile.shfl_up(in[i], 2);
  result += tile.any(in[i] == 5) ? 1000000 : 0;
  result += tile.all(in[i] < 4) ? 2000000 : 0;
  result += 10000000 * static_cast<int>(tile.ballot(in[i] % 2) + tile.meta_group_size());)",
                                  64);
  CHECK(moved == numbers_of(64, [](int i) {
          const int rank = i % 4;
          const int down = rank < 3 ? i + 1 : i;
          const int up = rank >= 2 ? i - 2 : i;
          return i / 4 * 4 + 1 + 100 * down + 10000 * up + (i / 4 == 1 ? 1000000 : 0) +
                 (i < 4 ? 2000000 : 0) + 10000000 * (10 + 4);
        }));
  const auto scans = run_in_block(R"(
  struct Pair { double left; int right; float more; };
  const auto tile = cg::tiled_partition<32>(block);
  const Pair taken = tile.shfl(Pair{0.5 * in[i], in[i], 0}, 3);
  result = cg::inclusive_scan(tile, in[i]) + 10000 * cg::exclusive_scan(tile, 1, cg::plus<int>());
  result += 1000000 * static_cast<int>(2 * taken.left + taken.right);
  result += cg::reduce(tile, in[i], cg::greater<int>()) == in[i] ? 500000 : 0;)",
                                  64);
  CHECK(scans == numbers_of(64, [](int i) {
          const int first = i / 32 * 32;
          const int rank = i - first;
          return rank * (rank + 1) / 2 + first * (rank + 1) + 10000 * rank +
                 1000000 * 2 * (first + 3) + (rank == 31 ? 500000 : 0);
        }));
}

TEST_CASE("cooperative groups: blocks, coalesced threads and a block that ends inside a tile") {
  if (compiler().empty()) return test::skip_case(no_compiler);
  const auto sums = run_in_block(R"(
  result = sum_of(block, part, in[i]) + 10000 * static_cast<int>(block.size());
  result += sum_of(cg::tiled_partition(block, 16), part + i / 16 * 16, 1) == 16 ? 1 : 0;
  cg::sync(block);
  result += static_cast<int>(block.group_dim().y + block.thread_index().y);)",
                                 64);
  CHECK(sums == numbers_of(64, [](int i) { return 2016 + 640000 + 1 + 4 + i / 16; }));
  const auto odd = run_in_block(R"(
  if (in[i] % 3 == 0) {
    const auto active = cg::coalesced_threads();
    result = static_cast<int>(active.size() * 1000 + active.thread_rank());
    result += 100000 * active.shfl(in[i], 1) + (active.shfl_down(in[i], 1) == in[i] ? 500 : 0);
  }
  const auto side = cg::binary_partition(cg::tiled_partition<32>(block), in[i] % 2 == 0);
  result += 10000000 * cg::reduce(side, 1, cg::plus<int>());)",
                                64);
  CHECK(odd == numbers_of(64, [](int i) {
          const int first = i / 32 * 32;
          constexpr int members = 11;  // 0, 3, ..., 30 and 33, 36, ..., 63
          const int start = first == 0 ? 0 : 33;
          int number = 160000000;
          if (i % 3 != 0) return number;
          const int rank = (i - start) / 3;
          number += members * 1000 + rank + 100000 * (start + 3);
          return number + (rank == members - 1 ? 500 : 0);
        }));
  const auto partial = run_in_block(R"(
  result = cg::reduce(cg::tiled_partition<32>(block), 1, cg::plus<int>());)",
                                    40);
  CHECK(partial == numbers_of(40, [](int i) { return i < 32 ? 32 : 8; }));
}

TEST_CASE("cooperative groups: a whole grid is refused where it is used") {
  if (compiler().empty()) return test::skip_case(no_compiler);
  const Source source(R"(#include <cooperative_groups.h>
__global__ void all(int* x) { cooperative_groups::this_grid().sync(); *x = 1; }
__global__ void one(int* x) { *x = 1; }
)");
  const Error error = error_of(source, "all", compiler());
  CHECK(error.code() == ErrorCode::input_failed);
  CHECK(std::string(error.hint()).find("this_grid() waits for all blocks") != std::string::npos);
  CHECK(compile_for_cpu(source.path(), "one", compiler()).starts_with("one"));
}

TEST_CASE("what cannot be compiled says why, with file and line") {
  const Source broken("__global__ void f(int* x) {\n  *x = nothing;\n}\n");
  const Error none = error_of(broken, "f", {});
  CHECK(none.code() == ErrorCode::unsupported);
  CHECK_FALSE(none.hint().empty());
  if (compiler().empty()) return test::skip_case(no_compiler);
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
