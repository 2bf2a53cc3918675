// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "model/metadata.hpp"

namespace hiptool::model_writer {

/// Collects the fields of a GGUF header.
class GgufHeader {
 public:
  template <typename Number>
  void number(Number value) {
    std::array<char, sizeof value> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    text_.append(bytes.data(), bytes.size());
  }
  void raw(std::string_view bytes) { text_.append(bytes); }
  void string(std::string_view bytes) {
    number<std::uint64_t>(bytes.size());
    raw(bytes);
  }
  void key(std::string_view name, model::GgufValueType type) {
    string(name);
    number(static_cast<std::uint32_t>(type));
    ++pairs_;
  }
  void pair(std::string_view name, std::uint32_t value) {
    key(name, model::GgufValueType::u32);
    number(value);
  }
  void pair(std::string_view name, std::string_view value) {
    key(name, model::GgufValueType::text);
    string(value);
  }
  void real(std::string_view name, float value) {
    key(name, model::GgufValueType::f32);
    number(value);
  }
  /// The array's elements follow, by number() or string().
  void array(std::string_view name, model::GgufValueType type, std::uint64_t count) {
    key(name, model::GgufValueType::array);
    number(static_cast<std::uint32_t>(type));
    number(count);
  }
  std::string& text() { return text_; }
  std::uint64_t pairs() const { return pairs_; }

 private:
  std::string text_;
  std::uint64_t pairs_ = 0;
};

}  // namespace hiptool::model_writer
