// SPDX-License-Identifier: MIT
/// Errors of matrix products, from which the bound of docs/kernels.md has its constants: the
/// largest |got - want| / (u sqrt(sum of squared products)) of products 256x256xK by our kernels
/// and by the libraries of a device, with u of the type of the sums; `want` is summed in double for
/// some rows. product_errors [DEVICE [MOST_K [ROWS]]]: "nvidia:0" 65536 32 are usual for a GPU.
///
/// Results of libraries are f32, so that their rounding does not hide the errors of sums. Results
/// of our kernels have the type of the factors: they are the difference to an old output that is
/// about the sum, and what the rounding of that difference may be is not counted.
///
/// mixed: uniform factors from -1 to 1; one-sign: from 0 to 1. Towards zero: the mean of |want| -
/// |got|, in the same unit, which is 0 where sums are rounded to nearest. Bound: the largest error
/// as a share of today's bound.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "for_call.hpp"
#include "hip/blas.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/tensor.hpp"
#include "measure/library/product_judge.hpp"

namespace {

using namespace hiptool;

constexpr std::uint64_t side = 256;
constexpr std::uint64_t least_k = 64;
constexpr std::uint64_t many_matrices = 32;  ///< fill a GPU, so that sums are not split

double uniform(std::uint64_t index, bool has_one_sign) {
  std::uint64_t x = 1 + (index + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  const double unit = static_cast<double>((x ^ x >> 31) >> 40) * 0x1p-24;
  return has_one_sign ? unit : 2 * unit - 1;
}

/// Rounds to the type, and stores it.
float store(DType dtype, double value, std::byte* to) {
  const auto single = static_cast<float>(value);
  if (dtype == DType::f16) {
    const Half half = to_half(single);
    std::memcpy(to, &half.bits, sizeof(half.bits));
    return to_float(half);
  }
  if (dtype == DType::bf16) {
    const BFloat16 half = to_bfloat16(single);
    std::memcpy(to, &half.bits, sizeof(half.bits));
    return to_float(half);
  }
  std::memcpy(to, &single, sizeof(single));
  return single;
}

double load(DType dtype, const std::byte* from) {
  if (dtype == DType::f32) {
    float single = 0;
    std::memcpy(&single, from, sizeof(single));
    return single;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  return dtype == DType::f16 ? to_float(Half{bits}) : to_float(BFloat16{bits});
}

/// Half the distance of 1 to the next number.
double unit_of(DType dtype) {
  if (dtype == DType::f32) return 0x1p-24;
  return dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
}

/// The factors of the largest K, of which smaller ones take the first terms: A is [256, K], B is
/// [K, 256] and once more [256, K].
struct Factors {
  DType dtype;
  std::uint64_t most_k;
  std::vector<float> a;
  std::vector<float> b;
  Buffer stored_a;
  Buffer stored_b;
  Buffer stored_b_transposed;

  Factors(const Device& device, DType type, bool has_one_sign, std::uint64_t k)
      : dtype(type), most_k(k), a(side * k), b(k * side) {
    const std::size_t size = element_size_bytes(dtype);
    std::vector<std::byte> bytes_a(side * k * size);
    std::vector<std::byte> bytes_b(side * k * size);
    std::vector<std::byte> bytes_transposed(side * k * size);
    measure::for_each_in_threads(side, [&](std::uint64_t row) {
      for (std::uint64_t p = 0; p < k; ++p) {
        const std::uint64_t at = row * k + p;
        a[at] = store(dtype, uniform(2 * at, has_one_sign), &bytes_a[at * size]);
        std::byte* const in_column = &bytes_transposed[at * size];
        b[p * side + row] = store(dtype, uniform(2 * at + 1, has_one_sign), in_column);
        std::memcpy(&bytes_b[(p * side + row) * size], in_column, size);
      }
    });
    stored_a = upload(device, bytes_a);
    stored_b = upload(device, bytes_b);
    stored_b_transposed = upload(device, bytes_transposed);
  }

  static Buffer upload(const Device& device, const std::vector<std::byte>& bytes) {
    Buffer buffer(device, bytes.size());
    copy_h2d_and_wait(buffer, bytes);
    return buffer;
  }
};

/// Sums in double of some rows.
struct Reference {
  std::vector<std::uint64_t> rows;
  std::vector<double> sums;
  std::vector<double> sizes;  ///< roots of the sums of squares

  Reference(const Factors& factors, std::uint64_t k, std::uint64_t row_count) {
    for (std::uint64_t i = 0; i < row_count; ++i) rows.push_back(i * side / row_count);
    sums.assign(row_count * side, 0);
    sizes.assign(row_count * side, 0);
    measure::for_each_in_threads(row_count, [&](std::uint64_t i) {
      double* const sum = &sums[i * side];
      double* const square = &sizes[i * side];
      for (std::uint64_t p = 0; p < k; ++p) {
        const double factor = factors.a[rows[i] * factors.most_k + p];
        const float* const others = &factors.b[p * side];
        for (std::uint64_t j = 0; j < side; ++j) {
          const double product = factor * static_cast<double>(others[j]);
          sum[j] += product;
          square[j] += product * product;
        }
      }
      for (std::uint64_t j = 0; j < side; ++j) square[j] = std::sqrt(square[j]);
    });
  }
};

/// What the errors of one product are, in u sqrt(sum of squared products).
struct Errors {
  double largest = 0;
  double towards_zero = 0;  ///< mean
};

/// `old` is what the result is the difference to, or empty.
Errors errors_of(const Reference& reference, double unit, DType dtype,
                 const std::vector<std::byte>& results, const std::vector<double>& old) {
  const std::size_t size = element_size_bytes(dtype);
  Errors errors;
  for (std::size_t i = 0; i < reference.rows.size(); ++i) {
    for (std::uint64_t j = 0; j < side; ++j) {
      const std::size_t at = i * side + j;
      const double found = load(dtype, &results[(reference.rows[i] * side + j) * size]);
      const double got = old.empty() ? found : old[at] + found;
      const double want = reference.sums[at];
      const double rounding = dtype == DType::f32 ? 0 : unit_of(dtype) * std::fabs(found);
      const double scale = unit * reference.sizes[at];
      const double error = std::max(std::fabs(got - want) - rounding, 0.0) / scale;
      // A NaN stays the largest.
      if (!(error <= errors.largest)) errors.largest = error;
      errors.towards_zero += (std::fabs(want) - std::fabs(got)) / scale;
    }
  }
  errors.towards_zero /= static_cast<double>(reference.sums.size());
  return errors;
}

/// One line of the table.
void print_line(const std::string& implementation, DType dtype, const std::string& note,
                const char* signs, std::uint64_t k, const Errors& errors) {
  const auto terms = static_cast<double>(k);
  measure::MatmulProblem problem;
  problem.k = k;
  problem.dtype = dtype;
  const double bound = measure::bound_units_of(problem) / 0x1p-24;
  const std::string types = std::string(to_string(dtype)) + note;
  std::printf("%-18s %-14s %-8s %6llu %12.2f %10.3f %10.5f %12.3f %9.5f\n", implementation.c_str(),
              types.c_str(), signs, static_cast<unsigned long long>(k), errors.largest,
              errors.largest / std::sqrt(terms), errors.largest / terms, errors.towards_zero,
              errors.largest / bound);
  std::fflush(stdout);
}

class Products {
 public:
  Products(const Device& device, std::uint64_t row_count)
      : device_(device),
        backend_(device),
        row_count_(row_count),
        c_(device, many_matrices * side * side * 4) {
    workspace_ = Buffer(device, workspace_bytes);
    for (const hip::BlasKind kind : hip::list_blas(device.platform())) {
      const hip::BlasLibrary& library = hip::find_blas(kind);
      if (library.api == nullptr) {
        std::printf("%s: %s\n", library.name.c_str(), library.reason.c_str());
        continue;
      }
      void* handle = nullptr;
      const DeviceGuard guard(device);
      const int result = library.api->open(handle);
      if (result == 0) libraries_.push_back({&library, handle});
      std::printf("%s %s: %s\n", library.name.c_str(), library.version.c_str(),
                  result == 0 ? library.path.c_str() : library.api->error_text(result).c_str());
    }
  }

  ~Products() {
    for (const Opened& one : libraries_) one.library->api->close(one.handle);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void measure(DType dtype, bool has_one_sign, std::uint64_t most_k) {
    const Factors factors(device_, dtype, has_one_sign, most_k);
    const char* const signs = has_one_sign ? "one-sign" : "mixed";
    for (std::uint64_t k = least_k; k <= most_k; k *= 4) {
      const Reference reference(factors, k, row_count_);
      for (const bool is_exact : {false, true}) multiply(factors, reference, signs, k, is_exact);
      for (const Opened& one : libraries_) {
        const auto add = [&](hip::BlasType result, hip::BlasCompute compute, const char* note) {
          multiply(one, factors, reference, signs, k, result, compute, note);
        };
        add(hip::BlasType::f32, hip::BlasCompute::f32, "");
        if (dtype == DType::f32) {
          add(hip::BlasType::f32, hip::BlasCompute::f32_fast_tf32, " in tf32");
        } else {
          add(type_of(dtype), hip::BlasCompute::f32, " to halves");
        }
        if (dtype == DType::f16) add(hip::BlasType::f16, hip::BlasCompute::f16, " in f16");
      }
    }
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  struct Opened {
    const hip::BlasLibrary* library;
    void* handle;
  };

  static hip::BlasType type_of(DType dtype) {
    if (dtype == DType::f32) return hip::BlasType::f32;
    return dtype == DType::f16 ? hip::BlasType::f16 : hip::BlasType::bf16;
  }

  /// How one product is queued, of which errors are the largest: each way may be another kernel.
  struct Way {
    bool has_transposed_b;
    std::uint64_t batch;  ///< the same product that many times
  };
  std::vector<Way> ways() const {
    std::vector<Way> all{{false, 1}, {true, 1}};
    if (device_.is_host_memory()) return all;
    all.push_back({false, many_matrices});
    all.push_back({true, many_matrices});
    return all;
  }

  std::vector<std::byte> read(DType dtype) const {
    backend_.stream().synchronize();
    std::vector<std::byte> results(side * side * element_size_bytes(dtype));
    copy_d2h_and_wait(results, c_.view(0, results.size()));
    return results;
  }

  /// Our kernels, with the nearest halves of the sums as the old output.
  void multiply(const Factors& factors, const Reference& reference, const char* signs,
                std::uint64_t k, bool is_exact) {
    const DType dtype = factors.dtype;
    const std::size_t size = element_size_bytes(dtype);
    std::vector<std::byte> old_bytes(side * side * size);
    std::vector<double> old(reference.sums.size());
    for (std::size_t at = 0; at < old.size(); ++at) {
      const std::uint64_t row = reference.rows[at / side];
      old[at] = store(dtype, reference.sums[at], &old_bytes[(row * side + at % side) * size]);
    }
    Errors errors;
    ops::MatmulOptions options;
    options.beta = -1;
    options.exact = is_exact;
    for (const Way& way : ways()) {
      copy_h2d_and_wait(c_.view(0, old_bytes.size()), old_bytes);
      const Layout lines({1, side, factors.most_k});
      const Layout columns =
          way.has_transposed_b ? lines.transpose(1, 2) : Layout({1, factors.most_k, side});
      const Buffer& b = way.has_transposed_b ? factors.stored_b_transposed : factors.stored_b;
      ops::matmul_into(
          backend_, test::for_call(Tensor(c_, dtype, Layout({way.batch, side, side}))),
          Tensor(factors.stored_a, dtype, lines.narrow(2, 0, k).broadcast_to({way.batch, side, k})),
          Tensor(b, dtype, columns.narrow(1, 0, k).broadcast_to({way.batch, k, side})), options);
      join(errors, errors_of(reference, 0x1p-24, dtype, read(dtype), old));
    }
    print_line(is_exact ? "own-exact" : "own", dtype, "", signs, k, errors);
  }

  static void join(Errors& all, const Errors& one) {
    if (!(one.largest <= all.largest)) all = one;
  }

  void multiply(const Opened& opened, const Factors& factors, const Reference& reference,
                const char* signs, std::uint64_t k, hip::BlasType result, hip::BlasCompute compute,
                const char* note) {
    hip::GemmCall call;
    call.a_type = call.b_type = type_of(factors.dtype);
    call.c_type = result;
    call.compute = compute;
    call.m = call.n = side;
    call.k = static_cast<std::int64_t>(k);
    call.lda = static_cast<std::int64_t>(factors.most_k);
    call.ldc = side;
    call.a = factors.stored_a.address();
    call.c = c_.address();
    call.stream = static_cast<hip::hipStream_t>(backend_.stream().native_handle());
    call.workspace = workspace_.address();
    call.workspace_bytes = workspace_bytes;
    const DType out = result == hip::BlasType::f32 ? DType::f32 : factors.dtype;
    Errors errors;
    for (const Way& way : ways()) {
      call.transpose_b = way.has_transposed_b;
      call.ldb = way.has_transposed_b ? call.lda : static_cast<std::int64_t>(side);
      call.b = (way.has_transposed_b ? factors.stored_b_transposed : factors.stored_b).address();
      call.batch = static_cast<std::int64_t>(way.batch);
      call.stride_c = side * side;
      const DeviceGuard guard(device_);
      const int status = opened.library->api->gemm(opened.handle, call);
      if (status == hip::blas_types) return;
      if (status != 0) {
        std::printf("%s: %s\n", opened.library->name.c_str(),
                    opened.library->api->error_text(status).c_str());
        return;
      }
      join(errors, errors_of(reference, 0x1p-24, out, read(out), {}));
    }
    print_line(opened.library->name, factors.dtype, note, signs, k, errors);
  }

  Device device_;
  Backend backend_;
  std::uint64_t row_count_;
  Buffer c_;
  Buffer workspace_;
  std::vector<Opened> libraries_;
};

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int at, std::uint64_t otherwise) {
    return count > at ? std::strtoull(arguments[at], nullptr, 10) : otherwise;
  };
  try {
    Platforms platforms;
    const Device device = find_device(platforms, count > 1 ? arguments[1] : "cpu");
    const std::uint64_t most_k = number(2, device.is_host_memory() ? 1024 : 65536);
    Products products(device, std::clamp<std::uint64_t>(number(3, 32), 1, side));
    std::printf("%s; errors in u sqrt(sum of squared products), u = 2^-24\n",
                device.info().name.c_str());
    std::printf("%-18s %-14s %-8s %6s %12s %10s %10s %12s %9s\n", "implementation", "types",
                "signs", "K", "largest", "/ sqrt(K)", "/ K", "towards zero", "bound");
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      for (const bool has_one_sign : {false, true}) {
        products.measure(dtype, has_one_sign, std::max(most_k, least_k));
      }
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
