// SPDX-License-Identifier: MIT
/// The vendors' own libraries as they are installed. Usage: real_libraries NAME. OpenBLAS
/// multiplies; cuBLAS, cuBLASLt and cuDNN are loaded and started, which without a GPU must fail
/// with a reason.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "hip/blas.hpp"
#include "hip/dnn.hpp"
#include "unit/hip/gemm_problem.hpp"

namespace {

using namespace hiptool;
using test::Problem;

int skip(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  return 77;
}

int failures = 0;

void check(bool is_good, const std::string& sentence) {
  if (is_good) return;
  std::printf("wrong: %s\n", sentence.c_str());
  ++failures;
}

template <class Number>
void check_products(const hip::BlasApi& api, void* handle) {
  for (int form = 0; form < 8; ++form) {
    const bool transpose_a = (form & 1) != 0;
    const bool transpose_b = (form & 2) != 0;
    const std::int64_t gap = (form & 4) != 0 ? 9 : 0;
    const std::string name =
        "form " + std::to_string(form) + (sizeof(Number) == 8 ? " f64" : " f32");
    Problem<Number> plain(70, 131, 257, transpose_a, transpose_b, gap, 1);
    std::fill(plain.c.begin(), plain.c.end(), std::numeric_limits<Number>::quiet_NaN());
    plain.before = plain.c;
    check(api.gemm(handle, plain.call) == 0, name + " is refused");
    check(plain.count_wrong() == 0,
          name + ": " + std::to_string(plain.count_wrong()) + " elements");
    Problem<Number> batch(33, 5, 64, transpose_a, transpose_b, gap, 4);
    batch.call.alpha = -0.75;
    batch.call.beta = 2;
    check(api.gemm(handle, batch.call) == 0, name + " batch is refused");
    check(batch.count_wrong() == 0, name + " batch");
  }
}

int run_openblas() {
  const hip::BlasLibrary& library = hip::find_blas(hip::BlasKind::openblas);
  if (library.api == nullptr) return skip(library.reason);
  std::printf("%s %s, %s\n", library.name.c_str(), library.version.c_str(), library.path.c_str());
  void* handle = nullptr;
  check(library.api->open(handle) == 0, "it does not start");
  check_products<float>(*library.api, handle);
  check_products<double>(*library.api, handle);
  Problem<float> halves(2, 2, 2, false, false, 0, 1);
  halves.call.a_type = halves.call.b_type = halves.call.c_type = hip::BlasType::f16;
  check(library.api->gemm(handle, halves.call) == hip::blas_types, "halves are not refused");
  library.api->close(handle);
  return failures == 0 ? 0 : 1;
}

template <class Library>
int run_start(const Library& library, const std::string& without_gpu) {
  if (library.api == nullptr) return skip(library.reason);
  std::printf("%s %s, %s\n", library.name.c_str(), library.version.c_str(), library.path.c_str());
  check(!library.version.empty(), "it reports no version");
  void* handle = nullptr;
  const int status = library.api->open(handle);
  if (status == 0) {
    library.api->close(handle);
  } else {
    const std::string text = library.api->error_text(status);
    std::printf("%s\n", text.c_str());
    check(handle == nullptr, "a handle without a start");
    check(text.starts_with(without_gpu), "not: " + without_gpu);
    check(text.find("no usable NVIDIA driver or GPU") != std::string::npos, "no cause");
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "openblas") return run_openblas();
  if (name == "cudnn") {
    return run_start(hip::find_dnn(hip::DnnKind::cudnn), "CUDNN_STATUS_NOT_INITIALIZED (1001)");
  }
  const auto kind = name == "cublas" ? hip::BlasKind::cublas : hip::BlasKind::cublaslt;
  return run_start(hip::find_blas(kind), "CUBLAS_STATUS_NOT_INITIALIZED (1)");
}
