// SPDX-License-Identifier: MIT
#include "cli/distinct_files.hpp"

#include <system_error>

#include "base/output_file.hpp"
#include "cli/output/standard_output.hpp"

namespace hiptool::cli {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& left, const fs::path& right) {
  if (is_standard_output(left.string()) && is_standard_output(right.string())) return false;
  std::error_code error;
  const fs::file_status status = fs::status(left, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  if (fs::equivalent(left, right, error)) return true;
  // Neither needs to exist yet.
  const fs::path one =
      fs::weakly_canonical(fs::absolute(base::target_of_links(left), error), error);
  const fs::path other =
      fs::weakly_canonical(fs::absolute(base::target_of_links(right), error), error);
  return !error && one == other;
}

void require_distinct(const NamedFile& output, const NamedFile& other) {
  if (output.path.empty() || other.path.empty()) return;
  if (!is_same_file(output.path, other.path)) return;
  throw FilesCollide(
      ErrorCode::invalid_argument, "parse options",
      output.option + " and " + other.option + " name the same file, " + output.path.string(),
      "choose another file for " + output.option);
}

}  // namespace

std::vector<NamedFile> threshold_files(const std::vector<std::string>& thresholds) {
  std::vector<NamedFile> files;
  for (const std::string& text : thresholds) {
    if (text.starts_with('@')) files.push_back({text.substr(1), "--fail-below"});
  }
  return files;
}

void require_distinct_files(const std::vector<NamedFile>& outputs,
                            const std::vector<NamedFile>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs) require_distinct(outputs[i], input);
    for (std::size_t j = 0; j < i; ++j) require_distinct(outputs[i], outputs[j]);
  }
}

void require_replaceable(const std::vector<NamedFile>& outputs) {
  for (const NamedFile& output : outputs) {
    std::error_code ignored;
    if (output.is_of_its_kind == nullptr || output.path.empty()) continue;
    if (!fs::is_regular_file(output.path, ignored) || fs::file_size(output.path, ignored) == 0) {
      continue;
    }
    if (output.is_of_its_kind(output.path)) continue;
    throw Error(ErrorCode::invalid_argument, "parse options",
                output.option + " would replace " + output.path.string() + ", which no earlier " +
                    output.option + " wrote",
                "choose another file, or replace this one with --force");
  }
}

}  // namespace hiptool::cli
