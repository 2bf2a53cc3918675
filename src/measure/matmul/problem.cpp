// SPDX-License-Identifier: MIT
#include "measure/matmul/problem.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/text.hpp"
#include "base/units.hpp"
#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

[[noreturn]] void refuse_shape(std::string_view text) {
  throw Error(ErrorCode::invalid_argument, "read shape",
              "'" + std::string(text.substr(0, 60)) + "' is not a shape of a matrix product",
              "write MxNxK, such as 4096x4096x4096: the result is M x N, sums have K terms");
}

MatmulTrap make_trap(const char* report, const char* what, const char* shape,
                     const char* transposes, DType dtype, DType result) {
  MatmulTrap trap{report, what, {}};
  set_shape(trap.problem, shape);
  set_transposes(trap.problem, transposes);
  trap.problem.dtype = dtype;
  trap.problem.result = result;
  trap.problem.compute = usual_compute(dtype);
  return trap;
}

/// Takes one word of a line after the shape; false if it is none.
bool take_word(MatmulProblem& problem, std::optional<DType>& dtype, std::string_view word) {
  constexpr std::string_view batch = "batch=";
  if (word.size() == 2 && word.find_first_not_of("nt") == std::string_view::npos) {
    set_transposes(problem, word);
    return true;
  }
  if (word.starts_with(batch)) {
    const auto count = base::parse_number<std::uint64_t>(word.substr(batch.size()));
    if (!count || *count == 0 || *count > (1u << 20)) return false;
    problem.batch = *count;
    return true;
  }
  dtype = dtype_from_name(word);
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

void set_dtype(MatmulProblem& problem, DType dtype) {
  problem.dtype = dtype;
  problem.result = dtype;
  const bool fits = (problem.compute == MatmulCompute::tf32 && dtype == DType::f32) ||
                    (problem.compute == MatmulCompute::f16 && dtype == DType::f16);
  if (!fits) problem.compute = usual_compute(dtype);
}

}  // namespace

std::string_view to_string(MatmulCompute compute) noexcept {
  constexpr std::array<std::string_view, 4> names{"f64", "f32", "tf32", "f16"};
  return names[static_cast<std::size_t>(compute)];
}

std::string shape_word(const MatmulProblem& problem) {
  return std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" +
         std::to_string(problem.k);
}

std::string transpose_word(const MatmulProblem& problem) {
  return std::string(problem.transpose_a ? "t" : "n") + (problem.transpose_b ? "t" : "n");
}

std::vector<std::string> unusual_words(const MatmulProblem& problem) {
  std::vector<std::string> words;
  if (problem.transpose_a || problem.transpose_b) words.push_back(transpose_word(problem));
  if (problem.batch != 1) words.push_back("batch" + std::to_string(problem.batch));
  if (problem.compute != usual_compute(problem.dtype)) {
    words.push_back("in-" + std::string(to_string(problem.compute)));
  }
  if (problem.result != problem.dtype) {
    words.push_back("to-" + std::string(to_string(problem.result)));
  }
  return words;
}

MatmulCompute usual_compute(DType dtype) noexcept {
  return dtype == DType::f64 ? MatmulCompute::f64 : MatmulCompute::f32;
}

void set_shape(MatmulProblem& problem, std::string_view text) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t product = 1;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    const auto size = base::parse_number<std::uint64_t>(text.substr(start, end - start));
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    if (!size || *size == 0 || *size > most || sizes.size() == 3) refuse_shape(text);
    sizes.push_back(*size);
    start = end + 1;
  }
  if (sizes.size() != 3) refuse_shape(text);
  // So many elements need more memory than any device has.
  for (const auto& [rows, columns] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    product = sizes[static_cast<std::size_t>(rows)];
    if (sizes[static_cast<std::size_t>(columns)] > (std::uint64_t{1} << 44) / product) {
      refuse_shape(text);
    }
  }
  problem.m = sizes[0];
  problem.n = sizes[1];
  problem.k = sizes[2];
}

void set_transposes(MatmulProblem& problem, std::string_view text) {
  problem.transpose_a = text[0] == 't';
  problem.transpose_b = text[1] == 't';
}

// Shapes are row-major here. A library computes such a product as that of the exchanged operands in
// columns: M and N, and the transposes, of the reports are exchanged.
const std::vector<MatmulTrap>& matmul_traps() {
  static const std::vector<MatmulTrap> traps{
      make_trap("ROCm/rocBLAS#1680", "rocBLAS on gfx1151: sgemm wrong without an error",
                "256x256x256", "nn", DType::f32, DType::f32),
      make_trap("ROCm/rocm-libraries#8645",
                "rocBLAS on gfx1201: f64 wrong or NaN from M = 2097152 on, small N and K",
                "8x2097152x8", "nn", DType::f64, DType::f64),
      make_trap("ROCm/rocm-libraries#5706", "hipBLASLt on gfx1201: f32 with M 4, N 9530399, K 4",
                "9530399x4x4", "nn", DType::f32, DType::f32),
      make_trap("ROCm/rocm-libraries#9055",
                "hipBLASLt on MI355X: bf16 split along K gives NaN, M 546, N 9728, K 2560, TN",
                "9728x546x2560", "nt", DType::bf16, DType::bf16),
      make_trap("ROCm/TheRock#7271",
                "hipBLASLt on gfx1201: the second 16-bit product of a process fails with success",
                "512x512x512", "nn", DType::f16, DType::f16),
      make_trap("svod#108",
                "hipBLASLt on gfx1151: illegal access, bf16 to f32, M 2048, N 4096, K 64",
                "4096x2048x64", "nn", DType::bf16, DType::f32),
  };
  return traps;
}

std::string shrink_to_fit(MatmulProblem& problem, std::uint64_t free_bytes) {
  const std::string shape = shape_word(problem);
  const std::uint64_t needed = problem.bytes();
  const std::uint64_t limit = free_bytes / 10 * 8;
  while (problem.bytes() > limit && std::max({problem.m, problem.n, problem.k}) > 1) {
    std::uint64_t* largest = &problem.m;
    for (std::uint64_t* const one : {&problem.n, &problem.k}) {
      if (*one > *largest) largest = one;
    }
    *largest = (*largest + 1) / 2;
  }
  if (problem.bytes() == needed) return {};
  return "reported as " + shape + ", which needs " + format_size(needed) + "; " +
         format_size(free_bytes) + " are free";
}

std::vector<MatmulProblem> parse_shapes(std::string_view text, const std::string& path,
                                        const MatmulProblem& usual,
                                        const std::vector<DType>& dtypes) {
  std::vector<MatmulProblem> problems;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    MatmulProblem problem = usual;
    std::optional<DType> dtype;
    try {
      set_shape(problem, word);
      while (words >> word) {
        if (take_word(problem, dtype, word)) continue;
        throw Error(ErrorCode::invalid_argument, "read shape",
                    "unknown word '" + word.substr(0, 60) + "'",
                    "write MxNxK, then any of nn, nt, tn, tt, f16, bf16, f32, f64, batch=N");
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
                "write one MxNxK a line, such as 4096x4096x4096 tn bf16");
  }
  return problems;
}

}  // namespace hiptool::measure
