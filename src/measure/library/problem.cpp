// SPDX-License-Identifier: MIT
#include "measure/library/problem.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"
#include "measure/library/large_product.hpp"
#include "measure/library/shape.hpp"

namespace hiptool::measure {
namespace {

template <class Function>
auto of_problem(const Problem& problem, Function function) {
  return std::visit(function, problem);
}

Trap make_trap(const char* report, const char* what, Problem problem, const char* shape,
               DType dtype, DType result) {
  set_shape(problem, shape);
  ProblemTypes& types = types_of(problem);
  types = {dtype, result, usual_compute(dtype)};
  return {report, what, std::move(problem)};
}

Trap make_product_trap(const char* report, const char* what, const char* shape,
                       const char* transposes, DType dtype, DType result) {
  MatmulProblem problem;
  set_transposes(problem, transposes);
  return make_trap(report, what, problem, shape, dtype, result);
}

Trap make_conv_trap(const char* report, const char* what, const char* shape, DType dtype) {
  return make_trap(report, what, ConvProblem(), shape, dtype, dtype);
}

// Shapes are row-major here. A library computes such a product by exchanging the operands in
// columns: M and N, and the transposes, of the reports are exchanged.
std::vector<Trap> product_traps() {
  return {
      make_product_trap("ROCm/rocBLAS#1680", "rocBLAS on gfx1151: sgemm wrong without an error",
                        "256x256x256", "nn", DType::f32, DType::f32),
      make_product_trap("ROCm/rocm-libraries#8645",
                        "rocBLAS on gfx1201: f64 wrong or NaN from M = 2097152 on, small N and K",
                        "8x2097152x8", "nn", DType::f64, DType::f64),
      make_product_trap("ROCm/rocm-libraries#5706",
                        "hipBLASLt on gfx1201: f32 with M 4, N 9530399, K 4", "9530399x4x4", "nn",
                        DType::f32, DType::f32),
      make_product_trap(
          "ROCm/rocm-libraries#9055",
          "hipBLASLt on MI355X: bf16 split along K gives NaN, M 546, N 9728, K 2560, TN",
          "9728x546x2560", "nt", DType::bf16, DType::bf16),
      make_product_trap(
          "ROCm/TheRock#7271",
          "hipBLASLt on gfx1201: the second 16-bit product of a process fails with success",
          "512x512x512", "nn", DType::f16, DType::f16),
      make_product_trap("svod#108",
                        "hipBLASLt on gfx1151: illegal access, bf16 to f32, M 2048, N 4096, K 64",
                        "4096x2048x64", "nn", DType::bf16, DType::f32),
      // N and K are from ROCm/legacy-rocm-build#6116.
      make_product_trap("ROCm/legacy-rocm-build#6595",
                        "rocBLAS and hipBLASLt on gfx1201: f32 wrong from row 524288 on, M 600000",
                        "600000x512x512", "nt", DType::f32, DType::f32),
      make_product_trap(
          "ROCm/rocm-libraries#9184",
          "rocBLAS on gfx1201: the end is not written where grid.y is more than 65536",
          "16x8650752x16", "nn", DType::f32, DType::f32),
      make_product_trap("NVIDIA/raft#3097",
                        "cuBLASLt 13.6: f32 fails from 2^31 elements of A on, 134217728 x 16",
                        "1x134217728x16", "nt", DType::f32, DType::f32),
      make_product_trap(
          "ROCm/hipBLASLt#2299",
          "hipBLASLt on gfx950: bf16 does not write parts of D above 2 GiB, M 5326464, N 256, K 48",
          "256x5326464x48", "nn", DType::bf16, DType::bf16),
      make_product_trap("ROCm/ROCm#5722", "rocBLAS of ROCm 7.1: 8-bit products wrong with K = 1",
                        "256x256x1", "nn", DType::i8, DType::i32),
  };
}

std::vector<Trap> conv_traps() {
  return {
      make_conv_trap("ROCm/rocm-libraries#7024",
                     "MIOpen on gfx90a: Winograd sums f16 in f16, off by more than 1",
                     "n1c1h48w50:k1r23s23", DType::f16),
      make_conv_trap("ROCm/MIOpen#743", "MIOpen of ROCm 4.0: f32 off by 1e-3, 3x3 filters",
                     "n1c16h270w480:k16r3s3p1", DType::f32),
      make_conv_trap("ROCm/MIOpen#1902", "MIOpen on gfx1030: f16 wrong, 1x1 filters",
                     "n16c64h56w56:k64r1s1", DType::f16),
      make_conv_trap("ROCm/MIOpen#3860", "MIOpen on gfx1150: f16 fails, 1x1 filters and images",
                     "n128c128h1w1:k128r1s1", DType::f16),
  };
}

/// What a word of a line after the shape says.
enum class LineWord { transposes, batch, dtype };

/// Takes one word of a line after the shape; absent if it is none.
std::optional<LineWord> take_word(Problem& problem, std::optional<DType>& dtype,
                                  std::string_view word) {
  constexpr std::string_view batch = "batch=";
  auto* const product = std::get_if<MatmulProblem>(&problem);
  const bool has_transposes =
      word.size() == 2 && word.find_first_not_of("nt") == std::string_view::npos;
  if (product != nullptr && has_transposes) {
    set_transposes(*product, word);
    return LineWord::transposes;
  }
  if (product != nullptr && word.starts_with(batch)) {
    const auto count = base::parse_number<std::uint64_t>(word.substr(batch.size()));
    if (!count || *count == 0 || *count > (1u << 20)) return std::nullopt;
    product->batch = *count;
    return LineWord::batch;
  }
  dtype = dtype_from_name(word);
  const bool has_type =
      dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
  if (has_type || (product != nullptr && dtype == DType::i8)) return LineWord::dtype;
  return std::nullopt;
}

/// The dimension that is halved first.
std::uint64_t& largest_dimension(MatmulProblem& problem) {
  std::uint64_t* largest = &problem.m;
  for (std::uint64_t* const one : {&problem.n, &problem.k}) {
    if (*one > *largest) largest = one;
  }
  return *largest;
}
std::uint64_t& largest_dimension(ConvProblem& problem) {
  if (problem.n > 1) return problem.n;
  return problem.h > problem.w ? problem.h : problem.w;
}

std::uint64_t& largest_dimension(PoolProblem& problem) {
  return problem.n > 1 ? problem.n : problem.c;
}

bool can_shrink(const PoolProblem& problem) { return problem.n > 1 || problem.c > 1; }
bool can_shrink(const MatmulProblem& problem) {
  return std::max({problem.m, problem.n, problem.k}) > 1;
}
bool can_shrink(const ConvProblem& problem) {
  if (problem.n > 1) return true;
  const bool is_high = problem.h > problem.w;
  const std::uint64_t size = (std::max(problem.h, problem.w) + 1) / 2;
  const std::size_t i = is_high ? 0 : 1;
  return size + 2 * problem.padding[i] >
         problem.dilation[i] * ((is_high ? problem.r : problem.s) - 1);
}

std::string pixel_word(std::uint64_t index, std::uint64_t channels, std::uint64_t height,
                       std::uint64_t width) {
  const std::uint64_t plane = height * width;
  return "image " + std::to_string(index / plane / channels) + ", channel " +
         std::to_string(index / plane % channels) + ", row " +
         std::to_string(index % plane / width) + ", column " + std::to_string(index % width);
}

}  // namespace

std::string_view to_string(Compute compute) noexcept {
  constexpr std::array<std::string_view, 5> names{"f64", "f32", "tf32", "f16", "i32"};
  return names[static_cast<std::size_t>(compute)];
}

Compute usual_compute(DType dtype) noexcept {
  if (dtype == DType::i8) return Compute::i32;
  return dtype == DType::f64 ? Compute::f64 : Compute::f32;
}

DType usual_result(DType dtype) noexcept { return dtype == DType::i8 ? DType::i32 : dtype; }

ProblemKind kind_of(const Problem& problem) noexcept {
  if (const auto* const pool = std::get_if<PoolProblem>(&problem)) {
    return pool->is_average ? ProblemKind::avg_pool2d : ProblemKind::max_pool2d;
  }
  return matmul_of(problem) != nullptr ? ProblemKind::matmul : ProblemKind::conv2d;
}

std::string_view to_string(ProblemKind kind) noexcept {
  constexpr std::array<std::string_view, 4> names{"matmul", "conv2d", "avg_pool2d", "max_pool2d"};
  return names[static_cast<std::size_t>(kind)];
}

bool is_pooling(ProblemKind kind) noexcept {
  return kind == ProblemKind::avg_pool2d || kind == ProblemKind::max_pool2d;
}

std::string_view noun_of(ProblemKind kind) noexcept {
  if (is_pooling(kind)) return "pooling";
  return kind == ProblemKind::matmul ? "matrix product" : "convolution";
}

const ProblemTypes& types_of(const Problem& problem) noexcept {
  return *of_problem(problem, [](const auto& one) -> const ProblemTypes* { return &one; });
}

ProblemTypes& types_of(Problem& problem) noexcept {
  return const_cast<ProblemTypes&>(types_of(static_cast<const Problem&>(problem)));
}

const MatmulProblem* matmul_of(const Problem& problem) noexcept {
  return std::get_if<MatmulProblem>(&problem);
}

std::uint64_t a_count(const Problem& problem) noexcept {
  return of_problem(problem, [](const auto& one) { return one.a_count(); });
}
std::uint64_t b_count(const Problem& problem) noexcept {
  return of_problem(problem, [](const auto& one) { return one.b_count(); });
}
std::uint64_t c_count(const Problem& problem) noexcept {
  return of_problem(problem, [](const auto& one) { return one.c_count(); });
}
std::uint64_t term_count(const Problem& problem) noexcept {
  return of_problem(problem, [](const auto& one) { return one.terms(); });
}

std::uint64_t bytes_of(const Problem& problem) noexcept {
  const ProblemTypes& types = types_of(problem);
  return (a_count(problem) + b_count(problem)) * element_size_bytes(types.dtype) +
         c_count(problem) * element_size_bytes(types.result);
}

double flops_of(const Problem& problem) noexcept {
  const double of_a_term = is_pooling(kind_of(problem)) ? 1 : 2;
  return of_a_term * static_cast<double>(c_count(problem)) *
         static_cast<double>(term_count(problem));
}

std::string transpose_word(const MatmulProblem& problem) {
  return std::string(problem.transpose_a ? "t" : "n") + (problem.transpose_b ? "t" : "n");
}

std::vector<std::string> unusual_words(const Problem& problem) {
  std::vector<std::string> words;
  if (const MatmulProblem* const product = matmul_of(problem)) {
    if (product->transpose_a || product->transpose_b) words.push_back(transpose_word(*product));
    if (product->batch != 1) words.push_back("batch" + std::to_string(product->batch));
  }
  const ProblemTypes& types = types_of(problem);
  if (types.compute != usual_compute(types.dtype)) {
    words.push_back("in-" + std::string(to_string(types.compute)));
  }
  if (types.result != usual_result(types.dtype))
    words.push_back("to-" + std::string(to_string(types.result)));
  return words;
}

std::string place_word(const Problem& problem, std::uint64_t index) {
  if (const MatmulProblem* const product = matmul_of(problem)) {
    const std::uint64_t matrix = product->m * product->n;
    const std::string batch =
        product->batch > 1 ? "matrix " + std::to_string(index / matrix) + ", " : std::string();
    return "[" + std::to_string(index % matrix / product->n) + "," +
           std::to_string(index % product->n) + "] of " + batch + "C";
  }
  if (const auto* const pool = std::get_if<PoolProblem>(&problem)) {
    return pixel_word(index, pool->c, pool->out_height(), pool->out_width());
  }
  const auto& conv = std::get<ConvProblem>(problem);
  return pixel_word(index, conv.k, conv.out_height(), conv.out_width());
}

void set_shape(Problem& problem, std::string_view text) {
  if (auto* const product = std::get_if<MatmulProblem>(&problem)) {
    set_product_shape(*product, text);
  } else if (auto* const pool = std::get_if<PoolProblem>(&problem)) {
    set_pool_shape(*pool, text);
  } else {
    set_conv_shape(std::get<ConvProblem>(problem), text);
  }
}

void set_transposes(MatmulProblem& problem, std::string_view text) {
  problem.transpose_a = text[0] == 't';
  problem.transpose_b = text[1] == 't';
}

void set_dtype(Problem& problem, DType dtype) {
  ProblemTypes& types = types_of(problem);
  types.dtype = dtype;
  types.result = usual_result(dtype);
  const bool fits = (types.compute == Compute::tf32 && dtype == DType::f32) ||
                    (types.compute == Compute::f16 && dtype == DType::f16);
  if (!fits) types.compute = usual_compute(dtype);
}

Problem empty_problem(ProblemKind kind) {
  if (kind == ProblemKind::matmul) return MatmulProblem();
  if (kind == ProblemKind::conv2d) return ConvProblem();
  PoolProblem pool;
  pool.is_average = kind == ProblemKind::avg_pool2d;
  return pool;
}

Problem default_problem(ProblemKind kind, bool is_host) {
  Problem problem = empty_problem(kind);
  if (kind == ProblemKind::matmul) {
    set_shape(problem, is_host ? "256x256x256" : "4096x4096x4096");
  } else if (kind == ProblemKind::conv2d) {
    set_shape(problem, is_host ? "n1c32h28w28:k32r3s3p1" : "n32c64h56w56:k64r3s3p1");
  } else {
    set_shape(problem, is_host ? "n1c32h28w28:r3s3u2" : "n32c64h56w56:r3s3u2");
  }
  return problem;
}

const std::vector<Trap>& traps_of(ProblemKind kind) {
  static const std::vector<Trap> products = product_traps();
  static const std::vector<Trap> convolutions = conv_traps();
  static const std::vector<Trap> none;
  if (is_pooling(kind)) return none;
  return kind == ProblemKind::matmul ? products : convolutions;
}

std::string shrink_to_fit(Problem& problem, std::uint64_t free_bytes) {
  const std::string shape = shape_word(problem);
  const std::uint64_t needed = bytes_of(problem);
  const std::uint64_t limit = free_bytes / 10 * 8;
  while (bytes_of(problem) > limit &&
         of_problem(problem, [](const auto& one) { return can_shrink(one); })) {
    std::visit(
        [](auto& one) {
          std::uint64_t& size = largest_dimension(one);
          size = (size + 1) / 2;
        },
        problem);
  }
  if (bytes_of(problem) == needed) return {};
  return "reported as " + shape + ", which needs " + format_size(needed) + "; " +
         format_size(free_bytes) + " are free";
}

std::string fit_trap(Problem& problem, bool is_host, std::uint64_t free_bytes) {
  if (!is_large_product(problem)) return shrink_to_fit(problem, free_bytes);
  if (!is_host) return {};
  // They are about how GPUs count; a host would take minutes.
  constexpr std::uint64_t most_on_host_bytes = std::uint64_t{64} << 20;
  const std::string shape = shape_word(problem);
  const std::string needed = format_size(bytes_of(problem));
  shrink_to_fit(problem, most_on_host_bytes);
  return "reported as " + shape + ", which needs " + needed + "; made for GPUs";
}

std::vector<Problem> parse_shapes(std::string_view text, const std::string& path,
                                  const Problem& usual, const std::vector<DType>& dtypes) {
  const bool is_product = kind_of(usual) == ProblemKind::matmul;
  const std::string example =
      is_pooling(kind_of(usual)) ? "n8c64h56w56:r3s3u2" : "n8c64h56w56:k64r3s3p1";
  std::vector<Problem> problems;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    Problem problem = usual;
    std::optional<DType> dtype;
    std::map<LineWord, std::string> taken;
    try {
      set_shape(problem, word);
      while (words >> word) {
        if (const auto kind = take_word(problem, dtype, word)) {
          const auto [earlier, is_new] = taken.emplace(*kind, word);
          if (is_new) continue;
          throw Error(ErrorCode::invalid_argument, "read shape",
                      "'" + word + "' follows '" + earlier->second + "', which it would replace",
                      "give one of them, or write two lines");
        }
        throw Error(
            ErrorCode::invalid_argument, "read shape", "unknown word '" + word.substr(0, 60) + "'",
            is_product ? "write MxNxK, then any of nn, nt, tn, tt, f16, bf16, f32, f64, i8, batch=N"
                       : "write a shape, then a type: " + example + " f16");
      }
    } catch (const Error& error) {
      throw error.with_context(path + ", line " + std::to_string(number));
    }
    for (const DType one : dtype ? std::vector<DType>{*dtype} : dtypes) {
      set_dtype(problem, one);
      problems.push_back(problem);
    }
  }
  if (problems.empty()) {
    throw Error(ErrorCode::invalid_argument, "read shape", path + " has no shape",
                is_product ? "write one MxNxK a line, such as 4096x4096x4096 tn bf16"
                           : "write one a line, such as " + example + " f16");
  }
  return problems;
}

}  // namespace hiptool::measure
