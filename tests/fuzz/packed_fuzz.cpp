// SPDX-License-Identifier: MIT
// Tensors of a quantised model next to its config.json: the first piece is the configuration, each
// line of the second one is a tensor, "U8 [64,32] l.weight".
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "check_model.hpp"
#include "file_folder.hpp"

namespace {

// Larger ones differ in nothing but the digits of their sizes.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 40;

std::uint64_t bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 12> types{{{"U8", 1},
                                                                              {"I8", 1},
                                                                              {"F8_E4M3", 1},
                                                                              {"F8_E8M0", 1},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"I16", 2},
                                                                              {"I32", 4},
                                                                              {"U32", 4},
                                                                              {"F32", 4},
                                                                              {"I64", 8},
                                                                              {"F64", 8}}};
  for (const auto& [name, size] : types) {
    if (name == type) return size;
  }
  return 0;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// Of a shape as JSON writes it; absent for other texts.
std::optional<std::uint64_t> elements_of(std::string_view shape) {
  if (!shape.starts_with('[') || !shape.ends_with(']')) return std::nullopt;
  shape = shape.substr(1, shape.size() - 2);
  std::uint64_t elements = 1;
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find(','), shape.size());
    const auto extent = hiptool::base::parse_number<std::uint64_t>(shape.substr(0, end));
    const bool is_small = extent && (*extent == 0 || elements <= most_elements / *extent);
    if (!is_small) return std::nullopt;
    elements *= *extent;
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
  return elements;
}

bool is_json_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= ' ' && letter < '\x7f' && letter != '"' && letter != '\\';
  });
}

/// Writes the tensors as a file whose data is zeros.
void write_tensors(const hiptool::fuzz::FileFolder& folder, std::string_view lines) {
  std::string header = "{";
  std::uint64_t at = 0;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::string type(take_word(line));
    const std::string shape(take_word(line));
    const auto elements = elements_of(shape);
    const std::uint64_t size = bytes_of_type(type);
    if (size == 0 || !elements || !is_json_text(line)) continue;
    const std::uint64_t end = at + size * *elements;
    header += header.size() > 1 ? "," : "";
    header += "\"" + std::string(line) + R"(":{"dtype":")" + type + R"(","shape":)" + shape +
              R"(,"data_offsets":[)" + std::to_string(at) + "," + std::to_string(end) + "]}";
    at = end;
  }
  header += "}";
  std::string length;
  for (int byte = 0; byte < 8; ++byte) {
    length += static_cast<char>(header.size() >> (8 * byte) & 0xFF);
  }
  folder.write("m.safetensors", length + header, at);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace hiptool::fuzz;
  static const FileFolder folder;
  static const std::filesystem::path path = folder / "m.safetensors";
  const Input input(bytes, size);
  folder.write(input, {"config.json"});
  const std::size_t mark = input.text().find(piece_mark);
  const bool has_tensors = mark != std::string_view::npos;
  write_tensors(folder, has_tensors ? input.text().substr(mark + piece_mark.size()) : "");
  check_model(input, path);
  return 0;
}
