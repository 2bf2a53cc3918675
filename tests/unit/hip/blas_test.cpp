// SPDX-License-Identifier: MIT
/// The tables of BLAS libraries over the fakes, and OpenBLAS itself where it is installed. A
/// library stays mapped, so cases share it; what the fakes do is read at each call.
#include "hip/blas.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "hip/dnn.hpp"
#include "hip/gemm_call.hpp"
#include "hip/side_library.hpp"
#include "unit/hip/gemm_problem.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::hip {
namespace {

using doctest::Contains;
using test::Problem;

/// A variable for the length of a case.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

std::string fakes_folder() { return test::fake_library("FAKE_BLAS_FOLDER"); }

/// A symbol of a fake that is mapped.
template <class Value>
Value& variable_of(const std::string& library, const char* name) {
  void* handle = dlopen((fakes_folder() + "/" + library).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  void* address = dlsym(handle, name);
  REQUIRE(address != nullptr);
  return *static_cast<Value*>(address);
}

/// A handle that is closed.
struct Opened {
  const BlasApi& api;
  void* handle = nullptr;
  int status;
  explicit Opened(const BlasApi& of) : api(of), status(of.open(handle)) {}
  ~Opened() { api.close(handle); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int gemm(const GemmCall& call) const { return api.gemm(handle, call); }
};

template <class Number>
void check_products(const Opened& opened) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const std::int64_t gap : {0, 5}) {
        CAPTURE(transpose_a);
        CAPTURE(transpose_b);
        CAPTURE(gap);
        Problem<Number> plain(13, 7, 29, transpose_a, transpose_b, gap, 1);
        std::fill(plain.c.begin(), plain.c.end(), Number(NAN));
        plain.before = plain.c;
        CHECK(opened.gemm(plain.call) == 0);
        CHECK(plain.count_wrong() == 0);
        Problem<Number> batch(4, 9, 3, transpose_a, transpose_b, gap, 3);
        batch.call.alpha = -1.5;
        batch.call.beta = 0.5;
        CHECK(opened.gemm(batch.call) == 0);
        CHECK(batch.count_wrong() == 0);
      }
    }
  }
}

void check_refusals(const Opened& opened) {
  Problem<float> wrong(4, 4, 4, false, false, 0, 1);
  wrong.call.ldc = 3;
  CHECK(opened.gemm(wrong.call) == blas_invalid_call);
  CHECK(opened.api.error_text(blas_invalid_call).c_str() == Contains("leading dimension"));
  Problem<float> mixed(4, 4, 4, false, false, 0, 1);
  mixed.call.c_type = BlasType::f64;
  CHECK(opened.gemm(mixed.call) == blas_types);
  Problem<float> none(4, 4, 4, false, false, 0, 1);
  none.call.m = 0;
  CHECK(opened.gemm(none.call) == 0);
  CHECK(none.c == none.before);
  none.call.m = 4;
  none.call.k = 0;
  CHECK(opened.gemm(none.call) == blas_invalid_call);
  Problem<float> together(4, 4, 4, false, false, 0, 2);
  together.call.stride_c = 15;
  CHECK(opened.gemm(together.call) == blas_invalid_call);
}

BlasLibrary open_kind(BlasKind kind) {
  switch (kind) {
    case BlasKind::rocblas_tensile: return amd::open_rocblas(false);
    case BlasKind::rocblas_hipblaslt: return amd::open_rocblas(true);
    case BlasKind::hipblaslt: return amd::open_hipblaslt();
    case BlasKind::cublas: return nvidia::open_cublas();
    case BlasKind::cublaslt: return nvidia::open_cublaslt();
    case BlasKind::openblas: return cpu::open_openblas();
  }
  return {};
}

constexpr BlasKind gpu_kinds[] = {BlasKind::rocblas_tensile, BlasKind::hipblaslt, BlasKind::cublas,
                                  BlasKind::cublaslt};

}  // namespace

