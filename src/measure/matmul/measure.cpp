// SPDX-License-Identifier: MIT
#include "measure/matmul/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "hip/blas.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/matmul.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/matmul/judge.hpp"
#include "measure/peak.hpp"
#include "measure/sampling.hpp"
#include "report/report.hpp"

namespace hiptool::measure {
namespace {

constexpr const char* matmul_name = "matmul";
constexpr std::size_t guard_bytes = 4096;  // keeps the alignment of an allocation
constexpr std::size_t library_workspace_bytes = std::size_t{32} << 20;

/// Memory between guard bytes of 0xFF.
class GuardedMemory {
 public:
  GuardedMemory(const Device& device, std::size_t bytes)
      : buffer_(device, bytes + 2 * guard_bytes), size_(bytes) {}

  Buffer inner() const { return buffer_.view(guard_bytes, size_); }

  void poison(const StreamRef& stream) const {
    fill(buffer_, std::byte{0xFF}, stream);
    stream.synchronize();
  }
  void write(std::span<const std::byte> bytes) const { copy_h2d_and_wait(inner(), bytes); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(size_);
    copy_d2h_and_wait(bytes, inner());
    return bytes;
  }
  bool has_intact_guards() const {
    std::vector<std::byte> bytes(guard_bytes);
    for (const std::size_t start : {std::size_t{0}, guard_bytes + size_}) {
      copy_d2h_and_wait(bytes, buffer_.view(start, guard_bytes));
      const auto is_guard = [](std::byte one) { return one == std::byte{0xFF}; };
      if (!std::all_of(bytes.begin(), bytes.end(), is_guard)) return false;
    }
    return true;
  }

 private:
  Buffer buffer_;
  std::size_t size_;
};

/// Queues c = op(a) op(b).
class Multiplier {
 public:
  virtual ~Multiplier() = default;
  virtual void queue(const Buffer& a, const Buffer& b, const Buffer& c) = 0;
};

class OwnMultiplier final : public Multiplier {
 public:
  OwnMultiplier(const StreamRef& stream, const MatmulProblem& problem, bool is_exact)
      : backend_(Backend::borrow_native(stream)), problem_(problem) {
    options_.exact = is_exact;
    if (problem.result != problem.dtype || problem.compute != usual_compute(problem.dtype)) {
      throw Error(ErrorCode::unsupported, matmul_name,
                  "our kernels compute in " + std::string(to_string(usual_compute(problem.dtype))) +
                      " and have results of the operands' type");
    }
  }

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    const Tensor left = operand(a, problem_.m, problem_.k, problem_.transpose_a);
    const Tensor right = operand(b, problem_.k, problem_.n, problem_.transpose_b);
    const Tensor out(c, problem_.result, Layout({problem_.batch, problem_.m, problem_.n}));
    ops::matmul_into(backend_, left, right, out, options_);
  }

 private:
  Tensor operand(const Buffer& buffer, std::uint64_t rows, std::uint64_t columns,
                 bool is_turned) const {
    if (is_turned) std::swap(rows, columns);
    const Layout layout({problem_.batch, rows, columns});
    return {buffer, problem_.dtype, is_turned ? layout.transpose(1, 2) : layout};
  }

  Backend backend_;
  MatmulProblem problem_;
  ops::MatmulOptions options_;
};

hip::BlasType blas_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return hip::BlasType::f64;
    case DType::f16: return hip::BlasType::f16;
    case DType::bf16: return hip::BlasType::bf16;
    default: return hip::BlasType::f32;
  }
}
hip::BlasCompute blas_compute(MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::f64: return hip::BlasCompute::f64;
    case MatmulCompute::tf32: return hip::BlasCompute::f32_fast_tf32;
    case MatmulCompute::f16: return hip::BlasCompute::f16;
    default: return hip::BlasCompute::f32;
  }
}

