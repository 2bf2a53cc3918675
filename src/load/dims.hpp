// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// A shape as its file writes it, with the slowest dimension first.
inline std::vector<std::uint64_t> dims_slowest_first(const ModelFile& model,
                                                     const std::vector<std::uint64_t>& shape) {
  if (model.format() != ModelFormat::gguf) return shape;
  return {shape.rbegin(), shape.rend()};
}

}  // namespace hiptool::load
