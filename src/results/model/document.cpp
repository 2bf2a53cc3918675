// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/model_kind.hpp"
#include "report/document.hpp"
#include "results/model/facts.hpp"
#include "results/model/summary.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Value;

Value tokenizer_value(const model::TokenizerInfo& tokenizer) {
  Array special;
  for (const model::SpecialToken& token : tokenizer.special) {
    special.push_back(Object{{"role", token.role}, {"id", token.id}, {"text", token.text}});
  }
  return Object{{"model", tokenizer.model},
                {"pre", tokenizer.pre},
                {"tokens", tokenizer.tokens},
                {"merges", tokenizer.merges},
                {"special", std::move(special)}};
}

Array templates_value(const model::TokenizerInfo& tokenizer) {
  Array templates;
  for (const model::ChatTemplate& chat : tokenizer.templates) {
    templates.push_back(Object{{"name", report::text_or_absent(chat.name)}, {"text", chat.text}});
  }
  return templates;
}

Array parts_value(const ModelFacts& facts) {
  Array parts;
  const auto files = facts.model.files();
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto& hash = facts.hashes[file];
    parts.push_back(Object{{"path", files[file].path.string()},
                           {"bytes", files[file].size_bytes},
                           {"sha256", hash ? Value(hash->sha256) : Value()},
                           {"sha256_source", hash ? Value(hash->source) : Value()}});
  }
  return parts;
}

Array layers_value(const ModelFacts& facts) {
  Array groups;
  for (const model::LayerGroup& group : facts.layers) {
    groups.push_back(Object{{"name", group.name},
                            {"layers", Array(group.layers.begin(), group.layers.end())},
                            {"tensors", group.tensors},
                            {"parameters", group.parameters},
                            {"bytes", group.size_bytes}});
  }
  return groups;
}

report::Table full_inspected_tensors_table(const ModelFacts& facts) {
  report::Table table = report::table_of_keys(
      {"model", "name", "dtype", "shape", "elements", "bytes", "file", "file_offset"});
  for (const TensorInfo& tensor : facts.model.tensors()) {
    table.rows.push_back({facts.path, tensor.name, tensor.type.name(),
                          Array(tensor.shape.begin(), tensor.shape.end()), tensor.elements,
                          tensor.size_bytes, facts.model.files()[tensor.file].path.string(),
                          tensor.file_offset});
  }
  return table;
}

// The rows of a table as objects, without the model's path, which the document has already.
Array without_model(report::Table table) {
  Array objects = report::objects_of(std::move(table));
  for (Value& value : objects) value.object()->erase(value.object()->begin());
  return objects;
}

Array warnings_value(const ModelFacts& facts) {
  Array warnings(facts.model.warnings().begin(), facts.model.warnings().end());
  for (const auto* list : {&facts.summary.warnings, &facts.tokenizer.warnings}) {
    warnings.insert(warnings.end(), list->begin(), list->end());
  }
  return warnings;
}

// Every field that is one value, for a row of CSV.
Object flat_fields(const ModelFacts& facts) {
  const ModelFile& model = facts.model;
  Object fields{{"path", facts.path},
                {"format", to_string(model.format())},
                {"format_version", model.format_version()},
                {"kind", to_string(model.kind())},
                {"goes_with", report::text_or_absent(model::goes_with(model))},
                {"files", static_cast<std::uint64_t>(model.files().size())},
                {"tensors", static_cast<std::uint64_t>(model.tensors().size())},
                {"bytes", model.tensor_bytes()},
                {"parameters", model.parameters()},
                {"bits_per_weight", bits_per_weight(model)},
                {"architecture", facts.summary.architecture},
                {"file_bytes", model.file_bytes()},
                {"license", facts.license},
                {"quantization_version", facts.quantization_version}};
  add_summary_fields(fields, facts.summary);
  return fields;
}

report::Table one_row(Object fields) {
  report::Table table;
  auto& row = table.rows.emplace_back();
  for (auto& [key, value] : fields) {
    table.columns.push_back({key, key});
    row.push_back(std::move(value));
  }
  return table;
}

}  // namespace

Value model_document(const ModelFacts& facts, const InspectionLists& lists) {
  Object fields = flat_fields(facts);
  fields.emplace_back("tokenizer", tokenizer_value(facts.tokenizer));
  fields.emplace_back("chat_templates", templates_value(facts.tokenizer));
  fields.emplace_back("layer_groups", layers_value(facts));
  fields.emplace_back("parts", parts_value(facts));
  fields.emplace_back("warnings", warnings_value(facts));
  if (lists.metadata || !lists.key.empty()) {
    fields.emplace_back("metadata", without_model(full_metadata_table(facts, lists.key)));
  }
  if (lists.tensors) {
    fields.emplace_back("tensor_list", without_model(full_inspected_tensors_table(facts)));
  }
  return fields;
}

Value refusal_document(const ModelRefusal& refusal) {
  return Object{{"path", refusal.path}, {"error", report::error_value(refusal.error)}};
}

std::vector<report::Table> inspection_csv(const Inspection& inspection,
                                          const InspectionLists& lists) {
  report::Table models;
  report::Table metadata;
  report::Table tensors;
  const bool wants_metadata = lists.metadata || !lists.key.empty();
  const auto append = [](report::Table& all, report::Table more) {
    all.columns = more.columns;
    for (auto& row : more.rows) all.rows.push_back(std::move(row));
  };
  for (const ModelFacts& facts : inspection.models) {
    append(models, one_row(flat_fields(facts)));
    if (wants_metadata) append(metadata, full_metadata_table(facts, lists.key));
    if (lists.tensors) append(tensors, full_inspected_tensors_table(facts));
  }
  if (!inspection.refusals.empty()) {
    if (models.columns.empty()) models.columns.push_back({"path", "path"});
    models.columns.push_back({"error", "error"});
  }
  for (const ModelRefusal& refusal : inspection.refusals) {
    auto& row = models.rows.emplace_back(models.columns.size());
    row.front() = refusal.path;
    row.back() = refusal.error.what();
  }
  metadata.title = "metadata";
  tensors.title = "tensors";
  std::vector<report::Table> tables;
  if (wants_metadata) tables.push_back(std::move(metadata));
  if (lists.tensors) tables.push_back(std::move(tensors));
  if (tables.empty() || !inspection.refusals.empty()) {
    models.title = "models";
    tables.push_back(std::move(models));
  }
  return tables;
}

}  // namespace hiptool::results
