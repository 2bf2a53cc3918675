// SPDX-License-Identifier: MIT
/// The calls and numbers of OpenBLAS with 32-bit integers that are used (cblas.h, 0.3).
#pragma once
#include "hip/call_table.hpp"

namespace hiptool::hip::cpu {

enum : int {
  CblasRowMajor = 101,
  CblasNoTrans = 111,
  CblasTrans = 112,
};

#define HIPTOOL_OPENBLAS_CALLS(CALL)                                                          \
  CALL(required, void, cblas_sgemm,                                                           \
       (int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,        \
        const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc))     \
  CALL(required, void, cblas_dgemm,                                                           \
       (int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,       \
        const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc)) \
  CALL(required, void, openblas_set_num_threads, (int threads))                               \
  CALL(required, char*, openblas_get_config, ())
HIPTOOL_CALL_TABLE(OpenblasCalls, HIPTOOL_OPENBLAS_CALLS);

}  // namespace hiptool::hip::cpu
