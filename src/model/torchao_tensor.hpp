// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "hiptool/model_file.hpp"
#include "model/metadata.hpp"

namespace hiptool::model {

/// How many weights the packed part of a torchao tensor has: `tensor` is named
/// MODULE._NAME_qdata, `scale` is its table of scales, or null. __metadata__ states the class and
/// often the shape of MODULE.NAME; without it types and shapes decide. Absent where neither does.
std::optional<std::uint64_t> weights_of_torchao(const TensorInfo& tensor, const TensorInfo* scale,
                                                const Metadata& metadata);

}  // namespace hiptool::model
