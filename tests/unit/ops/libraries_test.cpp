// SPDX-License-Identifier: MIT
/// Vendors' libraries behind operations. Libraries are found once in a process, so the build runs
/// this program once for each platform, with fakes, real ones or none, and the cases of its name.
#include "hiptool/libraries.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "hiptool/conv.hpp"
#include "hiptool/error.hpp"
#include "hiptool/matmul.hpp"
#include "reference/ops/conv.hpp"
#include "reference/ops/matmul.hpp"
#include "unit/hip/temporary_tree.hpp"
#include "unit/ops/check_images.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using doctest::Contains;
using ops::Library;
using ops::LibraryStatus;
using reference::Values;
using test::Dims;
using test::Placement;

namespace {

constexpr std::array real_dtypes{DType::f32, DType::f64, DType::f16, DType::bf16};

/// A fault of a fake library while it lives.
class Fault {
 public:
  Fault(const char* variable, const char* word) : variable_(variable) { setenv(variable, word, 1); }
  ~Fault() { unsetenv(variable_); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  const char* variable_;
};

Backend backend_of(Platforms& platforms, Platform platform) {
  const auto devices = platforms.devices(platform);
  REQUIRE_MESSAGE(!devices.empty(), platforms.status(platform).reason);
  return Backend(devices[0]);
}

Tensor put(const Backend& backend, DType dtype, const Values& values, Placement placement) {
  const Tensor tensor = test::place(backend, dtype, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

ops::MatmulOptions by_library() {
  ops::MatmulOptions options;
  options.library = Library::automatic;
  return options;
}

LibraryStatus status_of(const Backend& backend, const std::string& library) {
  for (const LibraryStatus& one : ops::library_status(backend)) {
    if (one.library == library) return one;
  }
  return {};
}

struct Product {
  Values a;
  Values b;
  reference::Expected expected;

  Product(DType dtype, const Dims& a_dims, const Dims& b_dims)
      : a(test::real_values(dtype, a_dims, 1)),
        b(test::real_values(dtype, b_dims, 2)),
        expected(reference::matmul(dtype, a, b)) {}
};

std::vector<std::byte> multiply(const Backend& backend, DType dtype, const Product& product,
                                const ops::MatmulOptions& options,
                                Placement of_factors = Placement::packed,
                                Placement of_result = Placement::packed) {
  const Tensor a = put(backend, dtype, product.a, of_factors);
  const Tensor b = put(backend, dtype, product.b, of_factors);
  Tensor out = test::place(backend, dtype, product.expected.values.dims, of_result);
  ops::matmul_into(backend, out, a, b, options);
  return test::read(backend, out);
}

bool is_right(DType dtype, const Product& product, const std::vector<std::byte>& found) {
  const auto got = reference::values_of(dtype, found, product.expected.values.dims);
  for (std::size_t i = 0; i < got.at.size(); ++i) {
    if (!(std::fabs(got.at[i] - product.expected.values.at[i]) <= product.expected.slack[i])) {
      return false;
    }
  }
  return true;
}

void check_products(const Backend& backend, DType dtype, const std::string& library) {
  const std::pair<Dims, Dims> shapes[] = {{{5, 7}, {7, 6}},
                                          {{1, 9}, {9, 4}},
                                          {{6, 9}, {9, 1}},
                                          {{2, 3, 4, 5}, {2, 3, 5, 6}},
                                          {{2, 3, 4, 5}, {2, 1, 5, 6}},
                                          {{1, 3, 4, 5}, {2, 3, 5, 6}}};
  for (const auto& [a_dims, b_dims] : shapes) {
    const Product product(dtype, a_dims, b_dims);
    for (const Placement of_factors : test::placements) {
      for (const Placement of_result : test::placements) {
        CAPTURE(to_string(dtype));
        CAPTURE(product.a.dims.size());
        CAPTURE(static_cast<int>(of_factors));
        CAPTURE(static_cast<int>(of_result));
        const std::uint64_t before = status_of(backend, library).calls;
        test::check_result(dtype,
                           multiply(backend, dtype, product, by_library(), of_factors, of_result),
                           product.expected);
        CHECK(status_of(backend, library).calls == before + 1);
      }
    }
  }
}

struct Convolution {
  ops::ConvOptions options;
  Values x;
  Values weights;
  reference::Expected expected;

  Convolution(DType dtype, std::uint64_t groups)
      : x(test::real_values(dtype, {2, 6, 7, 9}, 3)),
        weights(test::real_values(dtype, {4, 6 / groups, 3, 2}, 4)) {
    options.stride = {2, 1};
    options.padding = {2, 1};
    options.dilation = {1, 3};
    options.groups = groups;
    options.library = Library::automatic;
    expected = reference::conv2d(dtype, x, weights, options);
  }
};

std::vector<std::byte> convolve(const Backend& backend, DType dtype, const Convolution& one,
                                Placement of_inputs = Placement::packed,
                                Placement of_result = Placement::packed) {
  const Tensor x = put(backend, dtype, one.x, of_inputs);
  const Tensor weights = put(backend, dtype, one.weights, of_inputs);
  Tensor out = test::place(backend, dtype, one.expected.values.dims, of_result);
  ops::conv2d_into(backend, out, x, weights, one.options);
  return test::read(backend, out);
}

void check_convolutions(const Backend& backend, DType dtype, const std::string& library) {
  for (const std::uint64_t groups : {1u, 2u}) {
    const Convolution one(dtype, groups);
    for (const Placement placement : test::placements) {
      CAPTURE(to_string(dtype));
      CAPTURE(groups);
      CAPTURE(static_cast<int>(placement));
      const std::uint64_t before = status_of(backend, library).calls;
      test::check_result(dtype, convolve(backend, dtype, one, placement, placement), one.expected);
      CHECK(status_of(backend, library).calls == before + 1);
    }
  }
}

}  // namespace

TEST_CASE("nvidia: products of all types and layouts by cuBLASLt") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Product product(DType::f32, {5, 7}, {7, 6});
  const auto own = multiply(backend, DType::f32, product, {});
  CHECK(ops::library_status(backend).empty());  // not asked for
  for (const DType dtype : real_dtypes) check_products(backend, dtype, "cuBLASLt");
  const auto all = ops::library_status(backend);
  REQUIRE(all.size() == 2);
  CHECK((all[0].library == "cuBLASLt" && all[1].library == "cuBLAS"));
  CHECK((all[0].operation == "matmul" && all[0].other_calls == 0 && all[0].reason.empty()));
  CHECK_FALSE(all[0].version.empty());
  CHECK(all[0].path.find("libcublasLt.so") != std::string::npos);
  CHECK(all[1].calls == 0);

  // With a factor and the old output.
  const Tensor a = put(backend, DType::f64, product.a, Placement::packed);
  const Tensor b = put(backend, DType::f64, product.b, Placement::transposed);
  const Values old = test::real_values(DType::f64, {5, 6}, 9);
  Tensor out = put(backend, DType::f64, old, Placement::offset);
  ops::MatmulOptions options = by_library();
  options.alpha = -2;
  options.beta = 0.5;
  ops::matmul_into(backend, out, a, b, options);
  test::check_result(DType::f64, test::read(backend, out),
                     reference::matmul(DType::f64, product.a, product.b, -2, 0.5, &old));

  // No sums: nothing for a library.
  const std::uint64_t before = status_of(backend, "cuBLASLt").calls;
  const Tensor zeros = ops::matmul(backend, backend.zeros(DType::f32, {2, 0}),
                                   backend.zeros(DType::f32, {0, 3}), by_library());
  CHECK(zeros.element_count() == 6);
  CHECK(status_of(backend, "cuBLASLt").calls == before);
}

TEST_CASE("nvidia: a wrong library is not hidden, and exact products never ask one") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Product product(DType::f32, {20, 30}, {30, 10});
  const auto right = multiply(backend, DType::f32, product, by_library());
  const Fault fault("FAKE_CUBLASLT", "block");
  CHECK(is_right(DType::f32, product, right));
  CHECK_FALSE(is_right(DType::f32, product, multiply(backend, DType::f32, product, by_library())));
  CHECK(status_of(backend, "cuBLASLt").calls == 2);
  ops::MatmulOptions exact = by_library();
  exact.exact = true;
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, exact)));
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, {})));
  CHECK(status_of(backend, "cuBLASLt").calls == 2);
}