TEST_CASE("each library multiplies row-major matrices") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  for (const BlasKind kind : gpu_kinds) {
    CAPTURE(std::string(to_string(kind)));
    const BlasLibrary library = open_kind(kind);
    REQUIRE_MESSAGE(library.api != nullptr, library.reason);
    CHECK(library.path.starts_with(fakes_folder()));
    const Opened opened(*library.api);
    REQUIRE(opened.status == 0);
    check_products<float>(opened);
    check_products<double>(opened);
    check_refusals(opened);
  }
}

TEST_CASE("halves and integers are passed as such") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  // 2 x 1 times 1 x 2, with 1.5 and 3 as halves and as bf16.
  const std::uint16_t halves[2] = {0x3e00, 0x4200};
  const std::uint16_t bfloats[2] = {0x3fc0, 0x4040};
  // 4 x 4 times the transposed 4 x 4: what every library has of i8.
  alignas(4) std::int8_t bytes[16] = {};
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::int8_t>(17 * i - 128);
  for (const BlasKind kind : gpu_kinds) {
    CAPTURE(std::string(to_string(kind)));
    const BlasLibrary library = open_kind(kind);
    const Opened opened(*library.api);
    GemmCall call;
    call.m = call.n = call.ldb = call.ldc = 2;
    call.k = call.lda = 1;
    const auto run = [&](BlasType in, const void* data, BlasType out_type, BlasCompute compute,
                         void* out) {
      call.a_type = call.b_type = in;
      call.c_type = out_type;
      call.compute = compute;
      call.a = call.b = data;
      call.c = out;
      return opened.gemm(call);
    };
    std::uint16_t short_out[4] = {};
    float float_out[4] = {};
    std::int32_t int_out[16] = {};
    CHECK(run(BlasType::f16, halves, BlasType::f16, BlasCompute::f32, short_out) == 0);
    CHECK(short_out[1] == 0x4480);  // 4.5
    CHECK(run(BlasType::f16, halves, BlasType::f32, BlasCompute::f32, float_out) == 0);
    CHECK(float_out[3] == 9);
    CHECK(run(BlasType::f16, halves, BlasType::f16, BlasCompute::f16, short_out) == 0);
    CHECK(short_out[0] == 0x4080);  // 2.25
    CHECK(run(BlasType::bf16, bfloats, BlasType::bf16, BlasCompute::f32, short_out) == 0);
    CHECK(short_out[1] == 0x4090);
    call.m = call.n = call.k = call.lda = call.ldb = call.ldc = 4;
    call.transpose_b = true;
    CHECK(run(BlasType::i8, bytes, BlasType::i32, BlasCompute::i32, int_out) == 0);
    for (int at = 0; at < 16; ++at) {
      int want = 0;
      for (int p = 0; p < 4; ++p) want += bytes[at / 4 * 4 + p] * bytes[at % 4 * 4 + p];
      CHECK(int_out[at] == want);
    }
    call.m = 1;  // cuBLAS demands the alignment, and cuBLASLt has the layout
    call.k = 3;
    call.lda = call.ldb = 3;
    const bool is_nvidia = kind == BlasKind::cublas || kind == BlasKind::cublaslt;
    const int refusal = kind == BlasKind::cublas ? blas_alignment : blas_no_algorithm;
    CHECK(run(BlasType::i8, bytes, BlasType::i32, BlasCompute::i32, int_out) ==
          (is_nvidia ? refusal : 0));
    call.alpha = 0.5;
    CHECK(run(BlasType::i8, bytes, BlasType::i32, BlasCompute::i32, int_out) == blas_types);
  }
}

TEST_CASE("faults of the fakes show against the bound") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  for (const BlasKind kind : gpu_kinds) {
    CAPTURE(std::string(to_string(kind)));
    const BlasLibrary library = open_kind(kind);
    for (const char* fault : {"block", "f16", "tf32"}) {
      CAPTURE(fault);
      const Setting chosen("FAKE_BLAS", fault);
      const Opened opened(*library.api);
      Problem<float> problem(70, 66, 64, false, false, 0, 1);
      CHECK(opened.gemm(problem.call) == 0);
      const std::int64_t wrong = problem.count_wrong();
      if (std::string(fault) == "block") CHECK(wrong == 64 * 64);
      CHECK(wrong > 100);
    }
    const Setting chosen("FAKE_BLAS", "error");
    const Opened opened(*library.api);
    Problem<float> problem(4, 4, 4, false, false, 0, 1);
    const int status = opened.gemm(problem.call);
    CHECK(status > 0);
    CHECK(library.api->error_text(status).c_str() ==
          Contains(("(" + std::to_string(status) + ")").c_str()));
    CHECK(problem.c == problem.before);
  }
}

