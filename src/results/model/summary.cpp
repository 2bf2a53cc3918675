// SPDX-License-Identifier: MIT
#include "results/model/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/fields.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Unit;
using report::Value;

constexpr std::size_t longest_model_name = 200;

bool is_same_everywhere(const std::vector<std::uint64_t>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

// A number for all layers, or an array with one for each.
Value per_layer(const std::vector<std::uint64_t>& counts) {
  if (counts.empty()) return {};
  if (is_same_everywhere(counts)) return counts.front();
  return Array(counts.begin(), counts.end());
}

report::Fields<TypeShare> type_fields(const ModelSummary& summary) {
  double whole = 0;
  for (const TypeShare& one : summary.types) whole += static_cast<double>(one.size_bytes);
  const auto share = [whole](const TypeShare& one) {
    return whole == 0 ? Value() : Value(static_cast<double>(one.size_bytes) / whole);
  };
  return {{{"type"}, &TypeShare::type},
          {{"dtype", "Type"}, &TypeShare::type},
          {{"tensors", "Tensors", Unit::count}, &TypeShare::tensors},
          {{"bytes", "Size", Unit::size}, &TypeShare::size_bytes},
          {{"share", "Share", Unit::share}, share}};
}

/// The parts of one line; those without a number are left out.
class Words {
 public:
  void add(std::string_view label, const std::optional<std::uint64_t>& count) {
    if (count) add(label, format_count(*count));
  }
  void add(std::string_view label, const std::vector<std::uint64_t>& counts) {
    // An encoder has no KV heads at all.
    if (std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; })) return;
    if (is_same_everywhere(counts)) return add(label, format_count(counts.front()));
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    add(label, fmt::format("{} to {} by layer", format_count(*least), format_count(*most)));
  }
  void add(std::string_view label, const std::string& text) {
    words_.push_back(label.empty() ? text : fmt::format("{} {}", label, text));
  }
  /// "KEY     first, second"; nothing without parts.
  void write_to(std::vector<report::Line>& lines, std::string_view key) const {
    if (words_.empty()) return;
    lines.push_back({report::Tone::plain, fmt::format("{:<8}{}", key, fmt::join(words_, ", "))});
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::string short_count(std::uint64_t count) {
  const auto number = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} B", number * 1e-9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", number * 1e-6);
  return format_count(count);
}

void add_summary_fields(Object& model, const ModelSummary& summary) {
  const auto add = [&](const char* name, Value value) {
    model.emplace_back(name, std::move(value));
  };
  add("name", summary.name);
  add("file_type", summary.file_type);
  add("quantization",
      type_fields(summary).only({"type", "tensors", "bytes"}).objects(summary.types));
  add("context_length", summary.context_length);
  add("layers", summary.layers);
  add("embedding_length", summary.embedding_length);
  add("feed_forward_length", per_layer(summary.feed_forward_length));
  add("heads", per_layer(summary.heads));
  add("kv_heads", per_layer(summary.kv_heads));
  add("key_length", summary.key_length);
  add("value_length", summary.value_length);
  add("sliding_window", summary.sliding_window);
  add("experts", summary.experts);
  add("experts_used", summary.experts_used);
  add("vocabulary_size", summary.vocabulary_size);
}

std::vector<report::Line> summary_lines(const ModelSummary& summary) {
  std::vector<report::Line> lines;
  Words name;
  if (summary.name) name.add("", summary.name->substr(0, longest_model_name));
  if (summary.file_type) name.add("of type", *summary.file_type);
  name.write_to(lines, "name");
  Words layers;
  if (summary.layers) layers.add("", format_count(*summary.layers));
  layers.add("embedding", summary.embedding_length);
  layers.add("feed-forward", summary.feed_forward_length);
  layers.add("heads", summary.heads);
  layers.add("KV heads", summary.kv_heads);
  layers.add("keys", summary.key_length);
  layers.add("values", summary.value_length);
  layers.write_to(lines, "layers");
  Words experts;
  if (summary.experts && *summary.experts > 0) {
    experts.add("", format_count(*summary.experts));
    if (summary.experts_used) {
      experts.add("", format_count(*summary.experts_used) + " for each token");
    }
  }
  experts.write_to(lines, "experts");
  Words context;
  if (summary.context_length) context.add("", base::count_of(*summary.context_length, "token"));
  context.add("sliding window", summary.sliding_window);
  context.add("vocabulary", summary.vocabulary_size);
  context.write_to(lines, "context");
  return lines;
}

report::Table types_table(const ModelSummary& summary) {
  return type_fields(summary).without({"type"}).table("", summary.types);
}

}  // namespace hiptool::results
