// SPDX-License-Identifier: MIT
/// What is written of each of many things, declared once for all formats.
#pragma once
#include <algorithm>
#include <cassert>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "report/document.hpp"

namespace hiptool::report {

template <class T>
struct Field {
  using Get = std::function<Value(const T&)>;
  Field(Column its_column, Get get, Get get_shown = nullptr)
      : column(std::move(its_column)), value(std::move(get)), shown(std::move(get_shown)) {}

  Column column;  ///< without a title where no table for people has it
  Get value;
  Get shown;  ///< for people; null: the same value
};

/// A member that may be empty, as the value of a field.
template <class T>
std::function<Value(const T&)> text_or_absent(std::string T::*text) {
  return [text](const T& one) { return text_or_absent(one.*text); };
}

template <class T>
class Fields {
 public:
  Fields(std::initializer_list<Field<T>> fields) : fields_(fields) {}

  /// These, in this order. Precondition: there are fields of these keys.
  Fields only(const std::vector<std::string_view>& keys) const {
    Fields chosen = *this;
    chosen.fields_.clear();
    for (const std::string_view key : keys) {
      const auto found = std::find_if(fields_.begin(), fields_.end(),
                                      [key](const Field<T>& one) { return one.column.key == key; });
      assert(found != fields_.end());
      chosen.fields_.push_back(*found);
    }
    return chosen;
  }

  /// All but the fields of these keys.
  Fields without(const std::vector<std::string_view>& keys) const {
    Fields rest = *this;
    std::erase_if(rest.fields_,
                  [&keys](const Field<T>& one) { return base::contains(keys, one.column.key); });
    return rest;
  }

  /// An object for each thing.
  template <class Things>
  Array objects(const Things& things) const {
    return objects_of(rows(things));
  }

  /// A row for each thing, for programs: the titles are the keys.
  template <class Things>
  Table rows(const Things& things) const {
    Table table = rows_of(things, false);
    for (Column& column : table.columns) column = {column.key, column.key};
    return table;
  }

  /// A row for each thing, for people.
  template <class Things>
  Table table(std::string title, const Things& things) const {
    Table table = rows_of(things, true);
    table.title = std::move(title);
    return table;
  }

 private:
  template <class Things>
  Table rows_of(const Things& things, bool for_people) const {
    Table table;
    for (const Field<T>& field : fields_) table.columns.push_back(field.column);
    for (const T& one : things) {
      auto& row = table.rows.emplace_back();
      row.reserve(fields_.size());
      for (const Field<T>& field : fields_) {
        const bool is_shown = for_people && field.shown;
        row.push_back(is_shown ? field.shown(one) : field.value(one));
      }
    }
    return table;
  }

  std::vector<Field<T>> fields_;
};

}  // namespace hiptool::report
