// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "model/gguf.hpp"
#include "model/model_kind.hpp"
#include "model/parts.hpp"
#include "report/fields.hpp"
#include "report/text.hpp"
#include "results/model/facts.hpp"
#include "results/model/needs.hpp"
#include "results/model/summary.hpp"

namespace hiptool::results {
namespace {

using report::Unit;
using report::Value;

constexpr std::size_t most_shown_columns = 160;  // of one text from a file

// One number for all layers, or its range; nothing for 0, such as KV heads of an encoder.
std::string count_range_text(const std::vector<std::uint64_t>& counts) {
  if (counts.empty()) return {};
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*most == 0) return {};
  if (*least == *most) return format_count(*least);
  return format_count(*least) + " to " + format_count(*most) + " by layer";
}

std::string count_text(const std::optional<std::uint64_t>& count) {
  return count ? format_count(*count) : std::string();
}

/// Keys and their values; parts without a value and keys without parts are left out.
class FactRows {
 public:
  explicit FactRows(bool unicode) : unicode_(unicode) {}

  /// A text from the file, safe to print and cut.
  std::string shown(const std::string& text, std::size_t columns = most_shown_columns) const {
    return cut_to_width(report::printable(text), columns, unicode_);
  }
  FactRows& row(std::string_view key) {
    end_row();
    key_ = key;
    return *this;
  }
  FactRows& add(std::string_view label, const std::string& value) {
    if (value.empty()) return *this;
    parts_.push_back(label.empty() ? value : fmt::format("{} {}", label, value));
    return *this;
  }
  report::Table take() {
    end_row();
    return std::move(table_);
  }

 private:
  void end_row() {
    if (!parts_.empty()) table_.rows.push_back({key_, fmt::format("{}", fmt::join(parts_, ", "))});
    parts_.clear();
  }

