// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "cli/distinct_files.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::cli {

/// The files of an opened model, with its index and configuration files.
std::vector<NamedFile> files_of_model(const ModelFile& model);

}  // namespace hiptool::cli
