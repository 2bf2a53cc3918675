// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>

namespace hiptool::base {

/// What an optional reference of the public options refers to, or null.
template <class Object>
Object* pointer_to(const std::optional<std::reference_wrapper<Object>>& reference) noexcept {
  return reference ? &reference->get() : nullptr;
}

}  // namespace hiptool::base
