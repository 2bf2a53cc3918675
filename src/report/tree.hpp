// SPDX-License-Identifier: MIT
/// JSON-like values, and access to values of documents from outside: a member that is missing or of
/// another type than expected is absent, never an error.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hiptool::report {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
using Object = std::vector<Member>;  ///< keeps the order in which fields were added

/// A JSON-like value: absent (null), boolean, integer, real, text, array or object. Numbers are in
/// base units: bytes, seconds, bytes per second, hertz, shares from 0 to 1.
class Value {
 public:
  using Data = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                            Array, Object>;
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(std::int64_t{value}) {}
  Value(std::int64_t value) : data_(value) {}
  Value(std::uint32_t value) : data_(std::uint64_t{value}) {}
  Value(std::uint64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(const char* value);
  Value(std::string_view value);
  Value(std::string value);
  Value(Array value);
  Value(Object value);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <class T>
  Value(const std::optional<T>& value) {
    if (value) *this = Value(*value);
  }

  const Data& data() const noexcept { return data_; }
  /// Its members, to be moved out; null if it is not an object.
  Object* object() noexcept { return std::get_if<Object>(&data_); }
  bool is_absent() const noexcept { return std::holds_alternative<std::monostate>(data_); }

 private:
  Data data_;
};

/// The member of that name, or absent if there is none or `value` is not an object.
const Value& member(const Value& value, std::string_view name);
const Value& member(const Object& object, std::string_view name);

/// The elements; none if it is not an array.
const Array& elements(const Value& value);

/// The text; empty if it is not a text.
std::string text_of(const Value& value);

/// A finite number of any of the three types.
std::optional<double> number_of(const Value& value);

/// A whole number from 0 on.
std::optional<std::uint64_t> count_of(const Value& value);

/// A value for each of the things.
template <class Things, class ValueOf>
Array array_of(const Things& things, ValueOf value_of) {
  Array list;
  for (const auto& one : things) list.emplace_back(value_of(one));
  return list;
}

/// The value as JSON on one line.
std::string json_text(const Value& value);

/// One JSON document as a tree. Throws Error(corrupt_data) that begins with `what` and says where,
/// for text that is not JSON, more than 64 levels deep, or has a name twice in an object. Empty
/// `hint`: give a document of a run.
Value parse_json(std::string_view text, const std::string& what, const std::string& hint = {});

}  // namespace hiptool::report
