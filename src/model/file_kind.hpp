// SPDX-License-Identifier: MIT
#pragma once
#include "base/file.hpp"
#include "hiptool/model_file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The format of the file, judged by its first bytes. Files that are no model, or one of a kind
/// that is not read, are refused with the name of what they are and what to do.
ModelFormat find_format(const base::File& file, const Diagnostics& diagnostics);

}  // namespace hiptool::model