TEST_CASE("nvidia: the next library, then our kernels take over from one that fails") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Product product(DType::f32, {20, 30}, {30, 10});
  const auto own = multiply(backend, DType::f32, product, {});
  {
    const Fault fault("FAKE_CUBLASLT", "error");
    CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, by_library())));
    CHECK(status_of(backend, "cuBLASLt").calls == 0);
    CHECK(status_of(backend, "cuBLASLt").other_calls == 1);
    CHECK(status_of(backend, "cuBLASLt").reason.find("CUBLAS_STATUS") != std::string::npos);
    CHECK(status_of(backend, "cuBLAS").calls == 1);
    const Fault second("FAKE_CUBLAS", "error");
    CHECK(multiply(backend, DType::f32, product, by_library()) == own);
    CHECK(status_of(backend, "cuBLAS").calls == 1);
    CHECK(status_of(backend, "cuBLAS").reason.find("cuBLAS: CUBLAS_STATUS") == 0);
  }
  // One that has failed is not asked again by this Backend, but by another.
  CHECK(multiply(backend, DType::f32, product, by_library()) == own);
  CHECK(status_of(backend, "cuBLASLt").other_calls == 3);
  const Backend other = backend_of(platforms, Platform::nvidia);
  multiply(other, DType::f32, product, by_library());
  CHECK(status_of(other, "cuBLASLt").calls == 1);
  // The old output may be lost.
  const Fault fault("FAKE_CUBLASLT", "error");
  ops::MatmulOptions options = by_library();
  options.beta = 1;
  CHECK_THROWS_WITH_AS(multiply(other, DType::f32, product, options), Contains("may be lost"),
                       Error);
}

