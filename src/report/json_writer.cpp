// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <type_traits>

#include "report/shown.hpp"

namespace hiptool::report {
namespace {

using Json = nlohmann::ordered_json;

Json to_tree(const Value& value);

Json to_tree(const Array& values) {
  Json tree = Json::array();
  for (const Value& value : values) tree.push_back(to_tree(value));
  return tree;
}

Json to_tree(const Object& members) {
  Json tree = Json::object();
  // Not tree[key], which looks through all that are there; a document names none twice.
  auto& list = tree.get_ref<Json::object_t&>();
  for (const auto& [key, value] : members) list.emplace_back(key, to_tree(value));
  return tree;
}

Json to_tree(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using Type = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Type, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<Type, Array> || std::is_same_v<Type, Object>)
          return to_tree(data);
        else
          return data;
      },
      value.data());
}

// Names of files and tensors come from outside and may be no UTF-8, which JSON cannot carry
// (RFC 8259 8.1): U+FFFD takes the place of what is not. NaN and infinity are written as null.
std::string dump(const Json& tree, int indent) {
  return tree.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Report& report) {
  Json tree = to_tree(report.document);
  const bool is_of_this_run = !report.run.command.empty() && !report.is_read;
  if (is_of_this_run) tree["shown"] = to_tree(Value(shown_value(report)));
  return dump(tree, 2) + "\n";
}

std::string json_text(const Value& value) { return dump(to_tree(value), -1); }

}  // namespace hiptool::report
