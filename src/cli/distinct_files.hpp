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

/// The files named by --fail-below @FILE.
std::vector<NamedFile> threshold_files(const std::vector<std::string>& thresholds);

/// Throws Error(invalid_argument) if an output is the same file as an input or another output, also
/// through links, because one would overwrite the other. Empty paths are ignored; pipes, devices
/// such as /dev/null and "-", standard output, may be named twice.
void require_distinct_files(const std::vector<NamedFile>& outputs,
                            const std::vector<NamedFile>& inputs);

}  // namespace hiptool::cli
