// SPDX-License-Identifier: MIT
/// Products of i8 by vendors' libraries; the build runs this program as libraries_test.cpp says.
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "hiptool/libraries.hpp"
#include "hiptool/matmul.hpp"
#include "reference/ops/matmul.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::Library;
using ops::LibraryStatus;
using reference::Values;
using test::Placement;

namespace {

using Sizes = std::vector<std::uint64_t>;

class I8Fault {
 public:
  explicit I8Fault(const char* word) { setenv("FAKE_BLAS", word, 1); }
  ~I8Fault() { unsetenv("FAKE_BLAS"); }
  I8Fault(const I8Fault&) = delete;
  I8Fault& operator=(const I8Fault&) = delete;
};

Backend i8_backend(Platforms& platforms, Platform platform) {
  const auto devices = platforms.devices(platform);
  REQUIRE_MESSAGE(!devices.empty(), platforms.status(platform).reason);
  return Backend(devices[0]);
}

Values random_i8(const Sizes& dims, std::uint32_t seed) {
  std::mt19937 random(seed);
  Values values{dims, {}};
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.at.push_back(static_cast<int>(random() % 256) - 128);
  }
  return values;
}

struct I8Product {
  Values a;
  Values b;
  reference::Expected expected;

  I8Product(const Sizes& a_dims, const Sizes& b_dims)
      : a(random_i8(a_dims, 1)), b(random_i8(b_dims, 2)), expected(reference::matmul_i32(a, b)) {}

  std::vector<std::byte> bytes() const { return reference::bytes_of(DType::i32, expected.values); }
};

std::vector<std::byte> multiply_i8(const Backend& backend, const I8Product& product,
                                   const ops::MatmulI32Options& options,
                                   Placement of_factors = Placement::packed,
                                   Placement of_result = Placement::packed) {
  const auto put = [&](const Values& values) {
    const Tensor tensor = test::place(backend, DType::i8, values.dims, of_factors);
    test::write(backend, tensor, values);
    return tensor;
  };
  const Tensor a = put(product.a);
  const Tensor b = put(product.b);
  Tensor out = test::place(backend, DType::i32, product.expected.values.dims, of_result);
  ops::matmul_i32_into(backend, out, a, b, options);
  return test::read(backend, out);
}

constexpr ops::MatmulI32Options by_i8_library{.no_copies = false, .library = Library::automatic};
constexpr ops::MatmulI32Options without_copies{.no_copies = true, .library = Library::automatic};

LibraryStatus i8_status(const Backend& backend, const std::string& library) {
  for (const LibraryStatus& one : ops::library_status(backend)) {
    if (one.library == library) return one;
  }
  return {};
}

}  // namespace

TEST_CASE("nvidia: products of i8 by cuBLASLt, from copies where it does not read an operand") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::nvidia);
  std::uint64_t calls = 0;
  for (const I8Product& product :
       {I8Product({40, 32}, {32, 36}), I8Product({2, 64, 36}, {2, 36, 48}),
        I8Product({3, 1, 40, 12}, {1, 2, 12, 32}), I8Product({2, 3, 33, 8}, {2, 1, 8, 64})}) {
    for (const Placement placement : test::placements) {
      CAPTURE(static_cast<int>(placement));
      CHECK(multiply_i8(backend, product, by_i8_library, placement) == product.bytes());
      CHECK(i8_status(backend, "cuBLASLt").calls == ++calls);
      CHECK(i8_status(backend, "cuBLASLt").operation == "matmul");
    }
  }
}