TEST_CASE("TF32 only where it is asked for") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  for (const BlasKind kind : gpu_kinds) {
    CAPTURE(std::string(to_string(kind)));
    const BlasLibrary library = open_kind(kind);
    const Opened opened(*library.api);
    Problem<float> problem(20, 20, 50, false, false, 0, 1);
    problem.call.compute = BlasCompute::f32_fast_tf32;
    if (kind == BlasKind::rocblas_tensile) {
      CHECK(opened.gemm(problem.call) == blas_types);
    } else {
      CHECK(opened.gemm(problem.call) == 0);
      CHECK(problem.count_wrong() > 50);
    }
  }
}

TEST_CASE("rocBLAS runs with one backend in a process") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  const BlasLibrary tensile = amd::open_rocblas(false);
  const BlasLibrary other = amd::open_rocblas(true);
  REQUIRE(other.api != nullptr);
  CHECK(tensile.name == "rocBLAS");
  CHECK(other.name == "rocBLAS with hipBLASLt");
  CHECK(tensile.version == "5.1.0");
  const Opened first(*tensile.api);
  CHECK(first.status == 0);
  CHECK(variable_of<int>("librocblas.so.5", "fake_rocblas_backend") == 0);
  const Opened refused(*other.api);
  CHECK(refused.status == blas_other_backend);
  CHECK(refused.handle == nullptr);
  CHECK(other.api->error_text(refused.status).c_str() == Contains("another process"));
}

TEST_CASE("cuBLAS: precision, workspace, and a start without a GPU") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  const BlasLibrary library = nvidia::open_cublas();
  {
    const Opened opened(*library.api);
    Problem<float> problem(4, 4, 4, false, false, 0, 1);
    char workspace[64];
    problem.call.workspace = workspace;
    problem.call.workspace_bytes = sizeof workspace;
    CHECK(opened.gemm(problem.call) == 0);
    CHECK(variable_of<int>("libcublas.so.12", "fake_cublas_math") == 16);
    void*& used = variable_of<void*>("libcublas.so.12", "fake_cublas_workspace");
    CHECK(used == workspace);
    CHECK(opened.gemm(problem.call) == 0);
    CHECK(used == workspace);
    problem.call.workspace = nullptr;
    problem.call.workspace_bytes = 0;
    CHECK(opened.gemm(problem.call) == 0);
    CHECK(used == nullptr);
  }
  const Setting without_gpu("FAKE_CUBLAS_CREATE", "1");
  const Opened opened(*library.api);
  CHECK(opened.handle == nullptr);
  CHECK(library.api->error_text(opened.status) ==
        "CUBLAS_STATUS_NOT_INITIALIZED (1): no usable NVIDIA driver or GPU, or not enough free "
        "memory on it");
}

TEST_CASE("an algorithm is kept for types, shape, alignment and workspace") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  struct Named {
    BlasKind kind;
    const char* file;
    std::string prefix;
  };
  for (const Named& lt : {Named{BlasKind::hipblaslt, "libhipblaslt.so.1", "hipblasLt"},
                          Named{BlasKind::cublaslt, "libcublasLt.so.12", "cublasLt"}}) {
    CAPTURE(lt.prefix);
    const BlasLibrary library = open_kind(lt.kind);
    int& heuristics = variable_of<int>(lt.file, (lt.prefix + "_fake_heuristics").c_str());
    int& objects = variable_of<int>(lt.file, (lt.prefix + "_fake_objects").c_str());
    const int objects_before = objects;
    {
      const Opened opened(*library.api);
      const int before = heuristics;
      Problem<float> problem(4, 4, 4, false, false, 0, 1);
      for (int i = 0; i < 3; ++i) CHECK(opened.gemm(problem.call) == 0);
      CHECK(heuristics == before + 1);
      problem.call.alpha = 2;
      CHECK(opened.gemm(problem.call) == 0);
      CHECK(heuristics == before + 1);
      Problem<float> other(4, 4, 5, false, false, 0, 1);
      CHECK(opened.gemm(other.call) == 0);
      CHECK(heuristics == before + 2);
      Problem<float> long_sum(2, 2, 1024, false, false, 0, 1);
      CHECK(opened.gemm(long_sum.call) == blas_no_algorithm);
      CHECK(library.api->error_text(blas_no_algorithm).c_str() == Contains("workspace"));
      std::vector<char> workspace(1024);
      long_sum.call.workspace = workspace.data();
      long_sum.call.workspace_bytes = workspace.size();
      CHECK(opened.gemm(long_sum.call) == 0);
      CHECK(long_sum.count_wrong() == 0);
      CHECK(objects > objects_before);
    }
    CHECK(objects == objects_before);
  }
}

