// SPDX-License-Identifier: MIT
/// What the multiprocessors of an architecture do in a clock, as far as it is published.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "hiptool/platform.hpp"

namespace hiptool::measure {

/// Operations of one multiprocessor in a clock with multiply-adds of the type, an addition and a
/// multiplication each ("f32", "f64", "i32", "f16", "bf16"; in 16 bits, of pairs and without matrix
/// units); absent where it is not published.
std::optional<double> multiply_add_rate(std::string_view arch, std::string_view dtype);

/// Why the architecture ("sm_75", "gfx90a:xnack-") cannot have our multiply-adds of the type; empty
/// where it can.
std::string missing_multiply_add(Platform platform, std::string_view arch, std::string_view dtype);

}  // namespace hiptool::measure
