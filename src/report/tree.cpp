// SPDX-License-Identifier: MIT
#include "report/tree.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hiptool/error.hpp"

namespace hiptool::report {
namespace {

constexpr std::size_t deepest = 64;
constexpr std::size_t most_shrunk = 4096;

// Builds the tree from the parser's events, so that depth is bounded before memory and stack are
// taken for it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return fail("binary data"); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override {
    Array elements = std::move(levels_.back().elements);
    // Lists of samples are most of a document; of a long one both copies would be there at once.
    if (elements.size() < most_shrunk) elements.shrink_to_fit();
    levels_.pop_back();
    return add(std::move(elements));
  }
  bool key(std::string& name) override {
    levels_.back().name = std::move(name);
    return true;
  }
  bool end_object() override {
    Object members = std::move(levels_.back().members);
    levels_.pop_back();
    std::vector<std::string_view> names;
    for (const auto& entry : members) names.push_back(entry.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return fail("the name '" + std::string(*twice) + "' appears twice");
    return add(std::move(members));
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    const std::string text = error.what();  // "[json.exception...] parse error at line 1, ..."
    return fail(text.substr(std::min(text.find("] ") + 2, text.size())));
  }

  const std::string& failure() const { return failure_; }
  Value take() { return std::move(result_); }

 private:
  struct Level {
    bool is_object = false;
    std::string name;
    Array elements;
    Object members;
  };

  bool fail(std::string why) {
    failure_ = std::move(why);
    return false;
  }

  bool open(bool is_object) {
    if (levels_.size() == deepest) return fail("it is more than 64 levels deep");
    levels_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool add(Value value) {
    if (levels_.empty()) {
      result_ = std::move(value);
    } else if (levels_.back().is_object) {
      levels_.back().members.emplace_back(std::move(levels_.back().name), std::move(value));
    } else {
      levels_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Level> levels_;
  Value result_;
  std::string failure_;
};

}  // namespace

// Not inline: every document is built of these, and the code of a variant's copies is long.
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(Array value) : data_(std::move(value)) {}
Value::Value(Object value) : data_(std::move(value)) {}

const Value& member(const Object& object, std::string_view name) {
  static const Value absent;
  for (const auto& [key, value] : object) {
    if (key == name) return value;
  }
  return absent;
}

const Value& member(const Value& value, std::string_view name) {
  static const Value absent;
  const auto* object = std::get_if<Object>(&value.data());
  return object == nullptr ? absent : member(*object, name);
}

const Array& elements(const Value& value) {
  static const Array none;
  const auto* array = std::get_if<Array>(&value.data());
  return array == nullptr ? none : *array;
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data());
  return text == nullptr ? std::string() : *text;
}

std::optional<double> number_of(const Value& value) {
  std::optional<double> number;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data())) {
    number = static_cast<double>(*whole);
  } else if (const auto* count = std::get_if<std::uint64_t>(&value.data())) {
    number = static_cast<double>(*count);
  } else if (const auto* real = std::get_if<double>(&value.data())) {
    if (std::isfinite(*real)) number = *real;
  }
  return number;
}

std::optional<std::uint64_t> count_of(const Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value.data())) return *count;
  const auto* whole = std::get_if<std::int64_t>(&value.data());
  if (whole == nullptr || *whole < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*whole);
}

namespace {

// A parser's words help only with a text that is meant to be a document.
std::string fault_of(std::string_view text, const std::string& found) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "the file is empty";
  return text[first] == '{' || text[first] == '[' ? found : "not a JSON document";
}

}  // namespace

Value parse_json(std::string_view text, const std::string& what, const std::string& hint) {
  Builder builder;
  const bool is_parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!is_parsed || !builder.failure().empty()) {
    throw Error(ErrorCode::corrupt_data, "parse JSON",
                what + ": " + fault_of(text, builder.failure()),
                !hint.empty() ? hint
                : text.starts_with("GGUF")
                    ? "show a model with `hiptool inspect FILE`"
                    : "give a JSON document that hiptool wrote with --format json or --export "
                      "json=FILE");
  }
  return builder.take();
}

}  // namespace hiptool::report
