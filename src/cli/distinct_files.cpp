// SPDX-License-Identifier: MIT
#include "cli/distinct_files.hpp"

#include <system_error>

#include "cli/text.hpp"
#include "hiptool/error.hpp"

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
  const fs::path one = fs::weakly_canonical(fs::absolute(left, error), error);
  return !error && one == fs::weakly_canonical(fs::absolute(right, error), error) && !error;
}

void require_distinct(const NamedFile& output, const NamedFile& other) {
  if (output.path.empty() || other.path.empty()) return;
  if (!is_same_file(output.path, other.path)) return;
  throw Error(
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

}  // namespace hiptool::cli
