// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/inspect/facts.hpp"
#include "cli/commands/load/report.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

using report::Unit;
using report::Value;

constexpr std::size_t key_columns = 12;
constexpr std::size_t most_shown_columns = 160;  // of one text from a file

// One number for all layers, or its range.
std::string count_range_text(const std::vector<std::uint64_t>& counts) {
  if (counts.empty()) return {};
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*least == *most) return format_count(*least);
  return format_count(*least) + " to " + format_count(*most) + " by layer";
}

std::string count_text(const std::optional<std::uint64_t>& count) {
  return count ? format_count(*count) : std::string();
}

/// Lines "KEY         part, part"; parts without a value and lines without parts are left out.
class FactLines {
 public:
  FactLines& line(std::string_view key) {
    end_line();
    key_ = key;
    return *this;
  }
  FactLines& add(std::string_view label, const std::string& value) {
    if (value.empty()) return *this;
    parts_.push_back(label.empty() ? value : fmt::format("{} {}", label, value));
    return *this;
  }
  std::vector<report::Line> take() {
    end_line();
    return std::move(lines_);
  }

 private:
  void end_line() {
    if (!parts_.empty()) {
      lines_.push_back({report::Tone::plain,
                        fmt::format("{:<{}}{}", key_, key_columns, fmt::join(parts_, ", "))});
    }
    parts_.clear();
  }

  std::string key_;
  std::vector<std::string> parts_;
  std::vector<report::Line> lines_;
};

std::string shown_text(const std::string& text) {
  return cut_to_width(report::printable(text), most_shown_columns, true);
}

void add_format(const ModelFacts& facts, FactLines& lines) {
  const ModelFile& model = facts.model;
  lines.line("format");
  lines.add("", model.format() == ModelFormat::gguf
                    ? fmt::format("GGUF v{}", model.format_version())
                    : "safetensors");
  lines.add("", base::count_of(model.files().size(), "file"));
  lines.add("", base::count_of(model.tensors().size(), "tensor") + " of " +
                    format_size(model.tensor_bytes()));
  const std::uint64_t rest = model.file_bytes() - model.tensor_bytes();
  lines.add("", format_size(rest) + " of headers and padding");
}

void add_shape(const ModelSummary& summary, FactLines& lines) {
  lines.line("layers").add("", count_text(summary.layers));
  lines.add("embedding", count_text(summary.embedding_length));
  lines.add("feed-forward", count_range_text(summary.feed_forward_length));
  lines.add("vocabulary", count_text(summary.vocabulary_size));
  lines.line("attention").add("heads", count_range_text(summary.heads));
  lines.add("KV heads", count_range_text(summary.kv_heads));
  lines.add("keys", count_text(summary.key_length));
  lines.add("values", count_text(summary.value_length));
  lines.add("sliding window", count_text(summary.sliding_window));
  if (summary.experts.value_or(0) > 0) {
    lines.line("experts").add("", count_text(summary.experts));
    lines.add("", summary.experts_used ? format_count(*summary.experts_used) + " for each token"
                                       : std::string());
  }
  lines.line("context");
  if (summary.context_length) lines.add("", format_count(*summary.context_length) + " tokens");
}

void add_tokenizer(const ModelFacts& facts, FactLines& lines) {
  const model::TokenizerInfo& tokenizer = facts.tokenizer;
  lines.line("tokenizer").add("", shown_text(tokenizer.model.value_or("")));
  lines.add("", shown_text(tokenizer.pre.value_or("")));
  if (tokenizer.tokens) lines.add("", base::count_of(*tokenizer.tokens, "token"));
  if (tokenizer.merges) lines.add("", base::count_of(*tokenizer.merges, "merge"));
  lines.line("special");
  for (const model::SpecialToken& token : tokenizer.special) {
    std::string text = std::to_string(token.id);
    if (token.text) text += " " + shown_text(*token.text);
    lines.add(shown_text(token.role), text);
  }
  for (const model::ChatTemplate& chat : tokenizer.templates) {
    const std::string name = chat.name.empty() ? "template" : "template " + shown_text(chat.name);
    const auto breaks = std::count(chat.text.begin(), chat.text.end(), '\n');
    const std::string first = chat.text.substr(0, chat.text.find('\n'));
    constexpr std::size_t most_template_columns = 40;
    lines.line(name).add(
        "", fmt::format("{} ({}, {})",
                        cut_to_width(report::printable(first), most_template_columns, true),
                        base::count_of(static_cast<std::uint64_t>(breaks) + 1, "line"),
                        format_size(chat.text.size())));
  }
}