TEST_CASE("sizes beyond 32 bits need a 64-bit call") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  GemmCall call;
  float number = 0;
  call.a = call.b = call.c = &number;
  call.m = call.n = call.k = call.ldb = call.ldc = 1;
  call.lda = std::int64_t{1} << 31;
  CHECK_FALSE(fits_32_bits(call));
  for (const BlasKind kind : {BlasKind::rocblas_tensile, BlasKind::cublas}) {
    const BlasLibrary library = open_kind(kind);
    const Opened opened(*library.api);
    CHECK(opened.gemm(call) == 0);
  }
  const BlasLibrary library = cpu::open_openblas();
  REQUIRE(library.api != nullptr);
  const Opened opened(*library.api);
  CHECK(opened.gemm(call) == blas_too_large);
  CHECK(library.api->error_text(blas_too_large).c_str() == Contains("64-bit"));
}

TEST_CASE("libraries that cannot be used have a reason") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  {
    const Setting major("FAKE_BLAS_MAJOR", "14");
    const BlasLibrary cublas = nvidia::open_cublas();
    CHECK(cublas.api == nullptr);
    CHECK(
        cublas.reason ==
        fakes_folder() +
            "/libcublas.so.12 reports version 14.1.2; hiptool knows major versions 13, 12 and 11");
    CHECK(cublas.path == fakes_folder() + "/libcublas.so.12");
    CHECK(nvidia::open_cublaslt().api == nullptr);
    CHECK(cpu::open_openblas().reason.c_str() == Contains("reports version 14.3.99"));
  }
  test::TemporaryTree tree;
  const Setting elsewhere("HIPTOOL_LIBRARY_PATH", tree.root().string());
  CHECK(nvidia::open_cublas().reason.c_str() ==
        Contains("no cuBLAS was found (libcublas.so.13, .12 or .11)"));
  // Installed libraries would not be seen, so there is no advice to install one.
  const std::string confined =
      "HIPTOOL_LIBRARY_PATH is " + tree.root().string() + ", and no other folder was searched";
  CHECK(nvidia::open_cublas().reason.c_str() == Contains((".12 or .11): " + confined).c_str()));
  CHECK(cpu::open_openblas().reason.c_str() == Contains(confined.c_str()));
  tree.write("libcublas.so.99");
  CHECK(nvidia::open_cublas().reason.c_str() == Contains(confined.c_str()));
  CHECK(nvidia::open_cublas().reason.c_str() == Contains("libcublas.so.99 was not loaded"));
  tree.write("libcublas.so.13");
  CHECK(nvidia::open_cublas().reason.c_str() == Contains("file too short"));
}

TEST_CASE("targets are read from the files beside the library") {
  test::TemporaryTree tree;
  std::filesystem::copy_file(fakes_folder() + "/libhipblaslt.so.1",
                             tree.root() / "libhipblaslt.so.1");
  tree.write("hipblaslt/library/TensileLibrary_HH_SB_gfx942.co");
  tree.write("hipblaslt/library/TensileLibrary_lazy_gfx90a.dat");
  tree.write("hipblaslt/library/TensileLibrary_fallback.dat");
  tree.write("hipblaslt/library/hipblasltExtOpLibrary_gfx1100.dat");
  const Setting folder("HIPTOOL_LIBRARY_PATH", tree.root().string());
  CHECK(amd::open_hipblaslt().targets == std::vector<std::string>{"gfx90a", "gfx942"});
}

