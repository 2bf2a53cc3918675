// SPDX-License-Identifier: MIT
#include "user_kernel/arguments.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "user_kernel/signature.hpp"

namespace hiptool::user_kernel {
namespace {

constexpr const char* operation = "parse kernel arguments";
constexpr std::size_t pointer_bytes = 8;
constexpr const char* forms =
    "write i32:5, f32:2.5, bytes:0a00ff for a struct, or buf:f32:1024:zeros (also iota, value:V, "
    "random:SEED, file:PATH, poison)";

// Each is known by its first two letters.
constexpr std::array<std::string_view, 6> buffer_contents{"zeros",  "iota",   "value",
                                                          "random", "poison", "file"};

[[noreturn]] void refuse(std::string message, std::string hint = forms) {
  throw Error(ErrorCode::invalid_argument, operation, std::move(message), std::move(hint));
}

/// Removes the text up to the next colon and the colon, and returns the text.
std::string_view take_part(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  const std::string_view part = rest.substr(0, colon);
  rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  return part;
}

std::vector<std::byte> read_buffer_file(const std::string& path, std::uint64_t size_bytes) {
  const base::File file = base::File::open(path);
  if (file.size_bytes() < size_bytes) {
    throw Error(ErrorCode::input_failed, operation,
                path + " has " + base::plain_count_of(file.size_bytes(), "byte") +
                    "; the buffer takes " + std::to_string(size_bytes));
  }
  std::vector<std::byte> bytes(size_bytes);
  file.read_at(bytes, 0);
  return bytes;
}

/// The system would grant larger allocations too and end the process when it uses them.
std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::byte> repeated(const std::vector<std::byte>& element, std::uint64_t count) {
  std::vector<std::byte> bytes;
  bytes.reserve(element.size() * count);
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

std::vector<std::byte> make_content(const KernelArgument& argument, std::string_view content) {
  const std::uint64_t size = argument.count * size_bytes(argument.type);
  const std::string_view kind = take_part(content);
  if (kind == "zeros" && content.empty()) return std::vector<std::byte>(size);
  if (kind == "iota" && content.empty()) return iota(argument.type, argument.count);
  if (kind == "value") return repeated(parse_element(argument.type, content), argument.count);
  if (kind == "file" && !content.empty()) return read_buffer_file(std::string(content), size);
  if (kind == "random") {
    if (const auto seed = base::parse_number<std::uint64_t>(content)) {
      return random_elements(argument.type, argument.count, *seed);
    }
    refuse("'" + argument.text + "' needs a whole number as seed, such as random:1");
  }
  if (kind.empty()) refuse("'" + argument.text + "' has no contents for the buffer");
  const auto near = std::ranges::find_if(buffer_contents, [&](std::string_view known) {
    return known.substr(0, 2) == kind.substr(0, 2);
  });
  if (near != buffer_contents.end() && *near == kind) {
    refuse("'" + argument.text + "': " + std::string(kind) +
           (kind == "file" ? " needs a path" : " takes no value"));
  }
  const std::string hint =
      near == buffer_contents.end() ? "" : "did you mean '" + std::string(*near) + "'? ";
  refuse("'" + argument.text + "': unknown contents '" + std::string(kind) + "' for the buffer",
         hint + forms);
}

void parse_buffer(KernelArgument& argument, std::string_view rest) {
  argument.is_buffer = true;
  argument.type = parse_element_type(take_part(rest));
  const std::string_view count_text = take_part(rest);
  const auto count = base::parse_number<std::uint64_t>(count_text);
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max() / size_bytes(argument.type);
  if (!count || *count == 0 || *count > most) {
    refuse("'" + argument.text + "': '" + std::string(count_text) +
           "' is not a number of elements from 1 on");
  }
  argument.count = *count;
  if (argument.count * size_bytes(argument.type) > host_memory_bytes()) {
    throw Error(ErrorCode::host_out_of_memory, operation,
                "'" + argument.text + "' needs more memory than this machine has");
  }
  argument.is_poison = rest == "poison";
  argument.bytes = make_content(argument, argument.is_poison ? "zeros" : rest);
}

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

void parse_raw(KernelArgument& argument, std::string_view digits) {
  argument.is_raw = true;
  argument.type = ElementType::u8;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::string halves;
  for (const char letter : digits) {
    if (letter == '_' || letter == ' ') continue;
    if (hex_digit(letter) < 0) refuse("'" + argument.text + "': bytes are hexadecimal digits");
    halves += letter;
  }
  if (halves.empty() || halves.size() % 2 != 0) {
    refuse("'" + argument.text + "': a byte is two hexadecimal digits");
  }
  if (halves.size() / 2 > most_argument_bytes) {
    refuse("'" + argument.text.substr(0, 32) + "...' is larger than " +
           std::to_string(most_argument_bytes) + " bytes, the most that a kernel takes");
  }
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    argument.bytes.push_back(
        static_cast<std::byte>(hex_digit(halves[i]) * 16 + hex_digit(halves[i + 1])));
  }
}

std::string hint_of(const std::vector<ArgumentInfo>& arguments) {
  return arguments.empty() ? "it takes none" : "it takes " + describe(arguments);
}

/// What a parameter of a type that is not a number takes, and then all parameters.
std::string hint_of(const ArgumentInfo& refused, const std::vector<ArgumentInfo>& arguments) {
  const bool may_be_struct = !refused.element && refused.kind != ArgumentKind::pointer;
  if (!may_be_struct) return hint_of(arguments);
  const std::string digits =
      refused.size_bytes == 0
          ? std::string()
          : ", " + std::to_string(2 * refused.size_bytes) + " hexadecimal digits";
  return "give a struct as bytes:HEX" + digits + "; " + hint_of(arguments);
}

bool fits_size(const KernelArgument& given, const ArgumentInfo& expected) {
  using enum ArgumentKind;
  const std::size_t size = given.is_buffer ? pointer_bytes : given.bytes.size();
  if (expected.size_bytes != 0 && size != expected.size_bytes) return false;
  if (given.is_buffer) return expected.kind != value;
  const bool is_zero =
      std::ranges::all_of(given.bytes, [](std::byte byte) { return byte == std::byte{0}; });
  return expected.kind != pointer || is_zero;
}

bool is_same_number(ElementType given, ElementType declared) {
  if (is_real(given) || is_real(declared)) return given == declared;
  return size_bytes(given) == size_bytes(declared);
}

bool fits_type(const KernelArgument& given, const ArgumentInfo& expected) {
  if (!expected.element || given.is_raw) return true;
  if (!given.is_buffer) {
    return expected.kind == ArgumentKind::pointer || is_same_number(given.type, *expected.element);
  }
  const bool is_bytes = size_bytes(given.type) == 1;
  return is_bytes || is_same_number(given.type, *expected.element);
}

/// The declaration, with its size where that is what does not fit.
std::string declared_text(const KernelArgument& given, const ArgumentInfo& expected) {
  const std::string text = "'" + describe(expected) + "'";
  const bool has_other_size = expected.size_bytes != 0 && !given.is_buffer &&
                              expected.kind != ArgumentKind::pointer &&
                              given.bytes.size() != expected.size_bytes;
  if (!has_other_size || expected.type.empty()) return text;
  return text + " of " + base::count_of(expected.size_bytes, "byte");
}

/// What was given, in the words of a declaration.
std::string given_text(const KernelArgument& given) {
  const std::string type(to_string(given.type));
  const std::string size = base::count_of(given.bytes.size(), "byte");
  if (given.is_buffer) return "a buffer of " + type;
  return given.is_raw ? size : "a value of " + size + ", " + type;
}

}  // namespace

KernelArgument parse_kernel_argument(const std::string& text) {
  KernelArgument argument;
  argument.text = text;
  std::string_view rest = text;
  if (rest.find(':') == std::string_view::npos) refuse("'" + text + "' is not a valid argument");
  const std::string_view first = take_part(rest);
  if (first == "buf") {
    parse_buffer(argument, rest);
    return argument;
  }
  if (first == "bytes") {
    parse_raw(argument, rest);
    return argument;
  }
  argument.type = parse_element_type(first);
  argument.bytes = parse_element(argument.type, rest);
  return argument;
}

void check_arguments(const std::string& kernel, const std::vector<KernelArgument>& given,
                     const std::vector<ArgumentInfo>& expected) {
  if (given.size() != expected.size()) {
    refuse("the kernel '" + kernel + "' takes " + std::to_string(expected.size()) +
               (expected.size() == 1 ? " argument, and " : " arguments, and ") +
               std::to_string(given.size()) + (given.size() == 1 ? " is given" : " are given"),
           hint_of(expected));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (fits_size(given[i], expected[i]) && fits_type(given[i], expected[i])) continue;
    refuse("argument " + std::to_string(i) + " of the kernel '" + kernel + "' is " +
               declared_text(given[i], expected[i]) + "; '" + given[i].text + "' is " +
               given_text(given[i]),
           hint_of(expected[i], expected));
  }
}

}  // namespace hiptool::user_kernel
