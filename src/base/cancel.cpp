// SPDX-License-Identifier: MIT
#include "hiptool/cancel.hpp"

#include <string>

#include "hiptool/error.hpp"

namespace hiptool {

void CancelToken::throw_if_cancelled(const char* operation) const {
  if (is_cancelled()) {
    throw Error(ErrorCode::cancelled, operation, std::string(operation) + " was interrupted");
  }
}

}  // namespace hiptool
