// SPDX-License-Identifier: MIT
#include "measure/kernel/family.hpp"

namespace hiptool::measure {

std::string label_of(const KernelResult& result) {
  std::string label = result.kernel;
  if (!result.dtype.empty()) label += "." + result.dtype;
  if (!result.size_word.empty()) label += "." + result.size_word;
  if (!result.layout.empty() && result.layout != "packed") label += "." + result.layout;
  return label;
}

}  // namespace hiptool::measure