hip::GemmCall make_call(const MatmulProblem& problem) {
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  hip::GemmCall call;
  call.a_type = blas_type(problem.dtype);
  call.b_type = call.a_type;
  call.c_type = blas_type(problem.result);
  call.compute = blas_compute(problem.compute);
  call.transpose_a = problem.transpose_a;
  call.transpose_b = problem.transpose_b;
  call.m = size(problem.m);
  call.n = size(problem.n);
  call.k = size(problem.k);
  call.lda = problem.transpose_a ? call.m : call.k;
  call.ldb = problem.transpose_b ? call.k : call.n;
  call.ldc = call.n;
  call.batch = size(problem.batch);
  call.stride_a = call.m * call.k;
  call.stride_b = call.k * call.n;
  call.stride_c = call.m * call.n;
  return call;
}

class LibraryMultiplier final : public Multiplier {
 public:
  LibraryMultiplier(const StreamRef& stream, const MatmulProblem& problem,
                    const hip::BlasLibrary& library, const std::string& name)
      : api_(*library.api), name_(name), call_(make_call(problem)) {
    call_.stream = static_cast<hip::hipStream_t>(stream.native_handle());
    if (!stream.device().is_host_memory()) {
      workspace_ = Buffer(stream.device(), library_workspace_bytes);
      call_.workspace = workspace_.address();
      call_.workspace_bytes = library_workspace_bytes;
    }
    check(api_.open(handle_), "opening");
  }
  ~LibraryMultiplier() override { api_.close(handle_); }
  LibraryMultiplier(const LibraryMultiplier&) = delete;
  LibraryMultiplier& operator=(const LibraryMultiplier&) = delete;

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    call_.a = a.address();
    call_.b = b.address();
    call_.c = c.address();
    check(api_.gemm(handle_, call_), "the product");
  }

 private:
  void check(int result, const char* what) const {
    if (result == 0) return;
    const bool is_refusal = result < 0 && result != hip::blas_invalid_call;
    throw Error(is_refusal ? ErrorCode::unsupported : ErrorCode::device, name_,
                is_refusal ? api_.error_text(result)
                           : name_ + ": " + what + " failed: " + api_.error_text(result));
  }

  const hip::BlasApi& api_;
  std::string name_;
  hip::GemmCall call_;
  Buffer workspace_;
  void* handle_ = nullptr;
};

const std::vector<hip::BlasKind> all_kinds{
    hip::BlasKind::rocblas_tensile, hip::BlasKind::rocblas_hipblaslt, hip::BlasKind::hipblaslt,
    hip::BlasKind::cublas,          hip::BlasKind::cublaslt,          hip::BlasKind::openblas};

hip::BlasKind kind_of(std::string_view implementation) {
  const auto found = std::find_if(all_kinds.begin(), all_kinds.end(), [&](hip::BlasKind kind) {
    return to_string(kind) == implementation;
  });
  if (found != all_kinds.end()) return *found;
  throw Error(ErrorCode::not_found, matmul_name,
              "unknown library '" + std::string(implementation) + "'");
}

/// Opens a library and measures on its device.
class MatmulRun {
 public:
  MatmulRun(const Device& device, const MatmulOptions& options, MatmulResult& result)
      : device_(device),
        options_(options),
        result_(result),
        problem_(result.problem),
        stream_(device) {}

