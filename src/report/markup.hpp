// SPDX-License-Identifier: MIT
/// What the writers of XML, SVG and HTML share.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace hiptool::report {

/// Text for an element or a double-quoted attribute of XML 1.0 or HTML: printable() first, so that
/// no character is left that XML forbids (2.2 of its specification), then the five entities.
std::string markup_text(std::string_view text);

/// ` name="text"`.
std::string attribute(std::string_view name, std::string_view text);

/// A coordinate with at most two decimals: "12.5".
std::string coordinate(double value);

/// `<name attributes>content</name>`; content is markup, closed at once where there is none.
std::string element(std::string_view name, std::initializer_list<std::string> attributes,
                    const std::string& content = {});

/// An attribute that is a coordinate.
std::string at(std::string_view name, double value);

/// The attributes of <svg> for a drawing of that size, in pixels.
std::string svg_size(double width, double height);

/// A text of SVG.
std::string label(double x, double y, std::string_view classes, std::string_view text);

/// A size without superfluous zeros: "64 KiB", "1.5 GiB".
std::string short_size(std::uint64_t size_bytes);

}  // namespace hiptool::report
