// SPDX-License-Identifier: MIT
/// What `inspect` knows of a model, and the parts of its report.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"
#include "model/layer_sizes.hpp"
#include "model/published_hash.hpp"
#include "model/tokenizer_info.hpp"
#include "reference/prove/needs.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// What a report has besides what the models are.
struct InspectionLists {
  std::string key;  ///< print only this metadata value; empty: none
  bool metadata = false;
  bool tensors = false;
};

struct ModelFacts {
  std::string path;  ///< as it was given
  std::string name;  ///< for people: a file's name, "org/name", "llama3.2:1b"
  ModelFile model;
  ModelSummary summary;
  model::TokenizerInfo tokenizer;
  std::optional<std::string> license;
  std::optional<std::uint64_t> quantization_version;  ///< GGUF
  std::vector<model::LayerGroup> layers;
  /// By index of ModelFile::files().
  std::vector<std::optional<model::FileHash>> hashes;
  /// Absent for a file that is not a model by itself, and without tensors.
  std::optional<reference::Provability> provability = {};
};

/// A path that could not be read.
struct ModelRefusal {
  std::string path;
  Error error;
};

/// The models of a run, in the order of the paths.
struct Inspection {
  std::vector<ModelFacts> models;
  std::vector<ModelRefusal> refusals;
};

/// What the files around a model say of it. Throws Error(input_failed) if a file changed since it
/// was parsed.
ModelFacts read_facts(std::string path, ModelFile model);

/// "llama3.2:1b" for a manifest of Ollama's, "org/name" for a folder of the Hugging Face cache,
/// else the last name of the path.
std::string model_name(const std::string& path);

/// Bits of all tensors over the model's parameters; absent without parameters.
std::optional<double> bits_per_weight(const ModelFile& model);

/// "Q4_K_M" where the file names its mix of types, else the type of most bytes; empty without
/// tensors.
std::string type_text(const ModelFacts& facts);

/// "llama, 8.03 B parameters, Q4_K_M, 4.89 bits/weight, 4.58 GiB".
std::string summary_text(const ModelFacts& facts);

/// Keys and values for people: format, layers, tokenizer, licence and so on.
report::Table facts_table(const ModelFacts& facts, bool unicode);

/// One row for each element type, and one for each group of equal layers.
report::Table inspected_types_table(const ModelFacts& facts);
report::Table layers_table(const ModelFacts& facts);
report::Array layers_value(const ModelFacts& facts);  ///< of the document

/// The files of a set, with their published hashes.
report::Table files_table(const ModelFacts& facts);

/// One row for each model.
report::Table models_table(const std::vector<ModelFacts>& models);

/// ---- metadata.cpp

/// A metadata value; of an array the first elements, at most that many; absent for arrays in
/// arrays.
report::Value metadata_value(const ModelFile& model, const MetadataEntry& entry,
                             std::uint64_t most_elements);

/// Keys, types and values, cut so that the table takes at most `width` columns.
report::Table metadata_table(const ModelFacts& facts, std::size_t width, bool unicode);

/// The same for programs: key, type, is_array, count, value, is_shortened; of one key only, and
/// that whole, unless `key` is empty.
report::Table full_metadata_table(const ModelFacts& facts, const std::string& key);

/// The value of one key as text, an array with one element on each line; exact if `is_exact`, else
/// safe for a terminal. Throws Error(not_found) with the nearest keys if there is no such key.
std::string value_text(const ModelFacts& facts, const std::string& key, bool is_exact);

/// "eight columns…": the text cut to that many columns.
std::string cut_to_width(std::string_view text, std::size_t columns, bool unicode);

/// The first line of a text, safe for a terminal and cut to that many columns, with "…" where
/// something is left out. A text may have gigabytes, of which only what can be shown is looked at.
std::string shown_text(std::string_view text, std::size_t columns, bool unicode);

/// ---- document.cpp

/// One element of `models` in `hiptool.inspect/2`.
report::Value model_document(const ModelFacts& facts, const InspectionLists& lists);

/// For people; the document and CSV have more fields of each tensor.
report::Table tensors_table(const ModelFacts& facts);

/// One element of `refused`.
report::Value refusal_document(const ModelRefusal& refusal);

/// Tables for CSV: a row for each model; with --tensors or --metadata a row for each of these.
std::vector<report::Table> inspection_csv(const Inspection& inspection,
                                          const InspectionLists& lists);

}  // namespace hiptool::results
