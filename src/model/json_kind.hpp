// SPDX-License-Identifier: MIT
#pragma once
#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Refuses a JSON file that names no model's files, with what it is and what to name instead.
[[noreturn]] void refuse_json(const base::File& file, Diagnostics& diagnostics);

}  // namespace hiptool::model