TEST_CASE("nvidia: products of i8 that cuBLASLt does not have are for cuBLAS, or our kernel") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::nvidia);
  // The result is narrower than cuBLASLt's.
  const I8Product narrow({40, 32}, {32, 37});
  CHECK(multiply_i8(backend, narrow, by_i8_library) == narrow.bytes());
  CHECK(i8_status(backend, "cuBLASLt").calls == 0);
  CHECK(i8_status(backend, "cuBLASLt").reason.find("no algorithm") != std::string::npos);
  CHECK(i8_status(backend, "cuBLAS").calls == 1);
  // Without a copy, b is not stored as cuBLASLt needs it, but as cuBLAS can read it.
  const I8Product aligned({40, 32}, {32, 36});
  CHECK(multiply_i8(backend, aligned, without_copies) == aligned.bytes());
  CHECK(i8_status(backend, "cuBLAS").calls == 2);
  // Rows begin anywhere.
  const I8Product odd({40, 33}, {33, 37});
  CHECK(multiply_i8(backend, odd, without_copies) == odd.bytes());
  CHECK(i8_status(backend, "cuBLAS").calls == 2);
  CHECK(i8_status(backend, "cuBLAS").reason.find("multiples of 4 bytes") != std::string::npos);
  CHECK(multiply_i8(backend, odd, by_i8_library) == odd.bytes());
  CHECK(i8_status(backend, "cuBLAS").calls == 3);
  // A copy for few rows would cost more than it saves.
  const I8Product few({3, 33}, {33, 37});
  CHECK(multiply_i8(backend, few, by_i8_library) == few.bytes());
  CHECK(i8_status(backend, "cuBLAS").calls == 3);
  // What a library refuses for one product, it is asked for the next one.
  CHECK(multiply_i8(backend, aligned, by_i8_library) == aligned.bytes());
  CHECK(i8_status(backend, "cuBLASLt").calls == 1);
  {
    const I8Product other({40, 32}, {32, 40});  // as an algorithm is kept for a shape
    const I8Fault fault("no-i8");
    CHECK(multiply_i8(backend, other, by_i8_library) == other.bytes());
  }
  CHECK(i8_status(backend, "cuBLASLt").calls + i8_status(backend, "cuBLAS").calls == 4);
  CHECK(multiply_i8(backend, narrow, by_i8_library) == narrow.bytes());
  CHECK(i8_status(backend, "cuBLAS").calls == 4);
}

TEST_CASE("nvidia: sums of i8 that can leave 32 bits are for our kernel") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::nvidia);
  const I8Fault fault("saturate");
  const auto multiply_most = [&](std::uint64_t k) {
    const Values least{{1, k}, std::vector<long double>(k, -128)};
    const auto put = [&](const Values& values) {
      const Tensor tensor = backend.empty(DType::i8, values.dims);
      test::write(backend, tensor, values);
      return tensor;
    };
    const Tensor a = put(least);
    const Tensor b = put({{k, 4}, std::vector<long double>(4 * k, -128)});
    const auto found = test::read(backend, ops::matmul_i32(backend, a, b, by_i8_library));
    return reference::values_of(DType::i32, found, Sizes{1, 4}).at[3];
  };
  CHECK(multiply_most(131068) == 131068 * 16384.0L);
  CHECK(i8_status(backend, "cuBLASLt").calls + i8_status(backend, "cuBLAS").calls == 1);
  CHECK(multiply_most(131072) == -0x1p31L);
  CHECK(i8_status(backend, "cuBLASLt").calls + i8_status(backend, "cuBLAS").calls == 1);
}

TEST_CASE("nvidia: a wrong product of i8 is not hidden, and an error is taken over") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::nvidia);
  const I8Product product({40, 32}, {32, 36});
  {
    const I8Fault fault("block");
    CHECK(multiply_i8(backend, product, by_i8_library) != product.bytes());
  }
  const I8Fault fault("error");
  CHECK(multiply_i8(backend, product, by_i8_library) == product.bytes());
  CHECK(i8_status(backend, "cuBLASLt").calls == 1);
  CHECK(i8_status(backend, "cuBLAS").calls == 0);
}

TEST_CASE("amd: products of i8 by hipBLASLt and rocBLAS") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::amd);
  std::uint64_t calls = 0;
  for (const I8Product& product :
       {I8Product({40, 32}, {32, 37}), I8Product({2, 64, 36}, {2, 36, 48})}) {
    for (const Placement placement : test::placements) {
      CHECK(multiply_i8(backend, product, by_i8_library, placement) == product.bytes());
      std::uint64_t done = 0;
      for (const LibraryStatus& one : ops::library_status(backend)) done += one.calls;
      CHECK(done == ++calls);
    }
  }
  // A library without kernels for i8 is asked for the next product.
  const I8Product product({40, 32}, {32, 37});
  {
    const I8Product other({40, 32}, {32, 40});
    const I8Fault fault("no-i8");
    CHECK(multiply_i8(backend, other, by_i8_library) == other.bytes());
  }
  CHECK(multiply_i8(backend, product, by_i8_library) == product.bytes());
  std::uint64_t done = 0;
  for (const LibraryStatus& one : ops::library_status(backend)) done += one.calls;
  CHECK(done == calls + 1);
}

TEST_CASE("cpu: products of i8 are for our kernel") {
  Platforms platforms;
  const Backend backend = i8_backend(platforms, Platform::cpu);
  const I8Product product({40, 33}, {33, 36});
  CHECK(multiply_i8(backend, product, by_i8_library) == product.bytes());
  CHECK(i8_status(backend, "OpenBLAS").calls == 0);
}