TEST_CASE("nvidia: layouts that libraries do not read are for our kernels") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Product product(DType::f32, {20, 30}, {30, 10});
  const Tensor a = put(backend, DType::f32, product.a, Placement::packed);
  const Tensor row = backend.zeros(DType::f32, {10});
  const Tensor repeated =
      row.with_layout(Layout::strided(Dims{30, 10}, Dims{0, 1}));  // one row for all
  Tensor out = backend.empty(DType::f32, {20, 10});
  ops::matmul_into(backend, out, a, repeated, by_library());
  for (const std::byte one : test::read(backend, out)) CHECK(one == std::byte{0});
  CHECK(status_of(backend, "cuBLASLt").calls == 0);
  CHECK(status_of(backend, "cuBLASLt").reason.find("layout") != std::string::npos);
  // It is asked for others.
  ops::matmul_into(backend, out, a, put(backend, DType::f32, product.b, Placement::packed),
                   by_library());
  CHECK(status_of(backend, "cuBLASLt").calls == 1);
}

TEST_CASE("nvidia: TF32 only where it is allowed") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  // Most terms are rounded, and a bound of few terms is narrow.
  const Product product(DType::f32, {20, 3}, {3, 20});
  ops::MatmulOptions options = by_library();
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, options)));
  options.allows_tf32 = true;
  CHECK_FALSE(is_right(DType::f32, product, multiply(backend, DType::f32, product, options)));
  options.exact = true;
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, options)));
  CHECK(status_of(backend, "cuBLASLt").calls == 2);
  const Product halves(DType::f16, {20, 3}, {3, 20});
  options.exact = false;
  CHECK(is_right(DType::f16, halves, multiply(backend, DType::f16, halves, options)));
  CHECK(status_of(backend, "cuBLASLt").calls == 3);

  Convolution one(DType::f32, 1);
  const auto right = convolve(backend, DType::f32, one);
  one.options.allows_tf32 = true;
  CHECK(convolve(backend, DType::f32, one) != right);
  CHECK(status_of(backend, "cuDNN").calls == 2);
}

