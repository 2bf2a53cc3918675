// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace hiptool::cli {

/// A file that the command line names.
struct NamedFile {
  std::filesystem::path path;
  std::string option;  ///< "--export json", "the model"
};

/// The files of those --fail-below that have the form @FILE.
std::vector<NamedFile> threshold_files(const std::vector<std::string>& thresholds);

/// Throws Error(invalid_argument) where an output is the same file as an input or as another
/// output, also through links; it would be lost. Files without a path and files that are not
/// regular, such as pipes and /dev/null, may be named twice.
void require_distinct_files(const std::vector<NamedFile>& outputs,
                            const std::vector<NamedFile>& inputs);

}  // namespace hiptool::cli
