// SPDX-License-Identifier: MIT
#include "user_kernel/image_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.hpp"
#include "user_kernel/image_bytes.hpp"

namespace hiptool::user_kernel {
namespace {

using Bytes = std::span<const std::byte>;

/// Words of PTX: names, directives with their dot, numbers, single other characters. Comments and
/// quoted strings are skipped.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : text_(text.substr(0, text.find('\0'))) {}

  /// Empty at the end.
  std::string_view next() {
    skip_blanks();
    if (text_.empty()) return {};
    std::size_t length = 1;
    if (is_word(text_[0])) {
      while (length < text_.size() && is_word(text_[length])) ++length;
    }
    const std::string_view word = text_.substr(0, length);
    text_.remove_prefix(length);
    return word;
  }

 private:
  static bool is_word(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
           letter == '$' || letter == '.' || letter == '%';
  }

  void skip_to(std::string_view mark, std::size_t from) {
    const std::size_t end = text_.find(mark, from);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + mark.size());
  }

  void skip_blanks() {
    for (;;) {
      const std::size_t start = text_.find_first_not_of(" \t\r\n");
      text_.remove_prefix(std::min(start, text_.size()));
      if (text_.starts_with("//")) {
        skip_to("\n", 2);
      } else if (text_.starts_with("/*")) {
        skip_to("*/", 2);
      } else if (text_.starts_with("\"")) {
        skip_to("\"", 1);
      } else {
        return;
      }
    }
  }

  std::string_view text_;
};

/// 4 of ".u32" and ".f16x2", absent for other words.
std::optional<std::uint64_t> size_of_type(std::string_view word) {
  if (word.size() < 3 || word[0] != '.' ||
      std::string_view("busf").find(word[1]) == std::string_view::npos) {
    return std::nullopt;
  }
  if (word == ".f16x2") return 4;
  const auto bits = base::parse_number<std::uint64_t>(word.substr(2));
  const bool is_size =
      bits && (*bits == 8 || *bits == 16 || *bits == 32 || *bits == 64 || *bits == 128);
  return is_size ? std::optional(*bits / 8) : std::nullopt;
}

struct PtxNumber {
  std::string_view word;
  ElementType type;
  std::string_view name;
};

// Words such as .b32 may be any number of their size.
constexpr std::array ptx_numbers{
    PtxNumber{".u8", ElementType::u8, "u8"},    PtxNumber{".s8", ElementType::i8, "i8"},
    PtxNumber{".u16", ElementType::u16, "u16"}, PtxNumber{".s16", ElementType::i16, "i16"},
    PtxNumber{".u32", ElementType::u32, "u32"}, PtxNumber{".s32", ElementType::i32, "i32"},
    PtxNumber{".u64", ElementType::u64, "u64"}, PtxNumber{".s64", ElementType::i64, "i64"},
    PtxNumber{".f16", ElementType::f16, "f16"}, PtxNumber{".f32", ElementType::f32, "f32"},
    PtxNumber{".f64", ElementType::f64, "f64"}};

/// Adds what a word of its declaration says about a parameter.
void read_parameter_word(std::string_view word, PtxWords& words, ArgumentInfo& argument) {
  if (word == ".ptr") {
    argument.kind = ArgumentKind::pointer;
  } else if (word == "[") {
    const auto count = base::parse_number<std::uint32_t>(words.next());
    if (!count || *count == 0 || argument.kind == ArgumentKind::value) {
      refuse_image("a PTX parameter has an invalid size");
    }
    argument.size_bytes *= *count;
    argument.kind = ArgumentKind::value;
    argument.element.reset();
    argument.type.clear();
  } else if (const auto size = size_of_type(word); size && argument.size_bytes == 0) {
    argument.size_bytes = *size;
    const auto number = std::ranges::find(ptx_numbers, word, &PtxNumber::word);
    if (number == ptx_numbers.end()) return;
    argument.element = number->type;
    argument.type = number->name;
  }
}