TEST_CASE("targets of Debian's folders, which have a number") {
  test::TemporaryTree tree;
  std::filesystem::copy_file(fakes_folder() + "/libhipblaslt.so.1",
                             tree.root() / "libhipblaslt.so.1");
  tree.write("hipblaslt/1/library/TensileLibrary_HH_SB_gfx906.co");
  const Setting folder("HIPTOOL_LIBRARY_PATH", tree.root().string());
  CHECK(amd::open_hipblaslt().targets == std::vector<std::string>{"gfx906"});
}

TEST_CASE("hipBLASLt 1 is taken beside a runtime of HIP 6, as Debian has it") {
  test::TemporaryTree tree;
  const std::string runtime = std::getenv("HIPTOOL_HIP_LIBRARY");
  const std::string renamed = (tree.root() / "libamdhip64.so.6").string();
  std::filesystem::copy_file(runtime, renamed);
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  setenv("HIPTOOL_HIP_LIBRARY", renamed.c_str(), 1);
  const BlasLibrary library = amd::open_hipblaslt();
  setenv("HIPTOOL_HIP_LIBRARY", runtime.c_str(), 1);
  CHECK(library.reason == "");
  CHECK(library.api != nullptr);
}

TEST_CASE("AMD's libraries are not started without a device") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  const BlasLibrary hipblaslt = amd::open_hipblaslt();
  const BlasLibrary rocblas = amd::open_rocblas(false);
  const DnnLibrary miopen = amd::open_miopen();
  void* runtime = dlopen(std::getenv("HIPTOOL_HIP_LIBRARY"), RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(runtime != nullptr);
  int& devices = *static_cast<int*>(dlsym(runtime, "bare_runtime_devices"));
  const auto check = [&](const auto& library) {
    REQUIRE(library.api != nullptr);
    devices = 0;
    void* handle = nullptr;
    const int status = library.api->open(handle);
    CHECK(status == blas_no_device);
    CHECK(handle == nullptr);
    CHECK(library.api->error_text(status) ==
          library.name + " was not started: its runtime reports no device");
    devices = 1;
    CHECK(library.api->open(handle) != blas_no_device);
    library.api->close(handle);
  };
  check(hipblaslt);
  check(rocblas);
  check(miopen);
}

TEST_CASE("find_blas loads once, from any thread") {
  const Setting folder("HIPTOOL_LIBRARY_PATH", fakes_folder());
  std::vector<const BlasLibrary*> found(4);
  std::vector<std::thread> threads;
  for (auto& one : found) {
    threads.emplace_back([&one] { one = &find_blas(BlasKind::cublaslt); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const BlasLibrary* one : found) CHECK(one == found.front());
  CHECK(found.front()->api != nullptr);
  for (const Platform platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
    for (const BlasKind kind : list_blas(platform)) CHECK_FALSE(find_blas(kind).name.empty());
  }
}

TEST_CASE("alpha and beta as halves") {
  const auto bits = [](double value) {
    std::uint16_t half = 0;
    std::memcpy(&half, GemmScalar(value, BlasCompute::f16).pointer(), sizeof half);
    return half;
  };
  CHECK(bits(0) == 0);
  CHECK(bits(-0.0) == 0x8000);
  CHECK(bits(1) == 0x3c00);
  CHECK(bits(-2.5) == 0xc100);
  CHECK(bits(65504) == 0x7bff);
  CHECK(bits(65520) == 0x7c00);
  CHECK(bits(0x1p-14) == 0x0400);
  CHECK(bits(0x1p-24) == 0x0001);
  CHECK(bits(0x1p-26) == 0);
  CHECK(bits(1 + 0x1p-11) == 0x3c00);
  CHECK(bits(2 - 0x1p-12) == 0x4000);
  CHECK(bits(NAN) == 0x7e00);
}

}  // namespace hiptool::hip
