// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <algorithm>
#include <cstddef>

#include "base/units.hpp"
#include "report/fields.hpp"

namespace hiptool::results {
namespace {

using load::ManifestDifference;

report::Fields<ManifestDifference> difference_fields() {
  using One = const ManifestDifference&;
  using report::Unit;
  constexpr bool may_be_cut = true;  // SHA-256 has 64 digits
  const auto name = [](One one) {
    return report::text_or_absent(one.tensor.empty() ? one.file : one.tensor);
  };
  return {
      {{"tensor", "Tensor or file"}, report::text_or_absent(&ManifestDifference::tensor), name},
      {{"file"}, report::text_or_absent(&ManifestDifference::file)},
      {{"what", "What"}, &ManifestDifference::what},
      {{"expected", "Expected", Unit::none, may_be_cut}, &ManifestDifference::expected},
      {{"got", "Got", Unit::none, may_be_cut}, &ManifestDifference::got},
  };
}

}  // namespace

report::Array published_value(const LoadOutcome& outcome) {
  return report::array_of(outcome.published, [&](const PublishedHash& hash) {
    return report::Object{{"file", outcome.model->files()[hash.file].path.string()},
                          {"published", hash.published},
                          {"found", report::text_or_absent(hash.found)},
                          {"source", report::text_or_absent(hash.source)}};
  });
}

report::Value manifest_value(const LoadOutcome& outcome) {
  const auto& check = outcome.manifest_check;
  return report::Object{
      {"checked", report::text_or_absent(outcome.checked_manifest)},
      {"written", report::text_or_absent(outcome.written_manifest)},
      {"algorithm", check ? report::Value(check->algorithm) : report::Value()},
      {"covers_metadata", check ? report::Value(check->covers_metadata) : report::Value()},
      {"differences", check ? difference_fields().objects(check->differences) : report::Array()}};
}

bool has_differences(const LoadOutcome& outcome) {
  return outcome.manifest_check && !outcome.manifest_check->differences.empty();
}

report::Table differences_table(const LoadOutcome& outcome) {
  return difference_fields()
      .only({"tensor", "what", "expected", "got"})
      .table("Differences from the manifest", outcome.manifest_check->differences);
}

std::string uncompared_text(const LoadOutcome& outcome) {
  return "not compared with " + outcome.uncompared_hashes + "; use --verify published";
}

std::vector<report::Line> hashes_lines(const LoadOutcome& outcome) {
  std::vector<report::Line> lines;
  const auto add = [&](std::string text) {
    lines.push_back({report::Tone::plain, std::move(text)});
  };
  const auto is_equal = [](const PublishedHash& hash) { return hash.found == hash.published; };
  const auto& published = outcome.published;
  if (!published.empty() && std::all_of(published.begin(), published.end(), is_equal)) {
    add(published.front().source.empty()
            ? "sha256  as given"
            : "sha256  as published for " + (published.size() == 1
                                                 ? "the file by " + published.front().source
                                                 : format_count(published.size()) + " files"));
  }
  if (!outcome.uncompared_hashes.empty()) add("sha256  " + uncompared_text(outcome));
  if (!outcome.checked_manifest.empty()) {
    const bool is_all = outcome.manifest_check->covers_metadata;
    add((is_all ? "same    tensors and metadata are as in " : "same    the tensors are as in ") +
        outcome.checked_manifest);
    if (!is_all) {
      lines.push_back({report::Tone::warning,
                       "warning: metadata were not compared: " + outcome.checked_manifest +
                           " has none; write it again with --write-manifest FILE.json"});
    }
  }
  if (!outcome.written_manifest.empty()) add("wrote   " + outcome.written_manifest);
  return lines;
}

}  // namespace hiptool::results
