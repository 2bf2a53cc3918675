// SPDX-License-Identifier: MIT
/// Matrix products by direct calls of cuBLAS and cuBLASLt, which `run-kernel matmul --lib` is
/// compared with by direct_libraries.py. Not part of the build: it needs NVIDIA's headers.
///
///   g++ -O2 -std=c++20 -o direct_products direct_products.cpp -I/usr/local/cuda/include \
///     -L/usr/local/cuda/lib64 -lcublas -lcublasLt -lcudart
///   direct_products TYPE M N K        (f32, f16, bf16; row-major C = A B, sums in f32)
///
/// Uniform numbers in [-1, 1), 32 MiB of workspace, samples of at least 0.5 ms between two events,
/// the median of 15; a line for each library: name, seconds, FLOP/s.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

template <class Status>
void check(Status status, const char* what) {
  if (static_cast<int>(status) == 0) return;
  std::fprintf(stderr, "%s failed: %d\n", what, static_cast<int>(status));
  std::exit(6);
}

float uniform(std::uint64_t index) {
  std::uint64_t x = 1 + (index + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return static_cast<float>(x >> 40) * 0x1p-23f - 1;
}

template <class T>
T* random_matrix(std::size_t count, std::uint64_t first) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = T(uniform(first + i));
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  check(cudaMemcpy(memory, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return static_cast<T*>(memory);
}

double seconds(cudaStream_t stream, const std::function<void()>& queue) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  const auto run = [&](std::size_t repeats) {
    check(cudaEventRecord(start, stream), "cudaEventRecord");
    for (std::size_t i = 0; i < repeats; ++i) queue();
    check(cudaEventRecord(stop, stream), "cudaEventRecord");
    check(cudaEventSynchronize(stop), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    return milliseconds * 1e-3 / static_cast<double>(repeats);
  };
  for (int i = 0; i < 5; ++i) run(1);
  const auto repeats = static_cast<std::size_t>(std::clamp(std::ceil(5e-4 / run(1)), 1.0, 32.0));
  std::vector<double> samples;
  for (int i = 0; i < 15; ++i) samples.push_back(run(repeats));
  std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
  return samples[7];
}

template <class T>
void measure(cudaDataType_t type, int m, int n, int k) {
  const auto size = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  T* const a = random_matrix<T>(size(m, k), 0);
  T* const b = random_matrix<T>(size(k, n), size(m, k));
  T* const c = random_matrix<T>(size(m, n), 0);
  void* workspace = nullptr;
  check(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc");
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const float one = 1, zero = 0;
  const double flops = 2.0 * m * n * k;
  const auto report = [&](const char* name, double time_s) {
    std::printf("%s %.9g %.6g\n", name, time_s, flops / time_s);
  };

  cublasHandle_t blas;
  check(cublasCreate(&blas), "cublasCreate");
  check(cublasSetStream(blas, stream), "cublasSetStream");
  check(cublasSetWorkspace(blas, workspace, workspace_bytes), "cublasSetWorkspace");
  report("cublas", seconds(stream, [&] {
           check(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, type, n, a, type, k,
                              &zero, c, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
         }));

  cublasLtHandle_t lt;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t left, right, result;
  cublasLtMatmulPreference_t preference;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDesc");
  check(cublasLtMatrixLayoutCreate(&left, type, n, k, n), "cublasLtMatrixLayout");
  check(cublasLtMatrixLayoutCreate(&right, type, k, m, k), "cublasLtMatrixLayout");
  check(cublasLtMatrixLayoutCreate(&result, type, n, m, n), "cublasLtMatrixLayout");
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreference");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof(workspace_bytes)),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(lt, product, left, right, result, result, preference, 1,
                                       &found, &count),
        "cublasLtMatmulAlgoGetHeuristic");
  report("cublaslt", seconds(stream, [&] {
           check(cublasLtMatmul(lt, product, &one, b, left, a, right, &zero, c, result, c, result,
                                &found.algo, workspace, workspace_bytes, stream),
                 "cublasLtMatmul");
         }));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string type = argv[1];
  const int m = std::atoi(argv[2]), n = std::atoi(argv[3]), k = std::atoi(argv[4]);
  if (type == "f32") measure<float>(CUDA_R_32F, m, n, k);
  if (type == "f16") measure<__half>(CUDA_R_16F, m, n, k);
  if (type == "bf16") measure<__nv_bfloat16>(CUDA_R_16BF, m, n, k);
}