void add_hash(const ModelFacts& facts, FactLines& lines) {
  if (facts.hashes.size() != 1 || !facts.hashes.front()) return;
  lines.line("sha256").add("", facts.hashes.front()->sha256);
  lines.line("").add("", "by " + facts.hashes.front()->source + ", not compared with the file");
}

// "0–3, 6, 9"; at most so many ranges.
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

Value share_value(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<report::Line> fact_lines(const ModelFacts& facts) {
  FactLines lines;
  lines.line("name").add("", shown_text(facts.summary.name.value_or("")));
  add_format(facts, lines);
  add_shape(facts.summary, lines);
  add_tokenizer(facts, lines);
  lines.line("licence").add("", shown_text(facts.license.value_or("")));
  if (facts.quantization_version) {
    lines.line("quantised").add("version", std::to_string(*facts.quantization_version));
  }
  add_hash(facts, lines);
  return lines.take();
}

report::Table inspected_types_table(const ModelFacts& facts) {
  report::Table table = types_table(facts.summary);
  table.columns.push_back({"bits_per_weight", "Bits per weight", Unit::none});
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::uint64_t elements = 0;
    for (const TensorInfo& tensor : facts.model.tensors()) {
      if (tensor.type.name() == facts.summary.types[row].type) elements += tensor.elements;
    }
    const double bits = static_cast<double>(facts.summary.types[row].size_bytes) * 8;
    table.rows[row].push_back(elements == 0 ? Value()
                                            : Value(bits / static_cast<double>(elements)));
  }
  return table;
}

report::Table layers_table(const ModelFacts& facts) {
  report::Table table{"",
                      {{"name", "Tensors of", Unit::none},
                       {"layers", "Layers", Unit::count},
                       {"numbers", "Numbers", Unit::none},
                       {"parameters", "Parameters", Unit::count},
                       {"bytes_each", "Each", Unit::size},
                       {"bytes", "Size", Unit::size},
                       {"share", "Share", Unit::share}},
                      {}};
  for (const model::LayerGroup& group : facts.layers) {
    const bool is_layer = !group.layers.empty();
    table.rows.push_back(
        {group.name, is_layer ? Value(group.layers.size()) : Value(),
         is_layer ? Value(layer_ranges(group.layers)) : Value(), short_count(group.parameters),
         is_layer ? Value(group.size_bytes / group.layers.size()) : Value(), group.size_bytes,
         share_value(group.size_bytes, facts.model.tensor_bytes())});
  }
  return table;
}

report::Table files_table(const ModelFacts& facts) {
  constexpr std::size_t shown_digits = 16;
  report::Table table{"Files",
                      {{"file", "File", Unit::none},
                       {"bytes", "Size", Unit::size},
                       {"tensors", "Tensors", Unit::count},
                       {"sha256", "SHA-256", Unit::none}},
                      {}};
  const auto files = facts.model.files();
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto tensors =
        std::count_if(facts.model.tensors().begin(), facts.model.tensors().end(),
                      [file](const TensorInfo& tensor) { return tensor.file == file; });
    const auto& hash = facts.hashes[file];
    table.rows.push_back({files[file].path.filename().string(), files[file].size_bytes,
                          static_cast<std::uint64_t>(tensors),
                          hash ? Value(hash->sha256.substr(0, shown_digits) + "...") : Value()});
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
    table.rows.push_back({facts.name, facts.summary.architecture,
                          short_count(facts.model.parameters()),
                          report::text_or_absent(type_text(facts)),
                          bits ? Value(fmt::format("{:.2f}", *bits)) : Value(),
                          facts.summary.context_length, facts.model.file_bytes()});
  }
  return table;
}

}  // namespace hiptool::cli
