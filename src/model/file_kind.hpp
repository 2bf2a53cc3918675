// SPDX-License-Identifier: MIT
#pragma once
#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

enum class FileKind { gguf, safetensors, json };

/// The kind of the file, judged by its first bytes. Files that are no model, or one of a kind that
/// is not read, are refused with the name of what they are and what to do. JSON may be the index of
/// a set, or a manifest.
FileKind find_kind(const base::File& file, const Diagnostics& diagnostics);

}  // namespace hiptool::model