TEST_CASE("nvidia: parts of a sum are joined in f32") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Product product(dtype, {5, 1024}, {1024, 6});
    CHECK(is_right(dtype, product, multiply(backend, dtype, product, by_library())));
  }
  CHECK(status_of(backend, "cuBLASLt").calls == 2);
}

TEST_CASE("nvidia: threads share a Backend's libraries") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Tensor a = backend.zeros(DType::f32, {8, 8});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 8; ++k) static_cast<void>(ops::matmul(backend, a, a, by_library()));
      });
    }
  }
  backend.synchronize();
  CHECK(status_of(backend, "cuBLASLt").calls == 32);
}

TEST_CASE("nvidia: convolutions by cuDNN, of all types and layouts") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  for (const DType dtype : real_dtypes) check_convolutions(backend, dtype, "cuDNN");
  CHECK(status_of(backend, "cuDNN").operation == "conv2d");
  CHECK(status_of(backend, "cuDNN").reason.empty());
  CHECK(status_of(backend, "cuBLASLt").library.empty());  // not asked

  // The fake's first algorithm needs 4096 bytes.
  Convolution one(DType::f32, 1);
  one.options.workspace_bytes = 0;
  test::check_result(DType::f32, convolve(backend, DType::f32, one), one.expected);
  CHECK(status_of(backend, "cuDNN").other_calls == 0);

  ops::Conv1dOptions line;
  line.padding = 1;
  line.library = Library::automatic;
  const Values x = test::real_values(DType::f32, {2, 3, 9}, 5);
  const Values weights = test::real_values(DType::f32, {4, 3, 3}, 6);
  const std::uint64_t before = status_of(backend, "cuDNN").calls;
  const Tensor lines = ops::conv1d(backend, put(backend, DType::f32, x, Placement::packed),
                                   put(backend, DType::f32, weights, Placement::packed), line);
  const auto expected = reference::conv1d(DType::f32, x, weights, line);
  test::check_result(DType::f32, test::read(backend, lines), expected);
  CHECK(status_of(backend, "cuDNN").calls == before + 1);
}

TEST_CASE("nvidia: cuDNN that is wrong shows, one that fails is replaced") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  const Convolution one(DType::f32, 1);
  Convolution own = one;
  own.options.library = Library::none;
  const auto ours = convolve(backend, DType::f32, own);
  CHECK(ops::library_status(backend).empty());
  const auto right = convolve(backend, DType::f32, one);
  {
    const Fault fault("FAKE_CUDNN", "block");
    CHECK(convolve(backend, DType::f32, one) != right);
    CHECK(convolve(backend, DType::f32, own) == ours);
  }
  const Fault fault("FAKE_CUDNN", "error");
  test::check_result(DType::f32, convolve(backend, DType::f32, one), one.expected);
  CHECK(status_of(backend, "cuDNN").calls == 2);
  CHECK(status_of(backend, "cuDNN").reason.find("CUDNN_STATUS_EXECUTION_FAILED") !=
        std::string::npos);
  CHECK(status_of(backend, "cuBLASLt").calls == 1);  // the products of our own way
}

TEST_CASE("nvidia: transposed convolutions have products by a library") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::nvidia);
  ops::ConvOptions options;
  options.stride = {2, 1};
  options.library = Library::automatic;
  const Values x = test::real_values(DType::f32, {2, 6, 4, 5}, 3);
  const Values weights = test::real_values(DType::f32, {6, 4, 3, 2}, 4);
  const auto expected = reference::conv_transpose2d(DType::f32, x, weights, options);
  const Tensor out =
      ops::conv_transpose2d(backend, put(backend, DType::f32, x, Placement::packed),
                            put(backend, DType::f32, weights, Placement::packed), options);
  test::check_result(DType::f32, test::read(backend, out), expected);
  CHECK(status_of(backend, "cuBLASLt").calls == 1);
  CHECK(status_of(backend, "cuDNN").library.empty());
}

