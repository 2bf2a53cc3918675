// SPDX-License-Identifier: MIT
#include "measure/library/shape.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

constexpr std::size_t most_quoted_letters = 60;

[[noreturn]] void refuse_product_shape(std::string_view text) {
  throw Error(ErrorCode::invalid_argument, "read shape",
              "'" + std::string(text.substr(0, most_quoted_letters)) +
                  "' is not a shape of a matrix product",
              "write MxNxK, such as 4096x4096x4096: the result is M x N, sums have K terms");
}

/// The letters after the colon, and what they mean.
struct ImageForm {
  const char* noun;
  const char* letters;
  const char* hint;
};
constexpr ImageForm conv_form{
    "convolution", "krsupdg",
    "write n8c64h56w56:k64r3s3 (images, channels, height, width; results' channels, "
    "filter height, width), then if needed u (stride), p (padding), d (dilation), each as "
    "u2 or u2x1 (height x width), and g (groups)"};
constexpr ImageForm pool_form{
    "pooling", "rsu",
    "write n8c64h56w56:r3s3 (images, channels, height, width; window height, width), then if "
    "needed u (stride) as u2 or u2x1 (height x width), without which windows do not overlap"};

/// One or two numbers; of one number both are the same.
using NumberPair = std::array<std::uint64_t, 2>;

/// Reads letters with numbers, each letter once, into what was read of each letter.
class ImageShapeReader {
 public:
  ImageShapeReader(std::string_view text, const ImageForm& form) : text_(text), form_(form) {
    const std::size_t colon = text_.find(':');
    if (colon == std::string_view::npos) refuse("it has no ':'");
    read_part(text_.substr(0, colon), "nchw");
    read_part(text_.substr(colon + 1), form.letters);
  }

  PoolProblem pooling(PoolProblem problem) const {
    set_images(problem);
    problem.window = {one('r'), one('s')};
    problem.stride = find('u') != nullptr ? *find('u') : problem.window;
    if (problem.window[0] > problem.h || problem.window[1] > problem.w) {
      refuse("the window is larger than the image");
    }
    require_memory({problem.n, problem.c, problem.h, problem.w});
    return problem;
  }

  ConvProblem convolution(ConvProblem problem) const {
    set_images(problem);
    problem.k = one('k');
    problem.r = one('r');
    problem.s = one('s');
    problem.stride = two('u', 1);
    problem.padding = two('p', 0);
    problem.dilation = two('d', 1);
    problem.groups = find('g') != nullptr ? one('g') : 1;
    check(problem);
    return problem;
  }

 private:
  static constexpr std::uint64_t most_size = std::uint64_t{1} << 24;

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::invalid_argument, "read shape",
                "'" + std::string(text_.substr(0, most_quoted_letters)) + "' is not a shape of a " +
                    form_.noun + ": " + why,
                form_.hint);
  }

  template <class Images>
  void set_images(Images& problem) const {
    problem.n = one('n');
    problem.c = one('c');
    problem.h = one('h');
    problem.w = one('w');
  }

  void read_part(std::string_view part, std::string_view letters) {
    std::size_t at = 0;
    while (at < part.size()) {
      const char letter = part[at];
      if (letters.find(letter) == std::string_view::npos) {
        refuse(std::string("unexpected '") + letter + "'");
      }
      if (find(letter)) refuse(std::string("it has two ") + letter);
      const std::size_t end = std::min(part.find_first_not_of("0123456789x", at + 1), part.size());
      found_.emplace_back(letter, numbers(letter, part.substr(at + 1, end - at - 1)));
      at = end;
    }
  }

  NumberPair numbers(char letter, std::string_view word) const {
    const std::size_t cross = word.find('x');
    const bool is_pair = cross != std::string_view::npos;
    const auto first = base::parse_number<std::uint64_t>(word.substr(0, cross));
    const auto second = is_pair ? base::parse_number<std::uint64_t>(word.substr(cross + 1)) : first;
    const bool may_be_pair = letter == 'u' || letter == 'p' || letter == 'd';
    const std::uint64_t least = letter == 'p' ? 0 : 1;
    const bool is_right = first && second && (may_be_pair || !is_pair) && *first >= least &&
                          *second >= least && *first <= most_size && *second <= most_size;
    if (!is_right) {
      refuse(std::string("'") + letter + std::string(word.substr(0, 20)) + "' is not " + letter +
             " with a number from " + std::to_string(least) + " to 16777216");
    }
    return {*first, *second};
  }

  const NumberPair* find(char letter) const {
    const auto found =
        std::ranges::find_if(found_, [&](const auto& one) { return one.first == letter; });
    return found == found_.end() ? nullptr : &found->second;
  }

  std::uint64_t one(char letter) const {
    const NumberPair* const found = find(letter);
    if (found == nullptr) refuse(std::string("it has no ") + letter);
    return (*found)[0];
  }

  NumberPair two(char letter, std::uint64_t usual) const {
    const NumberPair* const found = find(letter);
    return found == nullptr ? NumberPair{usual, usual} : *found;
  }

  void check(const ConvProblem& problem) const {
    if (problem.c % problem.groups != 0 || problem.k % problem.groups != 0) {
      refuse("c and k are no multiples of the groups");
    }
    const auto fits = [&](std::uint64_t size, std::uint64_t filter, std::size_t i) {
      return size + 2 * problem.padding[i] > problem.dilation[i] * (filter - 1);
    };
    if (!fits(problem.h, problem.r, 0) || !fits(problem.w, problem.s, 1)) {
      refuse("the filter is larger than the padded image");
    }
    require_memory({problem.n, problem.c, problem.h, problem.w});
    require_memory({problem.k, problem.c, problem.r, problem.s});
    require_memory({problem.n, problem.k, problem.out_height(), problem.out_width()});
  }

  /// That many elements need more memory than any device has.
  void require_memory(std::initializer_list<std::uint64_t> sizes) const {
    constexpr double most_elements = 0x1p44;
    double all = 1;
    for (const std::uint64_t size : sizes) all *= static_cast<double>(size);
    if (all > most_elements) refuse("no device has memory for it");
  }

  std::string_view text_;
  const ImageForm& form_;
  std::vector<std::pair<char, NumberPair>> found_;
};

