// SPDX-License-Identifier: MIT
#include "measure/library/compute.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/contains.hpp"
#include "hip/blas.hpp"
#include "hip/dnn.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/conv.hpp"
#include "hiptool/error.hpp"
#include "hiptool/libraries.hpp"
#include "hiptool/matmul.hpp"
#include "ops/library_product.hpp"

namespace hiptool::measure {
namespace {

constexpr std::size_t product_workspace_bytes = std::size_t{32} << 20;
constexpr std::size_t conv_workspace_bytes = std::size_t{256} << 20;
/// Tiled Fourier transforms, which PyTorch uses, need 1.2 GiB for 32 images and filters of 7x7.
constexpr std::size_t library_conv_workspace_bytes = std::size_t{2} << 30;

class OwnMultiplier final : public Computation {
 public:
  OwnMultiplier(const StreamRef& stream, const MatmulProblem& problem, bool is_exact)
      : backend_(Backend::borrow_stream(stream)), problem_(problem) {
    options_.exact = is_exact;
    if (problem.result != usual_result(problem.dtype) ||
        problem.compute != usual_compute(problem.dtype)) {
      throw Error(ErrorCode::unsupported, "matmul",
                  "our kernels compute in " + std::string(to_string(usual_compute(problem.dtype))) +
                      " and have results of the operands' type");
    }
  }

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    const Tensor left = operand(a, problem_.m, problem_.k, problem_.transpose_a);
    const Tensor right = operand(b, problem_.k, problem_.n, problem_.transpose_b);
    Tensor out(c, problem_.result, Layout({problem_.batch, problem_.m, problem_.n}));
    if (problem_.dtype == DType::i8) {
      ops::matmul_i32_into(backend_, out, left, right);
    } else {
      ops::matmul_into(backend_, out, left, right, options_);
    }
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

hip::BlasCompute blas_compute(Compute compute) {
  switch (compute) {
    case Compute::f64: return hip::BlasCompute::f64;
    case Compute::tf32: return hip::BlasCompute::f32_fast_tf32;
    case Compute::f16: return hip::BlasCompute::f16;
    case Compute::i32: return hip::BlasCompute::i32;
    default: return hip::BlasCompute::f32;
  }
}

hip::GemmCall make_call(const MatmulProblem& problem) {
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  hip::GemmCall call;
  call.a_type = ops::library_type(problem.dtype);
  call.b_type = call.a_type;
  call.c_type = ops::library_type(problem.result);
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

/// A refusal of the library's table, or what the library answered.
template <class Api>
void check_library(const Api& api, const std::string& name, int result, const char* what) {
  if (result == 0) return;
  const bool is_refusal = result < 0 && result != hip::blas_invalid_call;
  throw Error(is_refusal ? ErrorCode::unsupported : ErrorCode::device, name,
              is_refusal ? api.error_text(result)
                         : name + ": " + what + " failed: " + api.error_text(result));
}

class LibraryMultiplier final : public Computation {
 public:
  LibraryMultiplier(const StreamRef& stream, const MatmulProblem& problem,
                    const hip::BlasLibrary& library, const std::string& name)
      : api_(*library.api), name_(name), call_(make_call(problem)) {
    call_.stream = static_cast<hip::hipStream_t>(stream.native_handle());
    if (!stream.device().is_host_memory()) {
      workspace_ = Buffer(stream.device(), product_workspace_bytes);
      call_.workspace = workspace_.address();
      call_.workspace_bytes = product_workspace_bytes;
    }
    check_library(api_, name_, api_.open(handle_), "opening");
  }
  ~LibraryMultiplier() override { api_.close(handle_); }
  LibraryMultiplier(const LibraryMultiplier&) = delete;
  LibraryMultiplier& operator=(const LibraryMultiplier&) = delete;

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    call_.a = a.address();
    call_.b = b.address();
    call_.c = c.address();
    check_library(api_, name_, api_.gemm(handle_, call_), "the product");
  }

 private:
  const hip::BlasApi& api_;
  std::string name_;
  hip::GemmCall call_;
  Buffer workspace_;
  void* handle_ = nullptr;
};

class OwnConvolver : public Computation {
 public:
  OwnConvolver(const StreamRef& stream, const ConvProblem& problem, ops::Library library)
      : backend_(Backend::borrow_stream(stream)), problem_(problem) {
    if (problem.compute != usual_compute(problem.dtype)) {
      throw Error(ErrorCode::unsupported, "conv2d",
                  "our kernels compute in " + std::string(to_string(usual_compute(problem.dtype))));
    }
    options_.stride = problem.stride;
    options_.padding = problem.padding;
    options_.dilation = problem.dilation;
    options_.groups = problem.groups;
    options_.workspace_bytes = conv_workspace_bytes;
    options_.library = library;
  }

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    const ConvProblem& of = problem_;
    const Tensor weights(a, of.dtype, Layout({of.k, of.c / of.groups, of.r, of.s}));
    const Tensor x(b, of.dtype, Layout({of.n, of.c, of.h, of.w}));
    Tensor out(c, of.result, Layout({of.n, of.k, of.out_height(), of.out_width()}));
    ops::conv2d_into(backend_, out, x, weights, options_);
  }

