// SPDX-License-Identifier: MIT
#pragma once
#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

enum class FileKind { gguf, safetensors, json };

/// The kind of the file by its first bytes. Refuses other files; the error names their kind and
/// what to do. JSON may be the index of a set, or a manifest.
FileKind find_kind(const base::File& file, const Diagnostics& diagnostics);

}  // namespace hiptool::model
