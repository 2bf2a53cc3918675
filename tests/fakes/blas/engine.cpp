// SPDX-License-Identifier: MIT
#include "fakes/blas/engine.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

using hip::BlasCompute;
using hip::BlasType;

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

/// Rounded to `bits` bits of mantissa, the hidden one included; the exponent has no bounds.
double round_to(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, bits - exponent)), exponent - bits);
}

double to_half_value(double value) {
  if (std::fabs(value) < std::ldexp(1.0, -14)) {
    return std::ldexp(std::nearbyint(std::ldexp(value, 24)), -24);
  }
  const double rounded = round_to(value, 11);
  return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, value) : rounded;
}

std::uint16_t to_half_bits(double value) {
  const double rounded = to_half_value(value);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(rounded);
  if (size != size) return 0x7e00;
  if (std::isinf(size)) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (size < std::ldexp(1.0, -14))
    return static_cast<std::uint16_t>(sign | std::lround(std::ldexp(size, 24)));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);
  const auto mantissa = std::lround(std::ldexp(fraction, 11)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | mantissa);
}

double load(const void* base, BlasType type, std::int64_t at) {
  switch (type) {
    case BlasType::f64: return static_cast<const double*>(base)[at];
    case BlasType::f32: return static_cast<const float*>(base)[at];
    case BlasType::f16: return from_half(static_cast<const std::uint16_t*>(base)[at]);
    case BlasType::bf16: {
      const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(base)[at]} << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case BlasType::i8: return static_cast<const std::int8_t*>(base)[at];
    case BlasType::i32: return static_cast<const std::int32_t*>(base)[at];
  }
  return 0;
}

void store(void* base, BlasType type, std::int64_t at, double value) {
  switch (type) {
    case BlasType::f64: static_cast<double*>(base)[at] = value; return;
    case BlasType::f32: static_cast<float*>(base)[at] = static_cast<float>(value); return;
    case BlasType::f16: static_cast<std::uint16_t*>(base)[at] = to_half_bits(value); return;
    case BlasType::bf16: {
      const auto rounded = static_cast<float>(round_to(value, 8));
      std::uint32_t bits = 0;
      std::memcpy(&bits, &rounded, sizeof bits);
      static_cast<std::uint16_t*>(base)[at] = static_cast<std::uint16_t>(bits >> 16);
      return;
    }
    case BlasType::i8:
    case BlasType::i32:
      static_cast<std::int32_t*>(base)[at] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
      return;
  }
}

double scalar(const void* pointer, BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f64: return load(pointer, BlasType::f64, 0);
    case BlasCompute::f16: return load(pointer, BlasType::f16, 0);
    case BlasCompute::i32: return load(pointer, BlasType::i32, 0);
    default: return load(pointer, BlasType::f32, 0);
  }
}

/// A sum as the computation's type keeps it.
class Sum {
 public:
  Sum(BlasCompute compute, const Faults& faults)
      : is_f64_(compute == BlasCompute::f64 || compute == BlasCompute::i32),
        is_half_(compute == BlasCompute::f16 || faults.is("f16")),
        is_tf32_(compute == BlasCompute::f32_fast_tf32 || faults.is("tf32")),
        saturates_(compute == BlasCompute::i32 && faults.is("saturate")) {}

  void clear() { sum_ = 0; }
  void add(double left, double right) {
    constexpr int tf32_bits = 11;
    if (is_tf32_) {
      left = round_to(left, tf32_bits);
      right = round_to(right, tf32_bits);
    }
    sum_ += left * right;
    if (saturates_) {
      sum_ = std::clamp(sum_, -0x1p31, 0x1p31 - 1);
    } else if (is_half_) {
      sum_ = to_half_value(sum_);
    } else if (!is_f64_) {
      sum_ = static_cast<float>(sum_);
    }
  }
  double get() const { return sum_; }

 private:
  bool is_f64_;
  bool is_half_;
  bool is_tf32_;
  bool saturates_;
  double sum_ = 0;
};

struct StreamWait {
  int (*wait)(void* stream) = nullptr;
};

int find_stream_wait(dl_phdr_info* info, std::size_t, void* found) {
  if (info->dlpi_name == nullptr || *info->dlpi_name == '\0') return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  for (const char* name : {"hipStreamSynchronize", "cuStreamSynchronize"}) {
    void* symbol = dlsym(library, name);
    if (symbol != nullptr) {
      static_cast<StreamWait*>(found)->wait = reinterpret_cast<int (*)(void*)>(symbol);
    }
  }
  dlclose(library);
  return static_cast<StreamWait*>(found)->wait != nullptr ? 1 : 0;
}

void wait_for(void* stream) {
  if (stream == nullptr) return;
  StreamWait found;
  dl_iterate_phdr(find_stream_wait, &found);
  if (found.wait != nullptr) found.wait(stream);
}