 protected:
  const Backend& backend() const { return backend_; }

 private:
  Backend backend_;
  ConvProblem problem_;
  ops::ConvOptions options_;
};

/// Our way, with products by the library of the platform.
class ProductConvolver final : public OwnConvolver {
 public:
  ProductConvolver(const StreamRef& stream, const ConvProblem& problem, std::string name)
      : OwnConvolver(stream, problem, ops::Library::automatic), name_(std::move(name)) {}

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    OwnConvolver::queue(a, b, c);
    const auto all = ops::library_status(backend());
    if (!all.empty() && all[0].calls > 0 && all[0].other_calls == 0) return;
    throw Error(ErrorCode::unsupported, name_,
                all.empty() ? "our kernels convolve so few channels without products of matrices"
                            : all[0].reason);
  }

 private:
  std::string name_;
};

hip::ConvCall make_conv_call(const ConvProblem& problem) {
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  hip::ConvCall call;
  call.type = ops::library_type(problem.dtype);
  call.compute = blas_compute(problem.compute);
  call.n = size(problem.n);
  call.c = size(problem.c);
  call.h = size(problem.h);
  call.w = size(problem.w);
  call.k = size(problem.k);
  call.r = size(problem.r);
  call.s = size(problem.s);
  call.pad_h = size(problem.padding[0]);
  call.pad_w = size(problem.padding[1]);
  call.stride_h = size(problem.stride[0]);
  call.stride_w = size(problem.stride[1]);
  call.dilation_h = size(problem.dilation[0]);
  call.dilation_w = size(problem.dilation[1]);
  call.groups = size(problem.groups);
  return call;
}

class LibraryConvolver final : public Computation {
 public:
  LibraryConvolver(const StreamRef& stream, const ConvProblem& problem,
                   const hip::DnnLibrary& library, const std::string& name)
      : api_(*library.api), device_(stream.device()), name_(name), call_(make_conv_call(problem)) {
    call_.stream = static_cast<hip::hipStream_t>(stream.native_handle());
    call_.workspace_bytes = library_conv_workspace_bytes;
    call_.measures = true;  // as the programs do that users compare with
    check_library(api_, name_, api_.open(handle_), "opening");
  }
  ~LibraryConvolver() override { api_.close(handle_); }
  LibraryConvolver(const LibraryConvolver&) = delete;
  LibraryConvolver& operator=(const LibraryConvolver&) = delete;

  bool may_transform() const override { return true; }

  void prepare() override {
    std::size_t needed = 0;
    check_library(api_, name_, api_.plan(handle_, call_, needed), "the choice of an algorithm");
    if (needed == 0) return;
    workspace_ = Buffer(device_, needed);
    call_.workspace = workspace_.address();
  }

