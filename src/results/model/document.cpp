// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "load/manifest/manifest.hpp"
#include "model/model_kind.hpp"
#include "report/document.hpp"
#include "report/fields.hpp"
#include "results/model/facts.hpp"
#include "results/model/needs.hpp"
#include "results/model/summary.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Value;

Value tokenizer_value(const model::TokenizerInfo& tokenizer) {
  const auto token_value = [](const model::SpecialToken& token) {
    return Object{{"role", token.role}, {"id", token.id}, {"text", token.text}};
  };
  return Object{{"model", tokenizer.model},
                {"pre", tokenizer.pre},
                {"tokens", tokenizer.tokens},
                {"merges", tokenizer.merges},
                {"special", report::array_of(tokenizer.special, token_value)}};
}

Array templates_value(const model::TokenizerInfo& tokenizer) {
  return report::array_of(tokenizer.templates, [](const model::ChatTemplate& chat) {
    return Object{{"name", report::text_or_absent(chat.name)}, {"text", chat.text}};
  });
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

Value provability_value(const ModelFacts& facts) {
  if (!facts.provability) return {};
  const auto& needs = facts.provability->needs;
  return Object{{"is_possible", needs.has_value()},
                {"refusal", report::text_or_absent(facts.provability->refusal)},
                {"needs", needs ? needs_value(*needs) : Value()}};
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

report::Fields<TensorInfo> tensor_fields(const ModelFacts& facts) {
  using One = const TensorInfo&;
  const auto file = [files = facts.model.files()](One one) {
    return files[one.file].path.string();
  };
  return {{{"model"}, [&facts](One) { return facts.path; }},
          {{"name", "Name"}, &TensorInfo::name},
          {{"dtype", "Type"}, [](One one) { return one.type.name(); }},
          {{"shape", "Shape"},
           [](One one) { return Array(one.shape.begin(), one.shape.end()); },
           [](One one) { return load::shape_text(one.shape); }},
          {{"elements"}, &TensorInfo::elements},
          {{"bytes", "Size", report::Unit::size}, &TensorInfo::size_bytes},
          {{"file"}, file},
          {{"file_offset"}, &TensorInfo::file_offset}};
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
  fields.emplace_back("prove", provability_value(facts));
  fields.emplace_back("warnings", warnings_value(facts));
  if (lists.metadata || !lists.key.empty()) {
    Array metadata = report::objects_of(full_metadata_table(facts, lists.key));
    // The document has the model's path already.
    for (Value& one : metadata) one.object()->erase(one.object()->begin());
    fields.emplace_back("metadata", std::move(metadata));
  }
  if (lists.tensors) {
    fields.emplace_back("tensor_list",
                        tensor_fields(facts).without({"model"}).objects(facts.model.tensors()));
  }
  return fields;
}

report::Table tensors_table(const ModelFacts& facts) {
  return tensor_fields(facts)
      .only({"name", "dtype", "shape", "bytes"})
      .table("Tensors", facts.model.tensors());
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
    if (lists.tensors) append(tensors, tensor_fields(facts).rows(facts.model.tensors()));
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