  bool unicode_;
  std::string key_;
  std::vector<std::string> parts_;
  report::Table table_{"", {{"key", ""}, {"value", ""}}, {}};
};

// Of a GGUF file; safetensors with bytes there are refused.
std::uint64_t bytes_after_tensors(const ModelFile& model) {
  if (model.format() != ModelFormat::gguf) return 0;
  std::vector<std::uint64_t> ends(model.files().size());
  for (const TensorInfo& tensor : model.tensors()) {
    ends[tensor.file] = std::max(ends[tensor.file], tensor.file_offset + tensor.size_bytes);
  }
  const std::uint64_t alignment = model.unsigned_integer("general.alignment").value_or(32);
  std::uint64_t bytes = 0;
  for (std::size_t file = 0; file < ends.size(); ++file) {
    if (ends[file] == 0) continue;  // of metadata alone
    bytes += model::bytes_after_gguf(model.files()[file].size_bytes, ends[file], alignment);
  }
  return bytes;
}

void add_format(const ModelFacts& facts, FactRows& rows) {
  const ModelFile& model = facts.model;
  rows.row("format");
  rows.add("", model.format() == ModelFormat::gguf ? fmt::format("GGUF v{}", model.format_version())
                                                   : "safetensors");
  rows.add("", base::count_of(model.files().size(), "file"));
  if (model.tensors().empty()) {
    rows.add("", "no tensors");
    return;
  }
  rows.add("", fmt::format("{} ({})", base::count_of(model.tensors().size(), "tensor"),
                           format_size(model.tensor_bytes())));
  const std::uint64_t after = bytes_after_tensors(model);
  rows.add("", fmt::format("header ({})",
                           format_size(model.file_bytes() - model.tensor_bytes() - after)));
  if (after > 0) rows.add("", fmt::format("{} after the last tensor", format_size(after)));
}

void add_shape(const ModelSummary& summary, FactRows& rows) {
  rows.row("layers").add("", count_text(summary.layers));
  rows.add("embedding", count_text(summary.embedding_length));
  rows.add("feed-forward", count_range_text(summary.feed_forward_length));
  rows.add("vocabulary", count_text(summary.vocabulary_size));
  rows.row("attention").add("heads", count_range_text(summary.heads));
  rows.add("KV heads", count_range_text(summary.kv_heads));
  rows.add("keys", count_text(summary.key_length));
  rows.add("values", count_text(summary.value_length));
  rows.add("sliding window", count_text(summary.sliding_window));
  if (summary.experts.value_or(0) > 0) {
    rows.row("experts").add("", count_text(summary.experts));
    rows.add("", summary.experts_used ? format_count(*summary.experts_used) + " for each token"
                                      : std::string());
  }
  rows.row("context");
  if (summary.context_length) rows.add("", base::count_of(*summary.context_length, "token"));
}

void add_tokenizer(const ModelFacts& facts, FactRows& rows) {
  const model::TokenizerInfo& tokenizer = facts.tokenizer;
  rows.row("tokenizer").add("", rows.shown(tokenizer.model.value_or("")));
  rows.add("", rows.shown(tokenizer.pre.value_or("")));
  if (tokenizer.tokens) rows.add("", base::count_of(*tokenizer.tokens, "token"));
  if (tokenizer.merges) rows.add("", base::count_of(*tokenizer.merges, "merge"));
  rows.row("special");
  for (const model::SpecialToken& token : tokenizer.special) {
    std::string text = std::to_string(token.id);
    if (token.text) text += " " + rows.shown(*token.text);
    rows.add(rows.shown(token.role), text);
  }
  for (const model::ChatTemplate& chat : tokenizer.templates) {
    const std::string name = chat.name.empty() ? "template" : "template " + rows.shown(chat.name);
    const auto breaks = std::count(chat.text.begin(), chat.text.end(), '\n');
    const std::string first = chat.text.substr(0, chat.text.find('\n'));
    constexpr std::size_t most_template_columns = 40;
    rows.row(name).add("",
                       fmt::format("{} ({}, {})", rows.shown(first, most_template_columns),
                                   base::count_of(static_cast<std::uint64_t>(breaks) + 1, "line"),
                                   format_size(chat.text.size())));
  }
}

void add_provability(const ModelFacts& facts, FactRows& rows) {
  if (!facts.provability) return;
  rows.row("prove");
  if (facts.provability->needs) {
    rows.add("", needs_text(*facts.provability->needs));
  } else {
    rows.add("not possible:", rows.shown(facts.provability->refusal));
  }
}

void add_hash(const ModelFacts& facts, FactRows& rows) {
  if (facts.hashes.size() != 1 || !facts.hashes.front()) return;
  rows.row("sha256").add("", facts.hashes.front()->sha256);
  rows.row("").add("", "published by " + facts.hashes.front()->source +
                           "; `hiptool load --verify published` compares it with the file");
}

// "0-3, 6, 9"; of many ranges the first ones and the last layer.
std::string layer_ranges(const std::vector<std::uint64_t>& layers) {
  constexpr std::size_t most_ranges = 4;
  std::vector<std::string> ranges;
  for (std::size_t first = 0; first < layers.size();) {
    std::size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(first == last ? fmt::format("{}", layers[first])
                                   : fmt::format("{}-{}", layers[first], layers[last]));
    first = last + 1;
  }
  if (ranges.size() <= most_ranges) return fmt::format("{}", fmt::join(ranges, ", "));
  ranges.resize(most_ranges - 1);
  return fmt::format("{}, ... {}", fmt::join(ranges, ", "), layers.back());
}

report::Fields<model::LayerGroup> layer_fields(const ModelFacts& facts) {
  using model::LayerGroup;
  using One = const LayerGroup&;
  const auto name = [](One one) {
    return one.layers.empty() ? one.name : one.name + "." + layer_ranges(one.layers);
  };
  const auto count = [](One one) {
    return one.layers.empty() ? Value() : Value(one.layers.size());
  };
  const auto bytes_each = [](One one) {
    return one.layers.empty() ? Value() : Value(one.size_bytes / one.layers.size());
  };
  const auto share = [whole = static_cast<double>(facts.model.tensor_bytes())](One one) {
    return whole == 0 ? Value() : Value(static_cast<double>(one.size_bytes) / whole);
  };
  return {{{"name", "Part"}, &LayerGroup::name, name},
          {{"layers", "Layers", Unit::count},
           [](One one) { return report::Array(one.layers.begin(), one.layers.end()); },
           count},
          {{"tensors"}, &LayerGroup::tensors},
          {{"parameters", "Parameters", Unit::count},
           &LayerGroup::parameters,
           [](One one) { return short_count(one.parameters); }},
          {{"bytes_each", "Per layer", Unit::size}, bytes_each},
          {{"bytes", "Size", Unit::size}, &LayerGroup::size_bytes},
          {{"share", "Share", Unit::share}, share}};
}

}  // namespace