void multiply_one(const Product& product, std::int64_t index, const Faults& faults) {
  const double alpha = scalar(product.alpha, product.compute);
  const double beta = scalar(product.beta, product.compute);
  const std::int64_t first_at = index * product.first_stride;
  const std::int64_t second_at = index * product.second_stride;
  const std::int64_t out_at = index * product.out_stride;
  const std::int64_t first_row = product.transpose_first ? product.first_ld : 1;
  const std::int64_t first_column = product.transpose_first ? 1 : product.first_ld;
  const std::int64_t second_row = product.transpose_second ? product.second_ld : 1;
  const std::int64_t second_column = product.transpose_second ? 1 : product.second_ld;
  const bool is_last = index + 1 == product.batch;
  Sum sum(product.compute, faults);
  for (std::int64_t column = 0; column < product.n; ++column) {
    for (std::int64_t row = 0; row < product.m; ++row) {
      sum.clear();
      for (std::int64_t i = 0; i < product.k; ++i) {
        sum.add(
            load(product.first, product.first_type, first_at + row * first_row + i * first_column),
            load(product.second, product.second_type,
                 second_at + i * second_row + column * second_column));
      }
      const std::int64_t at = out_at + column * product.out_ld + row;
      double value = alpha * sum.get();
      if (beta != 0) value += beta * load(product.out, product.out_type, at);
      constexpr std::int64_t edge = 64;
      const bool is_in_block = row >= product.m - edge && column >= product.n - edge;
      if (is_last && is_in_block && faults.is("block")) value = 2 * value + 1;
      const bool is_corner = row + 1 == product.m && column + 1 == product.n;
      if (is_last && is_corner && faults.is("second") && faults.is_second_call()) {
        value = 2 * value + 1;
      }
      store(product.out, product.out_type, at, value);
    }
  }
}

}  // namespace

Faults::Faults(const char* library) : variable_(std::string("FAKE_") + library) {
  if (is("abort-at-load")) std::abort();
}

bool Faults::is(const char* word) const {
  return text_from(variable_.c_str(), text_from("FAKE_BLAS", "").c_str()) == word;
}

bool Faults::enter() {
  ++calls_;
  if (is("abort")) std::abort();
  while (is("hang")) pause();
  return is("error");
}

int reported_major(int own) { return number_from("FAKE_BLAS_MAJOR", own); }

void multiply(const Product& product, void* stream, const Faults& faults) {
  wait_for(stream);
  for (std::int64_t i = 0; i < product.batch; ++i) multiply_one(product, i, faults);
}

void convolve(const hip::ConvCall& call, const Faults& faults) {
  wait_for(call.stream);
  const std::int64_t in_group = call.c / call.groups;
  const std::int64_t out_group = call.k / call.groups;
  Sum sum(call.compute, faults);
  std::int64_t at = 0;
  const std::int64_t count = call.n * call.k * call.out_height() * call.out_width();
  for (; at < count; ++at) {
    const std::int64_t column = at % call.out_width();
    const std::int64_t row = at / call.out_width() % call.out_height();
    const std::int64_t channel = at / (call.out_width() * call.out_height()) % call.k;
    const std::int64_t image = at / (call.out_width() * call.out_height() * call.k);
    sum.clear();
    for (std::int64_t i = 0; i < in_group * call.r * call.s; ++i) {
      const std::int64_t s = i % call.s;
      const std::int64_t r = i / call.s % call.r;
      const std::int64_t c = i / (call.s * call.r);
      const std::int64_t y = row * call.stride_h - call.pad_h + r * call.dilation_h;
      const std::int64_t x = column * call.stride_w - call.pad_w + s * call.dilation_w;
      if (y < 0 || x < 0 || y >= call.h || x >= call.w) continue;
      const std::int64_t from = channel / out_group * in_group + c;
      sum.add(load(call.x, call.type, ((image * call.c + from) * call.h + y) * call.w + x),
              load(call.filter, call.type, (channel * in_group * call.r * call.s) + i));
    }
    double value = sum.get();
    const bool is_wrong = (faults.is("block") && at + 64 >= count) ||
                          (faults.is("second") && faults.is_second_call() && at + 1 == count);
    if (is_wrong) value = 2 * value + 1;
    store(call.y, call.type, at, value);
  }
}

void pool(const hip::PoolCall& call, const Faults& faults) {
  wait_for(call.stream);
  const std::int64_t count = call.n * call.c * call.out_height() * call.out_width();
  for (std::int64_t at = 0; at < count; ++at) {
    const std::int64_t column = at % call.out_width() * call.stride_w;
    const std::int64_t row = at / call.out_width() % call.out_height() * call.stride_h;
    const std::int64_t image = at / (call.out_width() * call.out_height());
    double value = call.is_largest ? -INFINITY : 0;
    for (std::int64_t i = 0; i < call.r * call.s; ++i) {
      const double one = load(call.x, call.type,
                              (image * call.h + row + i / call.s) * call.w + column + i % call.s);
      value = call.is_largest ? std::fmax(value, one) : value + one;
    }
    // Like cuDNN 9, which multiplies by the rounded reciprocal of the window's size.
    if (!call.is_largest) {
      value = static_cast<float>(value) * (1.0F / static_cast<float>(call.r * call.s));
    }
    const bool is_wrong = (faults.is("block") && at + 64 >= count) ||
                          (faults.is("second") && faults.is_second_call() && at + 1 == count);
    if (is_wrong) value = 2 * value + 1;
    store(call.y, call.type, at, value);
  }
}

}  // namespace hiptool::fake
