// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/model_summary.hpp"

namespace hiptool::model {

/// Adds what the config.json in the folder of the model's files says (the format of Hugging Face
/// transformers). No such file is fine; one that cannot be used adds a warning, never a failure.
void read_config_json(const ModelFile& model, ModelSummary& summary);

}  // namespace hiptool::model