std::string pair_word(char letter, const NumberPair& numbers, std::uint64_t usual) {
  if (numbers == NumberPair{usual, usual}) return {};
  std::string word = letter + std::to_string(numbers[0]);
  if (numbers[1] != numbers[0]) word += "x" + std::to_string(numbers[1]);
  return word;
}

std::string word_of(const MatmulProblem& problem) {
  return std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" +
         std::to_string(problem.k);
}

template <class Images>
std::string images_word(const Images& problem) {
  return "n" + std::to_string(problem.n) + "c" + std::to_string(problem.c) + "h" +
         std::to_string(problem.h) + "w" + std::to_string(problem.w) + ":";
}

std::string word_of(const PoolProblem& problem) {
  std::string word = images_word(problem) + "r" + std::to_string(problem.window[0]) + "s" +
                     std::to_string(problem.window[1]);
  return problem.stride == problem.window ? word : word + pair_word('u', problem.stride, 0);
}

std::string word_of(const ConvProblem& problem) {
  std::string word = images_word(problem) + "k" + std::to_string(problem.k) + "r" +
                     std::to_string(problem.r) + "s" + std::to_string(problem.s);
  word += pair_word('u', problem.stride, 1);
  word += pair_word('p', problem.padding, 0);
  word += pair_word('d', problem.dilation, 1);
  if (problem.groups != 1) word += "g" + std::to_string(problem.groups);
  return word;
}

}  // namespace

void set_product_shape(MatmulProblem& problem, std::string_view text) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t product = 1;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    const auto size = base::parse_number<std::uint64_t>(text.substr(start, end - start));
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    if (!size || *size == 0 || *size > most || sizes.size() == 3) refuse_product_shape(text);
    sizes.push_back(*size);
    start = end + 1;
  }
  if (sizes.size() != 3) refuse_product_shape(text);
  // That many elements need more memory than any device has.
  for (const auto& [rows, columns] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    product = sizes[static_cast<std::size_t>(rows)];
    if (sizes[static_cast<std::size_t>(columns)] > (std::uint64_t{1} << 44) / product) {
      refuse_product_shape(text);
    }
  }
  problem.m = sizes[0];
  problem.n = sizes[1];
  problem.k = sizes[2];
}

void set_conv_shape(ConvProblem& problem, std::string_view text) {
  problem = ImageShapeReader(text, conv_form).convolution(problem);
}

void set_pool_shape(PoolProblem& problem, std::string_view text) {
  problem = ImageShapeReader(text, pool_form).pooling(problem);
}

std::string shape_word(const Problem& problem) {
  return std::visit([](const auto& one) { return word_of(one); }, problem);
}

}  // namespace hiptool::measure
