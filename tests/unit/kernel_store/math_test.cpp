// SPDX-License-Identifier: MIT
// The functions of kernels/include/hiptool_math.h, compiled for the host, against the host's math
// library in the next wider type. HIPTOOL_MATH_STRIDE=1 checks every float: about a minute for
// each function; select one with --subcase.
#include <hiptool_math.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace math = hiptool_math;

namespace {

constexpr double bound_ulps = 1.2;

/// The distance of `got` from the true value in units of the last place that T has there. An
/// infinity counts as the power of 2 after the largest number. A wrong sign of 0 counts too.
template <class T, class Wide>
double error_in_ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = 1e30;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::signbit(got) != std::signbit(want)) return wrong;
  if (got == static_cast<T>(want)) return 0;
  const Wide end = std::ldexp(Wide(1), Limits::max_exponent);
  const Wide size = std::min(std::abs(want), end);
  const Wide got_size = std::isinf(got) ? end : Wide(std::abs(got));
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::min(std::max(exponent, Limits::min_exponent), int{Limits::max_exponent});
  return static_cast<double>(std::abs(got_size - size) /
                             std::ldexp(Wide(1), exponent - Limits::digits));
}

template <class Wide>
Wide sigmoid_of(Wide x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <class Wide>
constexpr Wide sqrt_half = Wide(0.707106781186547524400844362104849039L);

/// erfc changes by up to u^2 times a rounding error of u = -x sqrt(1/2), which is added here.
template <class Wide>
Wide normal_of(Wide x) {
  const Wide u = -x * sqrt_half<Wide>;
  const Wide lost = -std::fma(x, sqrt_half<Wide>, u) -
                    x * Wide(0.707106781186547524400844362104849039L - sqrt_half<Wide>);
  const Wide slope =
      u * u < 10000 ? Wide(1.12837916709551257389615890312154517L) * std::exp(-u * u) : Wide(0);
  return (std::erfc(u) - (slope > 0 ? slope * lost : Wide(0))) / 2;
}

/// x times a factor that falls to 0 faster than x grows.
template <class Wide>
Wide times_share(Wide x, Wide share) {
  return std::isinf(x) && share == 0 ? Wide(-0.0) : x * share;
}

template <class Wide>
Wide gelu_tanh_of(Wide x) {
  const Wide two_u =
      Wide(1.59576912160573071175978423973652747L) * (x + Wide(0.044715L) * x * x * x);
  return times_share(x, sigmoid_of(two_u));
}

struct Function {
  const char* name;
  float (*of_float)(float);
  double (*of_double)(double);
  double (*want_float)(double);
  long double (*want_double)(long double);
};

#define HIPTOOL_FUNCTION(name, want)                                                               \
  Function {                                                                                       \
#name, math::name < float>, math::name < double>,                                              \
        [](double x) -> double { return want; }, [](long double x) -> long double { return want; } \
  }

const Function functions[] = {
    HIPTOOL_FUNCTION(exponential, std::exp(x)),
    HIPTOOL_FUNCTION(exponential_minus_one, std::expm1(x)),
    HIPTOOL_FUNCTION(hyperbolic_tangent, std::tanh(x)),
    HIPTOOL_FUNCTION(sigmoid, sigmoid_of(x)),
    HIPTOOL_FUNCTION(silu, times_share(x, sigmoid_of(x))),
    HIPTOOL_FUNCTION(logarithm, x == 0 ? -INFINITY : std::log(x)),
    HIPTOOL_FUNCTION(sine, std::sin(x)),
    HIPTOOL_FUNCTION(cosine, std::cos(x)),
    HIPTOOL_FUNCTION(error_function, std::erf(x)),
    HIPTOOL_FUNCTION(complementary_error_function, std::erfc(x)),
    HIPTOOL_FUNCTION(normal_distribution, normal_of(x)),
    HIPTOOL_FUNCTION(gelu, times_share(x, normal_of(x))),
    HIPTOOL_FUNCTION(gelu_tanh, gelu_tanh_of(x)),
};

/// The largest error so far and where it was.
struct Worst {
  double ulps = 0;
  double x = 0;
  double y = 0;

  void add(double error, double at, double at_y = 0) {
    if (error > ulps) *this = {error, at, at_y};
  }
  void check() const {
    CAPTURE(x);
    CAPTURE(y);
    CHECK(ulps <= bound_ulps);
  }
};

std::uint64_t stride_of_floats() {
  const char* text = std::getenv("HIPTOOL_MATH_STRIDE");
  const std::uint64_t stride = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return stride == 0 ? 4099 : stride;
}

constexpr double edges[] = {
    0.0,
    5e-324,
    2.2250738585072014e-308,
    1e-300,
    1.4e-45,
    1.17549435e-38,
    1e-30,
    1e-8,
    0.25,
    0.34657359027997264,
    0.6875,
    0.70710678118654752,
    0.7853981633974483,
    1.0,
    1.4142135623730951,
    1.5707963267948966,
    2.0,
    3.14159265358979,
    9.0,
    10.0,
    11.0,
    12.0,
    16.0,
    20.0,
    22.0,
    24.0,
    26.5,
    27.3,
    28.0,
    37.6,
    38.5,
    87.3365,
    88.7228,
    88.7229,
    103.97,
    104.0,
    120.0,
    708.39,
    709.78,
    709.79,
    744.44,
    745.14,
    746.0,
    800.0,
    131071.99,
    131072.0,
    268435455.9,
    268435456.0,
    3.4e38,
    5.319372648326541e+255,  // closest of all doubles to a multiple of pi / 2
    1.7976931348623157e308,
    INFINITY,
    NAN};

double random_double(std::mt19937_64& random, unsigned kind) {
  const std::uint64_t bits = random();
  const double unit = std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), -63);
  switch (kind % 5) {
    case 0: return math::from_bits(bits);
    case 1: return unit * 30;
    case 2: return unit * 1000;
    case 3: return unit * 2;
    default: return std::ldexp(unit, static_cast<int>(bits % 24) - 12);
  }
}

