// SPDX-License-Identifier: MIT
/// The calls and numbers of OpenBLAS with 32-bit integers that are used (cblas.h, 0.3).
#pragma once

namespace hiptool::hip::cpu {

enum : int {
  CblasRowMajor = 101,
  CblasNoTrans = 111,
  CblasTrans = 112,
};

struct OpenblasCalls {
  void (*cblas_sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float* a, int lda, const float* b, int ldb, float beta, float* c,
                      int ldc);
  void (*cblas_dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                      double alpha, const double* a, int lda, const double* b, int ldb, double beta,
                      double* c, int ldc);
  void (*openblas_set_num_threads)(int threads);
  char* (*openblas_get_config)();
};

/// Calls visit(member, name, is_required) for each call.
template <class Visit>
void for_each_openblas_call(const Visit& visit) {
  visit(&OpenblasCalls::cblas_sgemm, "cblas_sgemm", true);
  visit(&OpenblasCalls::cblas_dgemm, "cblas_dgemm", true);
  visit(&OpenblasCalls::openblas_set_num_threads, "openblas_set_num_threads", true);
  visit(&OpenblasCalls::openblas_get_config, "openblas_get_config", true);
}

}  // namespace hiptool::hip::cpu