  void queue(const Buffer& a, const Buffer& b, const Buffer& c) override {
    call_.filter = a.address();
    call_.x = b.address();
    call_.y = c.address();
    // The bound stays as it was for plan(), which keeps its choice by it.
    check_library(api_, name_, api_.convolve(handle_, call_), "the convolution");
  }

 private:
  const hip::DnnApi& api_;
  Device device_;
  std::string name_;
  hip::ConvCall call_;
  Buffer workspace_;
  void* handle_ = nullptr;
};

class OwnPooler final : public Computation {
 public:
  OwnPooler(const StreamRef& stream, const PoolProblem& problem)
      : backend_(Backend::borrow_stream(stream)), problem_(problem) {}

  void queue(const Buffer& /*a*/, const Buffer& b, const Buffer& c) override {
    const PoolProblem& of = problem_;
    const Tensor x(b, of.dtype, Layout({of.n, of.c, of.h, of.w}));
    Tensor out(c, of.result, Layout({of.n, of.c, of.out_height(), of.out_width()}));
    (of.is_average ? ops::avg_pool2d_into : ops::max_pool2d_into)(backend_, out, x, of.window,
                                                                  of.stride, ops::Library::none);
  }

 private:
  Backend backend_;
  PoolProblem problem_;
};

hip::PoolCall make_pool_call(const PoolProblem& problem) {
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  hip::PoolCall call;
  call.type = ops::library_type(problem.dtype);
  call.is_largest = !problem.is_average;
  call.n = size(problem.n);
  call.c = size(problem.c);
  call.h = size(problem.h);
  call.w = size(problem.w);
  call.r = size(problem.window[0]);
  call.s = size(problem.window[1]);
  call.stride_h = size(problem.stride[0]);
  call.stride_w = size(problem.stride[1]);
  return call;
}

class LibraryPooler final : public Computation {
 public:
  LibraryPooler(const StreamRef& stream, const PoolProblem& problem, const hip::DnnLibrary& library,
                const std::string& name)
      : api_(*library.api), name_(name), call_(make_pool_call(problem)) {
    if (problem.dtype != DType::f32 && problem.dtype != DType::f16) {
      throw Error(ErrorCode::unsupported, name,
                  name + " is called for poolings of f32 and f16, not of " +
                      std::string(to_string(problem.dtype)));
    }
    call_.stream = static_cast<hip::hipStream_t>(stream.native_handle());
    check_library(api_, name_, api_.open(handle_), "opening");
  }
  ~LibraryPooler() override { api_.close(handle_); }
  LibraryPooler(const LibraryPooler&) = delete;
  LibraryPooler& operator=(const LibraryPooler&) = delete;

  void queue(const Buffer& /*a*/, const Buffer& b, const Buffer& c) override {
    call_.x = b.address();
    call_.y = c.address();
    check_library(api_, name_, api_.pool(handle_, call_), "the pooling");
  }