report::Table facts_table(const ModelFacts& facts, bool unicode) {
  FactRows rows(unicode);
  rows.row("name").add("", rows.shown(facts.summary.name.value_or("")));
  rows.row("use").add("", rows.shown(model::goes_with(facts.model)));
  add_format(facts, rows);
  add_shape(facts.summary, rows);
  add_tokenizer(facts, rows);
  rows.row("licence").add("", rows.shown(facts.license.value_or("")));
  const auto& tensors = facts.model.tensors();
  const bool has_quantised =
      std::any_of(tensors.begin(), tensors.end(),
                  [](const TensorInfo& tensor) { return tensor.type.block_elements() > 1; });
  if (facts.quantization_version && has_quantised) {
    rows.row("quantised").add("version", std::to_string(*facts.quantization_version));
  }
  add_provability(facts, rows);
  add_hash(facts, rows);
  return rows.take();
}

report::Table inspected_types_table(const ModelFacts& facts) {
  report::Table table = types_table(facts.summary);
  table.columns.push_back({"bits_per_weight", "Bits/weight", Unit::count});
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::uint64_t weights = 0;
    std::uint64_t size_bytes = 0;
    for (const TensorInfo& tensor : facts.model.tensors()) {
      if (tensor.weights == 0 || tensor.type.name() != facts.summary.types[row].type) continue;
      weights += tensor.weights;
      size_bytes += tensor.size_bytes;
    }
    const double bits = static_cast<double>(size_bytes) * 8;
    table.rows[row].push_back(
        weights == 0 ? Value() : Value(fmt::format("{:.2f}", bits / static_cast<double>(weights))));
  }
  return table;
}

report::Array layers_value(const ModelFacts& facts) {
  return layer_fields(facts).without({"bytes_each", "share"}).objects(facts.layers);
}

report::Table layers_table(const ModelFacts& facts) {
  return layer_fields(facts).without({"tensors"}).table("", facts.layers);
}

report::Table files_table(const ModelFacts& facts) {
  report::Table table{"Files",
                      {{"file", "File", Unit::none},
                       {"bytes", "Size", Unit::size},
                       {"tensors", "Tensors", Unit::count},
                       {.key = "sha256", .title = "SHA-256", .may_be_cut = true}},
                      {}};
  const auto files = facts.model.files();
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto tensors =
        std::count_if(facts.model.tensors().begin(), facts.model.tensors().end(),
                      [file](const TensorInfo& tensor) { return tensor.file == file; });
    const auto& hash = facts.hashes[file];
    table.rows.push_back({model::name_in_model(facts.model, files[file]), files[file].size_bytes,
                          static_cast<std::uint64_t>(tensors),
                          hash ? Value(hash->sha256) : Value()});
  }
  return table;
}

report::Table models_table(const std::vector<ModelFacts>& models) {
  report::Table table{"",
                      {{"model", "Model", Unit::none},
                       {"architecture", "Arch", Unit::none},
                       {"parameters", "Weights", Unit::count},
                       {"type", "Type", Unit::none},
                       {"bits_per_weight", "Bits", Unit::count},
                       {"context_length", "Context", Unit::count},
                       {"file_bytes", "Size", Unit::size}},
                      {}};
  for (const ModelFacts& facts : models) {
    const auto bits = bits_per_weight(facts.model);
    const std::uint64_t parameters = facts.model.parameters();
    std::string architecture = facts.summary.architecture.value_or("");
    if (facts.model.kind() != ModelKind::model) {
      if (!architecture.empty()) architecture += ' ';
      architecture += to_string(facts.model.kind());
    }
    table.rows.push_back({facts.name, report::text_or_absent(architecture),
                          parameters == 0 ? Value() : Value(short_count(parameters)),
                          report::text_or_absent(type_text(facts)),
                          bits ? Value(fmt::format("{:.2f}", *bits)) : Value(),
                          facts.summary.context_length, facts.model.file_bytes()});
  }
  return table;
}

}  // namespace hiptool::results