/// Pairs for powers: of all sizes, near 1 with large exponents, subnormal, and whole exponents.
template <class T>
struct Power {
  T x;
  T y;

  static Power make(std::mt19937_64& random, unsigned kind) {
    using Limits = std::numeric_limits<T>;
    using Bits = typename math::Format<T>::Bits;
    const std::uint64_t bits = random();
    const double unit = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
    const int step = static_cast<int>(bits % 2001) - 1000;
    switch (kind % 5) {
      case 0: return {math::from_bits(static_cast<Bits>(bits)), T(unit * 10)};
      case 1: {
        const T x = std::ldexp(T(1.5 + unit / 2), step * Limits::max_exponent / 1010);
        return {x, T(Limits::max_exponent * 1.2 * unit / std::log2(x))};
      }
      case 2: return {1 + T(step) * Limits::epsilon(), T(unit / Limits::epsilon())};
      case 3: return {Limits::min() * T(unit < 0 ? -unit : unit), T(unit * 3)};
      default: return {-T(1.5 + unit / 2) * T(bits % 64 + 1), T(step % 50)};
    }
  }
};

template <class T>
std::uint64_t add_to_digest(std::uint64_t digest, T result) {
  return (digest ^ (std::isnan(result) ? 1 : math::bits_of(result))) * 0x100000001b3;
}

}  // namespace

TEST_CASE("functions of one float are within their bound") {
  const std::uint64_t stride = stride_of_floats();
  for (const Function& f : functions) {
    SUBCASE(f.name) {
      Worst worst;
      const auto look = [&](float x) {
        worst.add(error_in_ulps(f.of_float(x), f.want_float(x)), x);
      };
      for (std::uint64_t bits = 0; bits >> 32 == 0; bits += stride) {
        look(math::from_bits(static_cast<std::uint32_t>(bits)));
      }
      for (const double edge : edges) {
        look(static_cast<float>(edge));
        look(-static_cast<float>(edge));
      }
      worst.check();
      if (stride == 1) MESSAGE(f.name << ": " << worst.ulps << " ulp at " << worst.x);
    }
  }
}