 private:
  const hip::DnnApi& api_;
  std::string name_;
  hip::PoolCall call_;
  void* handle_ = nullptr;
};

const std::vector<hip::BlasKind> product_kinds{
    hip::BlasKind::rocblas_tensile, hip::BlasKind::rocblas_hipblaslt, hip::BlasKind::hipblaslt,
    hip::BlasKind::cublas,          hip::BlasKind::cublaslt,          hip::BlasKind::openblas};
const std::vector<hip::DnnKind> dnn_kinds{hip::DnnKind::miopen, hip::DnnKind::cudnn};

template <class Kind>
Kind kind_named(const std::vector<Kind>& kinds, const std::string& name) {
  const auto found =
      std::ranges::find_if(kinds, [&](Kind kind) { return to_string(kind) == name; });
  if (found != kinds.end()) return *found;
  throw Error(ErrorCode::not_found, "run-kernel", "unknown library '" + name + "'");
}

[[noreturn]] void refuse_platform(const std::string& name, Platform platform) {
  throw Error(ErrorCode::unsupported, name,
              name + " is not a library of the " + std::string(to_string(platform)) + " platform");
}

/// The library, if it was found.
template <class Library>
const Library& accept_library(const Library& library, const std::string& name, LibraryFile& file) {
  file.version = library.version;
  file.path = library.path;
  if (library.api == nullptr) throw Error(ErrorCode::unsupported, name, library.reason);
  return library;
}

const hip::DnnLibrary& open_dnn(const StreamRef& stream, const std::string& name,
                                LibraryFile& file) {
  const hip::DnnKind kind = kind_named(dnn_kinds, name);
  if (hip::dnn_of(stream.device().platform()) != kind) {
    refuse_platform(name, stream.device().platform());
  }
  return accept_library(hip::find_dnn(kind), name, file);
}

std::unique_ptr<Computation> open_problem(const StreamRef& stream, const MatmulProblem& problem,
                                          const std::string& name, LibraryFile& file) {
  if (!is_library(name)) {
    return std::make_unique<OwnMultiplier>(stream, problem, name == "own-exact");
  }
  const hip::BlasKind kind = kind_named(product_kinds, name);
  const auto usable = hip::list_blas(stream.device().platform());
  if (!base::contains(usable, kind)) {
    refuse_platform(name, stream.device().platform());
  }
  return std::make_unique<LibraryMultiplier>(
      stream, problem, accept_library(hip::find_blas(kind), name, file), name);
}

std::unique_ptr<Computation> open_problem(const StreamRef& stream, const ConvProblem& problem,
                                          const std::string& name, LibraryFile& file) {
  if (!is_library(name)) {
    return std::make_unique<OwnConvolver>(stream, problem, ops::Library::none);
  }
  if (name == to_string(hip::BlasKind::openblas)) {
    if (stream.device().platform() != Platform::cpu) {
      refuse_platform(name, stream.device().platform());
    }
    accept_library(hip::find_blas(hip::BlasKind::openblas), name, file);
    return std::make_unique<ProductConvolver>(stream, problem, name);
  }
  return std::make_unique<LibraryConvolver>(stream, problem, open_dnn(stream, name, file), name);
}

std::unique_ptr<Computation> open_problem(const StreamRef& stream, const PoolProblem& problem,
                                          const std::string& name, LibraryFile& file) {
  if (!is_library(name)) return std::make_unique<OwnPooler>(stream, problem);
  return std::make_unique<LibraryPooler>(stream, problem, open_dnn(stream, name, file), name);
}

}  // namespace

std::vector<std::string> implementations_of(ProblemKind kind) {
  std::vector<std::string> names{"own"};
  if (kind == ProblemKind::matmul) {
    names.emplace_back("own-exact");
    for (const hip::BlasKind one : product_kinds) names.emplace_back(to_string(one));
  } else {
    for (const hip::DnnKind one : dnn_kinds) names.emplace_back(to_string(one));
    if (!is_pooling(kind)) names.emplace_back(to_string(hip::BlasKind::openblas));
  }
  return names;
}

std::vector<std::string> implementations_of(ProblemKind kind, Platform platform) {
  std::vector<std::string> names{"own"};
  if (kind == ProblemKind::matmul) {
    for (const hip::BlasKind one : hip::list_blas(platform)) names.emplace_back(to_string(one));
  } else if (const auto one = hip::dnn_of(platform)) {
    names.emplace_back(to_string(*one));
  } else if (!is_pooling(kind)) {
    names.emplace_back(to_string(hip::BlasKind::openblas));
  }
  return names;
}

bool is_library(std::string_view implementation) {
  return implementation != "own" && implementation != "own-exact";
}

std::unique_ptr<Computation> open_computation(const StreamRef& stream, const Problem& problem,
                                              const std::string& implementation,
                                              LibraryFile& file) {
  return std::visit(
      [&](const auto& one) { return open_problem(stream, one, implementation, file); }, problem);
}

}  // namespace hiptool::measure
