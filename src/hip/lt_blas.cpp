// SPDX-License-Identifier: MIT
#include "hip/lt_blas.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "hip/gemm_call.hpp"

namespace hiptool::hip {
namespace {

/// Heuristic results of both libraries are smaller.
constexpr std::size_t result_space = 256;
constexpr std::size_t most_plans = 1024;

/// The alignment of an address that the libraries distinguish.
std::uint32_t alignment_of(const void* pointer) {
  constexpr std::uintptr_t most = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<std::uint32_t>(address == 0 ? most : std::min(most, address & (~address + 1)));
}

/// What an algorithm was chosen for: it may rely on each of these.
using PlanKey = std::tuple<std::array<std::int64_t, 10>, std::array<int, 6>,
                           std::array<std::uint32_t, 3>, std::size_t, bool>;

PlanKey key_of(const GemmCall& call) {
  return {
      {call.m, call.n, call.k, call.lda, call.ldb, call.ldc, call.batch, call.stride_a,
       call.stride_b, call.stride_c},
      {static_cast<int>(call.a_type), static_cast<int>(call.b_type), static_cast<int>(call.c_type),
       static_cast<int>(call.compute), call.transpose_a, call.transpose_b},
      {alignment_of(call.a), alignment_of(call.b), alignment_of(call.c)},
      call.workspace_bytes,
      call.beta == 0};
}

/// The descriptors of one product and its algorithm.
struct LtPlan {
  explicit LtPlan(const LtCalls& calls) : calls(calls) {}
  ~LtPlan() {
    for (void* layout : {first, second, out}) {
      if (layout != nullptr) calls.MatrixLayoutDestroy(layout);
    }
    if (desc != nullptr) calls.MatmulDescDestroy(desc);
  }
  LtPlan(const LtPlan&) = delete;
  LtPlan& operator=(const LtPlan&) = delete;

  const LtCalls& calls;
  void* desc = nullptr;
  void* first = nullptr;
  void* second = nullptr;
  void* out = nullptr;
  alignas(16) std::array<unsigned char, result_space> result{};  ///< starts with the algorithm
  std::size_t workspace_bytes = 0;
};

struct LtHandle {
  void* native = nullptr;
  std::map<PlanKey, std::unique_ptr<LtPlan>> plans;
};

class LtApi final : public BlasApi {
 public:
  explicit LtApi(LtLibrary library)
      : library_(std::move(library)), calls_(library_.calls), numbers_(library_.numbers) {}

  int open(void*& handle) const override {
    handle = nullptr;
    if (const int refusal = library_.check_start ? library_.check_start() : 0; refusal != 0) {
      return refusal;
    }
    auto opened = std::make_unique<LtHandle>();
    const int status = calls_.Create(&opened->native);
    if (status != 0) return status;
    const int refusal = library_.check_handle ? library_.check_handle(opened->native) : 0;
    if (refusal != 0) {
      calls_.Destroy(opened->native);
      return refusal;
    }
    handle = opened.release();
    return 0;
  }

  int gemm(void* handle, const GemmCall& call) const override {
    if (const int refusal = check_gemm(call); refusal != 0) return refusal;
    if (is_empty(call)) return 0;
    if (call.batch > std::numeric_limits<std::int32_t>::max()) return blas_too_large;
    auto& opened = *static_cast<LtHandle*>(handle);
    LtPlan* plan = nullptr;
    if (const int status = find_plan(opened, call, plan); status != 0) return status;
    const ColumnMajorGemm gemm = to_column_major(call);
    const GemmScalar alpha(call.alpha, call.compute);
    const GemmScalar beta(call.beta, call.compute);
    return calls_.Matmul(opened.native, plan->desc, alpha.pointer(), gemm.first, plan->first,
                         gemm.second, plan->second, beta.pointer(), call.c, plan->out, call.c,
                         plan->out, plan->result.data(), call.workspace, plan->workspace_bytes,
                         call.stream);
  }

  std::string error_text(int result) const override {
    if (result < 0) return refusal_text(result, library_.name);
    return library_.status_text(result);
  }

  void close(void* handle) const noexcept override {
    const std::unique_ptr<LtHandle> opened(static_cast<LtHandle*>(handle));
    if (!opened) return;
    opened->plans.clear();
    calls_.Destroy(opened->native);
  }

 private:
  int find_plan(LtHandle& opened, const GemmCall& call, LtPlan*& plan) const {
    const PlanKey key = key_of(call);
    if (const auto found = opened.plans.find(key); found != opened.plans.end()) {
      plan = found->second.get();
      return 0;
    }
    auto made = std::make_unique<LtPlan>(calls_);
    int status = describe(call, *made);
    if (status == 0) status = choose(opened.native, call, *made);
    if (status != 0) return status;
    // Work that is queued keeps no reference to a plan.
    if (opened.plans.size() >= most_plans) opened.plans.clear();
    plan = made.get();
    opened.plans.emplace(key, std::move(made));
    return 0;
  }

