// SPDX-License-Identifier: MIT
#include "user_kernel/signature.hpp"

#include <doctest/doctest.h>

using namespace hiptool::user_kernel;

namespace {

std::string again(std::string_view list) { return describe(parse_parameters(list)); }

ArgumentInfo only(std::string_view list) {
  const std::vector<ArgumentInfo> arguments = parse_parameters(list);
  REQUIRE(arguments.size() == 1);
  return arguments.front();
}

}  // namespace

TEST_CASE("signature: parameters with their types and names") {
  CHECK(again("float a, const float* x, float *y, unsigned n") ==
        "float a, const float* x, float* y, unsigned n");
  CHECK(again(" float  const * __restrict__ x ,\n unsigned int const n ") ==
        "const float* x, unsigned n");
  CHECK(again("unsigned long long int, long, short unsigned, signed char c") ==
        "unsigned long long, long, unsigned short, signed char c");
  CHECK(again("std::size_t count, std::uint8_t* out, const __grid_constant__ Params p") ==
        "std::size_t count, std::uint8_t* out, Params p");
  CHECK(again("const int in[], float4 v, float** rows") == "const int* in, float4 v, float** rows");
  CHECK(again("Pair<int, float> p, const Pair<int, float>* q = nullptr, int n = 3") ==
        "Pair<int, float> p, const Pair<int, float>* q, int n");
  CHECK(again("") == "none");
  CHECK(again(" void ") == "none");
  CHECK(again("void* p") == "void* p");
  // What is not understood is left open.
  CHECK(again("int& r, void (*f)(int), int n") == "?, ?, int n");
}

TEST_CASE("signature: numbers, pointers and what they point to") {
  CHECK(only("double x").element == ElementType::f64);
  CHECK(only("double x").size_bytes == 8);
  CHECK(only("double x").kind == ArgumentKind::value);
  CHECK(only("__half h").element == ElementType::f16);
  CHECK(only("__hip_bfloat16 b").element == ElementType::bf16);
  CHECK(only("long n").element == ElementType::i64);
  CHECK(only("unsigned char n").size_bytes == 1);
  const ArgumentInfo in = only("const std::int16_t* in");
  CHECK(in.kind == ArgumentKind::pointer);
  CHECK(in.size_bytes == 8);
  CHECK(in.element == ElementType::i16);
  CHECK(in.is_const);
  CHECK_FALSE(only("int* const out").is_const);
  CHECK_FALSE(only("float** rows").element.has_value());
  CHECK_FALSE(only("float4* rows").element.has_value());
  CHECK_FALSE(only("void* p").element.has_value());
  CHECK(only("float4 v").size_bytes == 0);
  CHECK(only("float4 v").kind == ArgumentKind::value);
}

TEST_CASE("signature: names of templates stand for their arguments") {
  const char* const list = "const T* in, T* out, T scale, Other<T> o, int Tall";
  CHECK(describe(parse_parameters(list, "class T, int N", "<float,4>")) ==
        "const float* in, float* out, float scale, Other<float> o, int Tall");
  CHECK(describe(parse_parameters(list, "class T", "")) ==
        "const T* in, T* out, T scale, Other<T> o, int Tall");
  CHECK(describe(parse_parameters("A a, B b", "typename A, typename B = int", "<double>")) ==
        "double a, B b");
  CHECK(example_template_arguments("class T, int N, typename U = float") == "<float, 32, float>");
  CHECK(example_template_arguments("").empty());
}

TEST_CASE("signature: mangled names have types") {
  CHECK(describe(parameters_of_symbol("_Z5saxpyfPKfPfj").value()) ==
        "float, const float*, float*, unsigned");
  CHECK(describe(parameters_of_symbol("_Z4axpyIfEvPT_m").value()) == "float*, unsigned long");
  CHECK(describe(parameters_of_symbol("_ZN12_GLOBAL__N_14scalEPf").value()) == "float*");
  CHECK(parameters_of_symbol("_Z4nonev").value().empty());
  CHECK_FALSE(parameters_of_symbol("plain").has_value());
  CHECK_FALSE(parameters_of_symbol("_Zbroken").has_value());
}

TEST_CASE("signature: an image is trusted where the source says something else") {
  std::vector<ArgumentInfo> arguments{{8, ArgumentKind::pointer},
                                      {4, ArgumentKind::value},
                                      {8, ArgumentKind::unknown},
                                      {8, ArgumentKind::value},
                                      {12, ArgumentKind::value}};
  add_types(arguments, parse_parameters("const float* x, double odd, int* p, float* q, Params s"));
  CHECK(describe(arguments) == "const float* x, 4 bytes, int* p, 8 bytes, Params s");
  CHECK(arguments[2].kind == ArgumentKind::pointer);
  CHECK(arguments[4].size_bytes == 12);
  CHECK(describe(std::vector<ArgumentInfo>{{1, ArgumentKind::value}}) == "1 byte");
  add_types(arguments, parse_parameters("int a"));
  CHECK(arguments[0].type == "const float*");
}
