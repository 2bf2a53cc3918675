// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::cli {

/// A file that the command line names.
struct NamedFile {
  std::filesystem::path path;
  std::string option;  ///< "--export json", "the model"
  /// Of an output that holds what is made once and kept, such as a golden: whether an existing file
  /// is an earlier one of its kind, which it may replace; null: it may replace any file.
  bool (*is_of_its_kind)(const std::filesystem::path& existing) = nullptr;
};

/// An output of the run is one of its inputs, or another output.
class FilesCollide : public Error {
 public:
  using Error::Error;
};

/// The files named by --fail-below @FILE.
std::vector<NamedFile> threshold_files(const std::vector<std::string>& thresholds);

/// Throws FilesCollide, an Error(invalid_argument), if an output is the same file as an input or
/// another output, also through links, because one would overwrite the other. Empty paths are
/// ignored; pipes, devices such as /dev/null and "-", standard output, may be named twice.
void require_distinct_files(const std::vector<NamedFile>& outputs,
                            const std::vector<NamedFile>& inputs);

/// Throws Error(invalid_argument) if an output with a kind would replace a file of another kind; a
/// link counts as its target, and an empty file may be replaced.
void require_replaceable(const std::vector<NamedFile>& outputs);

}  // namespace hiptool::cli
