// SPDX-License-Identifier: MIT
#include "report/markup.hpp"

#include "base/units.hpp"
#include "report/text.hpp"

namespace hiptool::report {
namespace {

std::string_view entity(char letter) {
  switch (letter) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

// "12.50" to "12.5", "3.00" to "3"; `end` is the end of the number.
void drop_zeros(std::string& text, std::size_t end) {
  if (text.substr(0, end).find('.') == std::string::npos) return;
  std::size_t keep = text.find_last_not_of('0', end - 1) + 1;
  if (text[keep - 1] == '.') --keep;
  text.erase(keep, end - keep);
}

}  // namespace

std::string markup_text(std::string_view text) {
  const std::string safe = printable(text);
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    // U+FFFE and U+FFFF are well-formed UTF-8 but no characters of XML.
    const std::string_view three = std::string_view(safe).substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      result += "\xef\xbf\xbd";
      i += 2;
      continue;
    }
    const std::string_view replaced = entity(safe[i]);
    result += replaced.empty() ? std::string_view(&safe[i], 1) : replaced;
  }
  return result;
}

std::string attribute(std::string_view name, std::string_view text) {
  std::string result = " ";
  return result.append(name).append("=\"").append(markup_text(text)).append("\"");
}

std::string coordinate(double value) {
  std::string text = fixed_text(value, 2);
  drop_zeros(text, text.size());
  return text == "-0" ? "0" : text;
}

std::string short_size(std::uint64_t size_bytes) {
  std::string text = format_size(size_bytes);
  drop_zeros(text, text.find(' '));
  return text;
}

std::string element(std::string_view name, std::initializer_list<std::string> attributes,
                    const std::string& content) {
  std::string text = "<";
  text.append(name);
  for (const std::string& one : attributes) text += one;
  if (content.empty()) return text + "/>\n";
  return text + ">" + content + "</" + std::string(name) + ">\n";
}

std::string at(std::string_view name, double value) { return attribute(name, coordinate(value)); }

std::string svg_size(double width, double height) {
  return at("width", width) + at("height", height) +
         attribute("viewBox", "0 0 " + coordinate(width) + " " + coordinate(height));
}

std::string label(double x, double y, std::string_view classes, std::string_view text) {
  return element("text", {at("x", x), at("y", y), attribute("class", classes)}, markup_text(text));
}

}  // namespace hiptool::report
