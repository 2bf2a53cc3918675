// SPDX-License-Identifier: MIT
/// Wraps a call for the table: no exception leaves it.
#pragma once
#include <new>
#include <system_error>

#include "hip/api.hpp"

namespace hiptool::hip::cpu {

template <auto Function>
struct Entry;

template <class... Arguments, hipError_t (*Function)(Arguments...)>
struct Entry<Function> {
  static hipError_t call(Arguments... arguments) noexcept {
    try {
      return Function(arguments...);
    } catch (const std::bad_alloc&) {
      return hipErrorOutOfMemory;
    } catch (const std::system_error&) {
      return hipErrorOperatingSystem;
    } catch (...) {
      return hipErrorUnknown;
    }
  }
};

}  // namespace hiptool::hip::cpu