/// X * Y * Z of `.maxntid X, Y, Z`, where the last ones may be missing.
std::uint64_t read_block_size(PtxWords& words) {
  std::uint64_t threads = 1;
  for (int dimension = 0; dimension < 3; ++dimension) {
    const auto count = base::parse_number<std::uint32_t>(words.next());
    if (!count || *count > 1024) return 0;
    threads *= *count;
    PtxWords after = words;
    if (after.next() != ",") break;
    words = after;
  }
  return threads;
}

/// From after the opening parenthesis to the closing one.
std::vector<ArgumentInfo> read_parameters(PtxWords& words) {
  std::vector<ArgumentInfo> arguments;
  ArgumentInfo argument;
  for (bool is_first_word = true;; is_first_word = false) {
    const std::string_view word = words.next();
    if (word.empty() || word == "{" || word == ";") {
      refuse_image("a parameter list in PTX does not end");
    }
    if (word == ")" && is_first_word) return arguments;
    if (word != "," && word != ")") {
      read_parameter_word(word, words, argument);
      continue;
    }
    if (argument.size_bytes == 0) refuse_image("a PTX parameter has no type");
    // A pointer is a whole number of 64 bits too.
    const bool may_be_pointer = argument.size_bytes == 8 && argument.element != ElementType::f64;
    if (may_be_pointer || argument.kind == ArgumentKind::pointer) {
      argument.element.reset();
      argument.type.clear();
    }
    if (argument.element) argument.kind = ArgumentKind::value;
    arguments.push_back(std::exchange(argument, {}));
    if (word == ")") return arguments;
  }
}

}  // namespace

ImageInfo read_ptx(std::string_view text) {
  ImageInfo info;
  info.kind = core::ImageKind::ptx;
  info.kernels.emplace();
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".target" && info.target.empty()) info.target = words.next();
    if (word != ".entry") continue;
    KernelInfo kernel;
    kernel.name = words.next();
    PtxWords after = words;
    if (after.next() == "(") {
      words = after;
      kernel.arguments = read_parameters(words);
    }
    PtxWords behind = words;
    const std::string_view directive = behind.next();
    if (directive == ".maxntid" || directive == ".reqntid") {
      kernel.max_block_threads = read_block_size(behind);
      words = behind;
    }
    if (!kernel.name.empty()) info.kernels->push_back(std::move(kernel));
  }
  return info;
}

std::vector<BundleEntry> read_bundle(Bytes bundle) {
  constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
  struct Head {
    std::uint64_t offset;
    std::uint64_t size_bytes;
    std::uint64_t name_bytes;
  };
  std::uint64_t place = magic.size();
  const auto count = record_at<std::uint64_t>(bundle, place);
  place += sizeof(count);
  std::vector<BundleEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto head = record_at<Head>(bundle, place);
    place += sizeof(head);
    const Bytes name = part_of(bundle, place, head.name_bytes, "an entry of the bundle");
    entries.push_back(
        {text_of(name), part_of(bundle, head.offset, head.size_bytes, "an entry of the bundle")});
    place += head.name_bytes;
  }
  return entries;
}

std::string_view processor_of(std::string_view target) {
  const std::size_t dashes = target.rfind("--");
  if (dashes != std::string_view::npos) target.remove_prefix(dashes + 2);
  return target.substr(0, target.find(':'));
}

ImageInfo read_image_info(Bytes image) {
  const core::ImageKind kind = core::identify_image(image);
  switch (kind) {
    case core::ImageKind::amd_object: return read_amd_object(image);
    case core::ImageKind::nvidia_object: return read_cubin(image);
    case core::ImageKind::ptx: return read_ptx(text_of(image));
    default: {
      ImageInfo info;
      info.kind = kind;
      return info;
    }
  }
}

}  // namespace hiptool::user_kernel