TEST_CASE("amd: libraries only where they have kernels for the device") {
  Platforms platforms;
  const Product product(DType::f32, {20, 30}, {30, 10});
  const Backend backend = backend_of(platforms, Platform::amd);
  // The build's variables give hipBLASLt a folder with kernels for gfx90a, rocBLAS one without.
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, by_library())));
  CHECK(status_of(backend, "hipBLASLt").calls == 1);
  const Fault fault("FAKE_HIPBLASLT", "error");
  CHECK(is_right(DType::f32, product, multiply(backend, DType::f32, product, by_library())));
  const LibraryStatus rocblas = status_of(backend, "rocBLAS");
  CHECK((rocblas.calls == 0 && rocblas.other_calls == 1));
  CHECK(rocblas.reason.find("no kernels for gfx90a were found next to ") == 0);
}

TEST_CASE("amd: convolutions by MIOpen, of all types and layouts") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::amd);
  for (const DType dtype : real_dtypes) check_convolutions(backend, dtype, "MIOpen");
  Convolution single(DType::f32, 1);
  single.options.allows_tf32 = true;  // it has none
  test::check_result(DType::f32, convolve(backend, DType::f32, single), single.expected);
  CHECK(status_of(backend, "MIOpen").other_calls == 0);
  const Convolution one(DType::f16, 2);
  const Fault fault("FAKE_MIOPEN", "error");
  test::check_result(DType::f16, convolve(backend, DType::f16, one), one.expected);
  CHECK(status_of(backend, "MIOpen").reason.find("miopenStatusInternalError") != std::string::npos);
}

TEST_CASE("cpu: OpenBLAS computes f32 and f64, our kernels the halves") {
  Platforms platforms;
  const Backend backend = backend_of(platforms, Platform::cpu);
  const Product first(DType::f32, {5, 7}, {7, 6});
  multiply(backend, DType::f32, first, by_library());
  if (status_of(backend, "OpenBLAS").path.empty()) {
    return test::skip_case(status_of(backend, "OpenBLAS").reason);
  }
  check_products(backend, DType::f32, "OpenBLAS");
  check_products(backend, DType::f64, "OpenBLAS");
  // It has no TF32.
  ops::MatmulOptions tf32 = by_library();
  tf32.allows_tf32 = true;
  CHECK(is_right(DType::f32, first, multiply(backend, DType::f32, first, tf32)));
  CHECK(status_of(backend, "OpenBLAS").other_calls == 0);
  const std::uint64_t before = status_of(backend, "OpenBLAS").calls;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Product halves(dtype, {5, 7}, {7, 6});
    CHECK(multiply(backend, dtype, halves, by_library()) == multiply(backend, dtype, halves, {}));
    CHECK(
        status_of(backend, "OpenBLAS").reason.find("does not compute this combination of types") !=
        std::string::npos);
  }
  CHECK(status_of(backend, "OpenBLAS").calls == before);
  // Convolutions are products of columns.
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Convolution one(dtype, 1);
    test::check_result(dtype, convolve(backend, dtype, one), one.expected);
  }
  CHECK(status_of(backend, "OpenBLAS").calls == before + 2);
}

TEST_CASE("none: our kernels compute, with the reason") {
  Platforms platforms;
  const Product product(DType::f32, {20, 30}, {30, 10});
  const Convolution one(DType::f32, 1);
  Convolution own = one;
  own.options.library = Library::none;
  const std::pair<Platform, std::vector<std::string>> all[] = {
      {Platform::cpu, {"OpenBLAS"}},
      {Platform::nvidia, {"cuBLASLt", "cuBLAS", "cuDNN"}},
      {Platform::amd, {"hipBLASLt", "rocBLAS", "MIOpen"}}};
  for (const auto& [platform, names] : all) {
    const Backend backend = backend_of(platforms, platform);
    CHECK(multiply(backend, DType::f32, product, by_library()) ==
          multiply(backend, DType::f32, product, {}));
    test::check_result(DType::f32, convolve(backend, DType::f32, one), one.expected);
    CHECK(ops::library_status(backend).size() == names.size());
    for (const std::string& name : names) {
      const LibraryStatus status = status_of(backend, name);
      CAPTURE(name);
      CHECK((status.calls == 0 && status.other_calls >= 1));
      CHECK(status.reason.find("was found") != std::string::npos);
    }
  }
}