  int describe(const GemmCall& call, LtPlan& plan) const {
    const ColumnMajorGemm gemm = to_column_major(call);
    int status = calls_.MatmulDescCreate(&plan.desc, numbers_.compute_type(call.compute),
                                         numbers_.data_type(scalar_type(call.compute)));
    const auto set_transpose = [&](int attribute, bool is_transposed) {
      const std::int32_t operation =
          is_transposed ? numbers_.operation_transpose : numbers_.operation_none;
      if (status == 0)
        status = calls_.MatmulDescSetAttribute(plan.desc, attribute, &operation, sizeof operation);
    };
    set_transpose(numbers_.desc_transpose_a, gemm.transpose_first);
    set_transpose(numbers_.desc_transpose_b, gemm.transpose_second);
    const auto add_layout = [&](void*& layout, BlasType type, bool is_transposed, std::int64_t rows,
                                std::int64_t columns, std::int64_t ld, std::int64_t stride) {
      if (is_transposed) std::swap(rows, columns);
      if (status == 0) {
        status = calls_.MatrixLayoutCreate(&layout, numbers_.data_type(type),
                                           static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns), ld);
      }
      if (status == 0 && call.batch > 1) status = set_batch(layout, call.batch, stride);
    };
    add_layout(plan.first, gemm.first_type, gemm.transpose_first, gemm.m, gemm.k, gemm.first_ld,
               gemm.first_stride);
    add_layout(plan.second, gemm.second_type, gemm.transpose_second, gemm.k, gemm.n, gemm.second_ld,
               gemm.second_stride);
    add_layout(plan.out, call.c_type, false, gemm.m, gemm.n, call.ldc, call.stride_c);
    return status;
  }

  int set_batch(void* layout, std::int64_t batch, std::int64_t stride) const {
    const auto count = static_cast<std::int32_t>(batch);
    const int status =
        calls_.MatrixLayoutSetAttribute(layout, numbers_.layout_batch_count, &count, sizeof count);
    if (status != 0) return status;
    return calls_.MatrixLayoutSetAttribute(layout, numbers_.layout_batch_stride, &stride,
                                           sizeof stride);
  }

  int choose(void* native, const GemmCall& call, LtPlan& plan) const {
    void* preference = nullptr;
    int status = calls_.MatmulPreferenceCreate(&preference);
    if (status != 0) return status;
    status = set_preferences(preference, call);
    int count = 0;
    if (status == 0) {
      status = calls_.MatmulAlgoGetHeuristic(native, plan.desc, plan.first, plan.second, plan.out,
                                             plan.out, preference, 1, plan.result.data(), &count);
    }
    calls_.MatmulPreferenceDestroy(preference);
    if (status == numbers_.status_not_supported) return blas_no_algorithm;
    if (status != 0) return status;
    if (count < 1) return blas_no_algorithm;
    std::int32_t state = 0;
    std::memcpy(&state, plan.result.data() + numbers_.result_state_at, sizeof state);
    std::memcpy(&plan.workspace_bytes, plan.result.data() + numbers_.result_workspace_at,
                sizeof plan.workspace_bytes);
    if (state != 0) return state;
    return plan.workspace_bytes > call.workspace_bytes ? blas_no_algorithm : 0;
  }

  int set_preferences(void* preference, const GemmCall& call) const {
    int status = 0;
    const auto set = [&](int attribute, const auto& value) {
      if (attribute < 0 || status != 0) return;
      status = calls_.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    };
    const std::uint64_t workspace_bytes = call.workspace == nullptr ? 0 : call.workspace_bytes;
    set(numbers_.preference_workspace, workspace_bytes);
    set(numbers_.preference_reductions, numbers_.allowed_reductions);
    if (numbers_.preference_alignment_a < 0) return status;
    const ColumnMajorGemm gemm = to_column_major(call);
    int attribute = numbers_.preference_alignment_a;
    for (const void* pointer : {gemm.first, gemm.second, static_cast<const void*>(call.c),
                                static_cast<const void*>(call.c)}) {
      set(attribute++, alignment_of(pointer));
    }
    return status;
  }

  LtLibrary library_;
  const LtCalls& calls_;
  const LtNumbers& numbers_;
};

}  // namespace

std::unique_ptr<BlasApi> make_lt_api(LtLibrary library) {
  return std::make_unique<LtApi>(std::move(library));
}

}  // namespace hiptool::hip