  void run() {
    const DeviceGuard guard(device_);
    step("opening " + result_.implementation);
    const hip::BlasLibrary* const library = find_library();
    const std::uint64_t size = element_size_bytes(problem_.dtype);
    a_.emplace(device_, problem_.a_count() * size);
    b_.emplace(device_, problem_.b_count() * size);
    c_.emplace(device_, problem_.c_count() * element_size_bytes(problem_.result));
    const std::string& name = result_.implementation;
    if (library == nullptr) {
      multiplier_ = std::make_unique<OwnMultiplier>(stream_, problem_, name == "own-exact");
    } else {
      multiplier_ = std::make_unique<LibraryMultiplier>(stream_, problem_, *library, name);
    }
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      if (!judge(kind)) return;
    }
    step("timing");
    sample();
    rate();
  }

 private:
  void step(const std::string& text) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run kernels");
    if (options_.on_step) options_.on_step(text);
  }

  /// Null for our kernels.
  const hip::BlasLibrary* find_library() {
    const std::string& name = result_.implementation;
    if (!is_library(name)) return nullptr;
    const hip::BlasKind kind = kind_of(name);
    const auto usable = hip::list_blas(device_.platform());
    if (std::find(usable.begin(), usable.end(), kind) == usable.end()) {
      throw Error(ErrorCode::unsupported, name,
                  name + " is no library of the " + std::string(to_string(device_.platform())) +
                      " platform");
    }
    const hip::BlasLibrary& library = hip::find_blas(kind);
    result_.library_version = library.version;
    result_.library_path = library.path;
    if (library.api == nullptr) throw Error(ErrorCode::unsupported, name, library.reason);
    return &library;
  }

  void queue() const { multiplier_->queue(a_->inner(), b_->inner(), c_->inner()); }

  /// False if a result was wrong.
  bool judge(DataKind kind) {
    const std::string name(to_string(kind));
    const MatmulData data = make_matmul_data(problem_, kind, options_.seed);
    a_->poison(stream_);
    b_->poison(stream_);
    a_->write(data.a);
    b_->write(data.b);
    step("the first product of " + name);
    const std::vector<std::byte> first = call();
    if (!accept(data, first, "") || !find_damage(data)) return false;
    step("the second product of " + name);
    const std::vector<std::byte> second = call();
    if (second == first) return find_damage(data);
    result_.has_same_bits = false;
    return accept(data, second, "the second call is wrong, the first was right") &&
           find_damage(data);
  }

  std::vector<std::byte> call() const {
    c_->poison(stream_);
    queue();
    stream_.synchronize();
    return c_->read();
  }

  bool accept(const MatmulData& data, const std::vector<std::byte>& found, const char* reason) {
    MatmulJudgement judged = judge_matmul(problem_, data, found, options_.judge_s);
    result_.checked += judged.checked;
    result_.max_error = std::max(result_.max_error, judged.max_error);
    if (data.kind == DataKind::random) result_.judged_share = judged.share;
    result_.terms_per_s = reference_terms_per_s(problem_.dtype);
    if (!judged.wrong) return true;
    judged.wrong->reread_agrees = c_->read() == found;
    refuse(data.kind, reason);
    result_.wrong = std::move(judged.wrong);
    result_.where = std::move(judged.where);
    result_.counts_all = judged.counts_all && judged.share == 1;
    return false;
  }

  void refuse(DataKind kind, const std::string& reason) {
    result_.status = Status::mismatch;
    result_.reason = reason;
    result_.data = to_string(kind);
  }

  bool find_damage(const MatmulData& data) {
    std::string damage;
    if (!c_->has_intact_guards()) damage = "wrote outside of the result";
    if (a_->read() != data.a || !a_->has_intact_guards()) damage = "changed A";
    if (b_->read() != data.b || !b_->has_intact_guards()) damage = "changed B";
    if (!damage.empty()) refuse(data.kind, damage);
    return damage.empty();
  }

  double time_runs(KernelTimer& timer, std::size_t repeats) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run kernels");
    timer.start();
    for (std::size_t i = 0; i < repeats; ++i) queue();
    timer.stop();
    return timer.elapsed_s() / static_cast<double>(repeats);
  }

  void sample() {
    constexpr double least_sample_s = 0.0005;
    constexpr double long_s = 0.5;
    KernelTimer timer(stream_);
    const double once_s = std::max(time_runs(timer, 1), 1e-7);
    const auto repeats =
        static_cast<std::size_t>(std::clamp(std::ceil(least_sample_s / once_s), 1.0, 32.0));
    SamplingOptions sampling;
    if (once_s > long_s) {
      sampling.least_samples = 3;
      sampling.most_warm_ups = 1;
    }
    if (options_.samples) {
      sampling.least_samples = *options_.samples;
      sampling.most_samples = *options_.samples;
      sampling.most_warm_ups = 1;
    }
    result_.samples_s = collect_samples(sampling, [&] { return time_runs(timer, repeats); });
  }

  void rate() {
    result_.median_s = base::median(result_.samples_s);
    if (*result_.median_s <= 0) return;
    result_.flops_per_s = problem_.flops() / *result_.median_s;
    set_share(share(), result_);
    if (!result_.share_of_limit) result_.limit_source.clear();
  }

  Share share() {
    const DeviceInfo info = device_.info();
    const bool is_half = element_size_bytes(problem_.dtype) == 2;
    std::optional<double> per_clock;
    if (is_half) {
      per_clock = matrix_rate(info.arch);
    } else if (problem_.compute != MatmulCompute::tf32) {
      per_clock = multiply_add_rate(info.arch, to_string(problem_.dtype));
    }
    if (!per_clock) {
      return no_share("no public source states what " + info.arch + " does in a clock");
    }
    if (!info.clock_hz) return no_share("the clock is not known");
    result_.limit_source = "sku-table, clock nominal";
    const double peak = static_cast<double>(*info.clock_hz) * *per_clock *
                        static_cast<double>(info.compute_units.value_or(1));
    return share_of(*result_.flops_per_s, peak,
                    "the peak of " + report::format_value(peak, report::Unit::operations),
                    "matrix units may be faster");
  }

  Device device_;
  const MatmulOptions& options_;
  MatmulResult& result_;
  const MatmulProblem& problem_;
  Stream stream_;
  std::optional<GuardedMemory> a_;
  std::optional<GuardedMemory> b_;
  std::optional<GuardedMemory> c_;
  std::unique_ptr<Multiplier> multiplier_;
};

}  // namespace