TEST_CASE("functions of one double are within their bound") {
  for (const Function& f : functions) {
    SUBCASE(f.name) {
      Worst worst;
      const auto look = [&](double x) {
        double error = error_in_ulps(f.of_double(x), f.want_double(x));
        // The reference itself is off by the rounding error of its exponent, 2^-11 as large.
        if (std::string(f.name) == "gelu_tanh" && x < 0) error -= std::abs(x * x * x) * 1e-4;
        worst.add(error, x);
      };
      std::mt19937_64 random(1);
      for (unsigned i = 0; i < 20000; ++i) look(random_double(random, i));
      for (const double edge : edges) {
        look(edge);
        look(-edge);
      }
      worst.check();
    }
  }
}

TEST_CASE("powers of floats and doubles are within their bound") {
  std::mt19937_64 random(1);
  Worst of_float;
  Worst of_double;
  for (unsigned i = 0; i < 50000; ++i) {
    const auto f = Power<float>::make(random, i);
    of_float.add(error_in_ulps(math::power(f.x, f.y), std::pow(double{f.x}, double{f.y})), f.x,
                 f.y);
    const auto d = Power<double>::make(random, i);
    using Wide = long double;
    of_double.add(error_in_ulps(math::power(d.x, d.y), std::pow(Wide{d.x}, Wide{d.y})), d.x, d.y);
  }
  of_float.check();
  of_double.check();
}

TEST_CASE("powers of special values are those of the C standard") {
  const double values[] = {0.0,
                           1.0,
                           2.0,
                           0.5,
                           3.0,
                           1.5,
                           8388607.5,
                           1e30,
                           1e300,
                           16777215.0,
                           16777216.0,
                           5e-324,
                           1.4e-45,
                           1e-300,
                           4503599627370495.5,
                           9007199254740991.0,
                           9007199254740992.0,
                           INFINITY,
                           NAN};
  for (const double size_x : values) {
    for (const double size_y : values) {
      for (const int signs : {0, 1, 2, 3}) {
        const double x = (signs & 1) != 0 ? -size_x : size_x;
        const double y = (signs & 2) != 0 ? -size_y : size_y;
        CAPTURE(x);
        CAPTURE(y);
        const float fx = static_cast<float>(x);
        const float fy = static_cast<float>(y);
        using Wide = long double;
        CHECK(error_in_ulps(math::power(x, y), std::pow(Wide{x}, Wide{y})) <= bound_ulps);
        CHECK(error_in_ulps(math::power(fx, fy), std::pow(double{fx}, double{fy})) <= bound_ulps);
      }
    }
  }
}

TEST_CASE("results have the same bits whatever compiled them") {
  std::uint64_t of_float = 0xcbf29ce484222325;
  std::uint64_t of_double = of_float;
  for (const Function& f : functions) {
    for (std::uint64_t bits = 0; bits >> 32 == 0; bits += 1000003) {
      of_float = add_to_digest(of_float, f.of_float(math::from_bits(static_cast<uint32_t>(bits))));
    }
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 5000; ++i) {
      of_double = add_to_digest(of_double, f.of_double(random_double(random, i)));
    }
  }
  for (std::uint64_t i = 1; i < 20000; ++i) {
    const float x = static_cast<float>(i) / 1024;
    const float y = static_cast<float>(i % 177) - 80.25F;
    of_float = add_to_digest(of_float, math::power(x, y));
    of_double = add_to_digest(of_double, math::power(double{x}, double{y}));
  }
  CHECK(of_float == 14719338384499429997U);
  CHECK(of_double == 1521693952116020176U);
}
