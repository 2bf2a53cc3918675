// SPDX-License-Identifier: MIT
/// A fake libopenblas.so.0.
#include <cstdio>

#include "fakes/blas/engine.hpp"
#include "hip/cpu/openblas.hpp"

using namespace hiptool::hip::cpu;  // the vendor's names, which this file is all about

namespace {

using hiptool::hip::BlasCompute;
using hiptool::hip::BlasType;

hiptool::fake::Faults faults("OPENBLAS");

/// This library has no way to answer an error: "error" leaves the result as it was.
template <class Number>
void multiply_rows(BlasType type, BlasCompute compute, int transpose_a, int transpose_b, int m,
                   int n, int k, Number alpha, const Number* a, int lda, const Number* b, int ldb,
                   Number beta, Number* c, int ldc) {
  if (faults.enter()) return;
  hiptool::fake::multiply({type,
                           type,
                           type,
                           compute,
                           transpose_b == CblasTrans,
                           transpose_a == CblasTrans,
                           n,
                           m,
                           k,
                           b,
                           ldb,
                           0,
                           a,
                           lda,
                           0,
                           c,
                           ldc,
                           0,
                           1,
                           &alpha,
                           &beta},
                          nullptr, faults);
}

}  // namespace

extern "C" {

int fake_openblas_threads = 0;

void openblas_set_num_threads(int threads) { fake_openblas_threads = threads; }
char* openblas_get_config() {
  static char text[64];
  std::snprintf(text, sizeof text, "OpenBLAS %d.3.99 FAKE MAX_THREADS=1",
                hiptool::fake::reported_major(0));
  return text;
}
void cblas_sgemm(int, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  multiply_rows(BlasType::f32, BlasCompute::f32, transpose_a, transpose_b, m, n, k, alpha, a, lda,
                b, ldb, beta, c, ldc);
}
void cblas_dgemm(int, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                 const double* a, int lda, const double* b, int ldb, double beta, double* c,
                 int ldc) {
  multiply_rows(BlasType::f64, BlasCompute::f64, transpose_a, transpose_b, m, n, k, alpha, a, lda,
                b, ldb, beta, c, ldc);
}

}  // extern "C"