std::vector<std::string> matmul_implementations() {
  std::vector<std::string> names{"own", "own-exact"};
  for (const hip::BlasKind kind : all_kinds) names.emplace_back(to_string(kind));
  return names;
}

std::vector<std::string> matmul_implementations(Platform platform) {
  std::vector<std::string> names{"own"};
  for (const hip::BlasKind kind : hip::list_blas(platform)) names.emplace_back(to_string(kind));
  return names;
}

bool is_library(std::string_view implementation) {
  return implementation != "own" && implementation != "own-exact";
}

MatmulResult start_matmul_result(const MatmulProblem& problem, const std::string& implementation,
                                 const std::string& device) {
  MatmulResult result;
  result.problem = problem;
  result.implementation = implementation;
  result.kernel = matmul_name;
  result.group = matmul_name;
  result.destination = device;
  result.dtype = to_string(problem.dtype);
  result.shape = shape_word(problem);
  result.size_word = result.shape;
  result.elements = problem.c_count();
  result.size_bytes = problem.bytes();
  result.tolerance = 1;
  std::string label = result.kernel + "." + result.dtype + "." + result.shape;
  for (const std::string& word : unusual_words(problem)) label += "." + word;
  result.id = label + "." + implementation + "@" + device;
  result.set_names();
  result.series = result.kernel + "." + result.dtype + "." + implementation;
  return result;
}

MatmulResult measure_matmul(const Device& device, const MatmulProblem& problem,
                            const std::string& implementation, const MatmulOptions& options) {
  MatmulResult result = start_matmul_result(problem, implementation, device.id());
  try {
    MatmulRun(device, options, result).run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    const bool cannot =
        error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory;
    result.status = cannot ? Status::skipped : Status::failed;
    result.reason = error.what();
    result.error = error;
  }
  return result;
}

}  // namespace hiptool::measure
