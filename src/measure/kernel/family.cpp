// SPDX-License-Identifier: MIT
#include "measure/kernel/family.hpp"

namespace hiptool::measure {

void note_failure(KernelResult& result, const Error& error) {
  const bool cannot =
      error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory;
  result.status = cannot ? Status::skipped : Status::failed;
  result.reason = error.what();
  result.error = error;
}

std::string label_of(const KernelResult& result) {
  std::string label = result.kernel;
  if (!result.dtype.empty()) label += "." + result.dtype;
  if (!result.size_word.empty()) label += "." + result.size_word;
  if (!result.layout.empty() && result.layout != "packed") label += "." + result.layout;
  return label;
}

}  // namespace hiptool::measure
