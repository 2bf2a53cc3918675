// SPDX-License-Identifier: MIT
#include "results/model/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "model/model_kind.hpp"
#include "report/text.hpp"
#include "results/model/summary.hpp"

namespace hiptool::results {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_architecture_columns = 40;

// "org/name" of models--org--name.
std::optional<std::string> repository_of(const fs::path& folder) {
  constexpr std::string_view start = "models--";
  const std::string name = folder.filename().string();
  if (!name.starts_with(start)) return std::nullopt;
  const std::size_t middle = name.find("--", start.size());
  if (middle == std::string::npos) return name.substr(start.size());
  return name.substr(start.size(), middle - start.size()) + "/" + name.substr(middle + 2);
}

// "llama3.2:1b" of manifests/HOST/library/llama3.2/1b.
std::optional<std::string> ollama_name_of(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) parts.push_back(part.string());
  const auto manifests = std::find(parts.rbegin(), parts.rend(), "manifests");
  if (manifests == parts.rend() || manifests - parts.rbegin() != 4) return std::nullopt;
  const std::size_t last = parts.size() - 1;
  const std::string name = parts[last - 1] + ":" + parts[last];
  return parts[last - 2] == "library" ? name : parts[last - 2] + "/" + name;
}

}  // namespace

std::string model_name(const std::string& path) {
  std::error_code ignored;
  fs::path whole = fs::absolute(path, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  if (const auto name = ollama_name_of(whole)) return *name;
  if (const auto name = repository_of(whole)) return *name;
  if (whole.parent_path().filename() == "snapshots") {
    if (const auto name = repository_of(whole.parent_path().parent_path())) return *name;
  }
  return whole.filename().string();
}

ModelFacts read_facts(std::string path, ModelFile model) {
  std::string name = model_name(model.path().string());
  ModelSummary summary = summarize(model);
  model::TokenizerInfo tokenizer = model::read_tokenizer(model);
  // Both read the config.json.
  std::erase_if(tokenizer.warnings, [&](const std::string& warning) {
    const auto& others = summary.warnings;
    return std::find(others.begin(), others.end(), warning) != others.end();
  });
  ModelFacts facts{std::move(path),
                   std::move(name),
                   model,
                   std::move(summary),
                   std::move(tokenizer),
                   model::read_license(model),
                   model.unsigned_integer("general.quantization_version"),
                   model::group_layers(model),
                   {}};
  for (const ModelPart& part : model.files()) {
    facts.hashes.push_back(model::find_file_hash(part));
  }
  if (facts.model.kind() == ModelKind::model && !facts.model.tensors().empty()) {
    facts.provability = reference::provability(facts.model);
  }
  return facts;
}

std::optional<double> bits_per_weight(const ModelFile& model) {
  if (model.parameters() == 0) return std::nullopt;
  return static_cast<double>(model.tensor_bytes()) * 8 / static_cast<double>(model.parameters());
}

std::string type_text(const ModelFacts& facts) {
  if (facts.summary.types.empty()) return {};
  return facts.summary.file_type.value_or(facts.summary.types.front().type);
}

std::string summary_text(const ModelFacts& facts) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (facts.model.kind() != ModelKind::model) add(model::model_kind_name(facts.model));
  add(shown_text(facts.summary.architecture.value_or(""), most_architecture_columns, false));
  if (facts.model.tensors().empty()) {
    add("no tensors");
  } else {
    add(short_count(facts.model.parameters()) + " parameters");
    add(type_text(facts));
    if (const auto bits = bits_per_weight(facts.model)) {
      add(fmt::format("{:.2f} bits/weight", *bits));
    }
  }
  add(format_size(facts.model.file_bytes()));
  return text;
}

}  // namespace hiptool::results
