// SPDX-License-Identifier: MIT
#include "user_kernel/source_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

using namespace hiptool::user_kernel;

namespace {

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (const SourceKernel& kernel : list_source_kernels(text)) names.push_back(kernel.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("kernels of a text are listed, whatever stands around them") {
  CHECK(names_in(R"(
// __global__ void commented(int) {}
/* __global__ void also(int) {} */
const char* text = "__global__ void quoted(int) \" {}";
extern "C" __global__ void first(float* x) { }
__global__ void __launch_bounds__(256, (2)) second(int n);
template <class T>
__global__ __attribute__((noinline)) static void third(T x) {}
__global__ void first(float* x);
#define __global__x
#define KERNEL(name) \
  __global__ void name() {
int my__global__ = f(3);
const char brace = '{', quote = '"', escaped = '\'';
__global__ int variable;
__global__ void last(int x) {}
)") == Names{"first", "second", "third", "last"});
  CHECK(names_in("").empty());
  CHECK(names_in("__global__").empty());
  CHECK(names_in("\"__global__ void f(").empty());
  CHECK(names_in("/* __global__ void f(").empty());
  CHECK(names_in("// __global__ void f(").empty());
  CHECK(names_in("#define x __global__ void f(").empty());
  CHECK(names_in("'__global__ void f(") == Names{"f"});
}

TEST_CASE("kernels of a text are named with their namespaces") {
  CHECK(names_in(R"(
namespace a { namespace b::c {
__device__ int twice(int x) { if (x) { return 2; } return 2 * x; }
struct S { int x; };
__global__ void one() { for (;;) { } }
} __global__ void two(); }
namespace { __global__ void three() {} }
extern "C" { __global__ void four() {} }
inline namespace v1 { __global__ void five() {} }
__global__ void six() {}
})") == Names{"a::b::c::one", "a::two", "three", "four", "v1::five", "six"});
}

TEST_CASE("templates of a text, and the instances that it makes") {
  const auto kernels = list_source_kernels(R"(
template <class T, int N = (3 < 4)> __global__ void many(T* x) { if (x < x) {} }
template __global__ void many<float , 4>(float*);
template __global__ void many<unsigned   char, 1>(unsigned char*);
__global__ void one(std::array<int, 3> x) {}
)");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "many");
  CHECK(kernels[0].is_template);
  CHECK(kernels[0].instances == Names{"<float,4>", "<unsigned char,1>"});
  CHECK(kernels[1].name == "one");
  CHECK_FALSE(kernels[1].is_template);
  CHECK(template_arguments("f< float , S<int> >") == "<float,S<int>>");
  CHECK(template_arguments("f").empty());
}

TEST_CASE("a kernel is found by its last name, if that is of one alone") {
  const std::vector<SourceKernel> kernels{{"a::k", false, {}},
                                          {"b::k", false, {}},
                                          {"b::l", true, {}},
                                          {"m", false, {}},
                                          {"a::m", false, {}}};
  CHECK(find_source_kernel(kernels, "a::k") == &kernels[0]);
  CHECK(find_source_kernel(kernels, "::b::k") == &kernels[1]);
  CHECK(find_source_kernel(kernels, "k") == nullptr);
  CHECK(find_source_kernel(kernels, "l<float>") == &kernels[2]);
  CHECK(find_source_kernel(kernels, "b::l<a::S>") == &kernels[2]);
  CHECK(find_source_kernel(kernels, "m") == &kernels[3]);
  CHECK(find_source_kernel(kernels, "n") == nullptr);
  CHECK(find_source_kernel(kernels, "") == nullptr);
}

TEST_CASE("dynamic shared memory is rewritten in its place") {
  const auto in_function = [](const std::string& declaration) {
    return with_dynamic_shared("void f() { " + declaration + " }");
  };
  const std::string floats =
      "void f() { float* const s = static_cast<float*>(::hiptool_cpu::dynamic_shared()); }";
  CHECK(in_function("extern __shared__ float s[];") == floats);
  CHECK(in_function("extern __shared__ float s [ ];") == floats);
  CHECK(in_function("extern __shared__ __align__(16) float s[];") == floats);
  CHECK(in_function("extern __shared__ alignas(f(1)) float s[];") == floats);
  CHECK(in_function("extern __shared__ unsigned char raw[];") ==
        "void f() { unsigned char* const raw = static_cast<unsigned "
        "char*>(::hiptool_cpu::dynamic_shared()); }");
  CHECK(with_dynamic_shared("namespace a { extern __shared__ int s[]; }") ==
        "namespace a { [[maybe_unused]] static const ::hiptool_cpu::DynamicShared<int> s{}; }");
  CHECK(with_dynamic_shared("extern \"C\" { extern __shared__ int s[]; }").find("DynamicShared") !=
        std::string::npos);
  const std::string lines = with_dynamic_shared("void f() {\nextern __shared__\n  float s[];\n}\n");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 4);
  CHECK(lines.find("extern") == std::string::npos);
  for (const char* text :
       {"__shared__ float s[4];", "extern __shared__ float s[4];",
        "// extern __shared__ float s[];", "extern __shared__ s[];", "extern __shared__ float s[]",
        "extern float s[];", "\"extern __shared__ float s[];\"", "extern __shared__ float[];",
        "__shared__", ""}) {
    CAPTURE(text);
    CHECK(with_dynamic_shared(text) == text);
  }
}

TEST_CASE("what the preprocessor drops after #if 0 holds no kernel") {
  const auto names = [](std::string_view text) {
    Names found;
    for (const SourceKernel& kernel : list_source_kernels(text)) found.push_back(kernel.name);
    return found;
  };
  CHECK(names("#if 0\n__global__ void a() {}\n#endif\n__global__ void b() {}\n") == Names{"b"});
  CHECK(names(" # if 0 \n__global__ void a() {}\n#else\n__global__ void b() {}\n#endif\n") ==
        Names{"b"});
  CHECK(names("#if 0\n#if 1\n__global__ void a() {}\n#else\n#endif\n__global__ void c() {}\n"
              "#elif 1\n__global__ void b() {}\n#endif\n") == Names{"b"});
  CHECK(names("#if 0\n__global__ void a() {}\n").empty());
  CHECK(names("#if 0\n#endif") == Names{});
  // Whether these hold is the preprocessor's to say.
  CHECK(names("#if 01\n__global__ void a() {}\n#endif\n") == Names{"a"});
  CHECK(names("#ifdef X\n__global__ void a() {}\n#endif\n") == Names{"a"});
}

TEST_CASE("parameters of kernels, and the size of blocks they are made for") {
  const std::vector<SourceKernel> kernels = list_source_kernels(R"(
__global__ void __launch_bounds__(64, 2) plain(float a, // the factor
                                               const float* /* in */ x) {}
template <class T, int N = 4>
__global__ void scale(T* x) { if (x[0] < N) { f(1); } }
template __global__ void scale<float, 2>(float* x);
__global__ void __launch_bounds__(BLOCK) none() {}
)");
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].parameters.starts_with("float a,"));
  CHECK(kernels[0].parameters.ends_with("x"));
  CHECK(kernels[0].parameters.find("factor") == std::string::npos);
  CHECK(kernels[0].max_block_threads == 64);
  CHECK(kernels[0].template_parameters.empty());
  CHECK(kernels[1].parameters == "T* x");
  CHECK(kernels[1].template_parameters == "class T, int N = 4");
  CHECK(kernels[1].instances == std::vector<std::string>{"<float,2>"});
  CHECK(kernels[2].parameters.empty());
  CHECK(kernels[2].max_block_threads == 0);
}

TEST_CASE("a text made to be slow is read in time that grows with its length") {
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += "__global__ void k" + std::to_string(i) + "();";
  const auto repeated = [](std::string_view word) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += word;
    return text;
  };
  const std::clock_t start = std::clock();
  CHECK(list_source_kernels(many).size() == 50'000);
  CHECK(list_source_kernels(repeated("__global__ ")).empty());
  CHECK(list_source_kernels(repeated("__global__ a<")).empty());
  CHECK(list_source_kernels(repeated("__global__ void k(")).size() == 1);
  CHECK(list_source_kernels(repeated("template <__global__ void k()")).size() == 1);
  const std::string shared = repeated("extern __shared__ ");
  CHECK(with_dynamic_shared(shared) == shared);
  // Of the processor's time; quadratic time takes minutes.
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 30);
}

TEST_CASE("a refused text with a launch in it is told so") {
  CHECK(hint_for_refused("int main() { k<<<1, 2>>>(); }").find("<<<") != std::string::npos);
  CHECK(hint_for_refused("// k<<<1, 2>>>();\n__global__ void k() {}").empty());
  CHECK(hint_for_refused("", "undefined reference to `cooperative_groups::this_grid()'")
            .find("one after the other") != std::string::npos);
}
