// SPDX-License-Identifier: MIT
/// How a call enters the table: nothing is thrown through it, and the thread's last error is kept.
#pragma once
#include <new>
#include <system_error>

#include "hip/api.hpp"

namespace hiptool::hip::cpu {

/// Keeps a real error as the thread's last one and hands it on. Success and "not ready" do not
/// count (HIP 7).
hipError_t note_error(hipError_t error) noexcept;

template <auto Function>
struct Entry;

template <class... Arguments, hipError_t (*Function)(Arguments...)>
struct Entry<Function> {
  static hipError_t call(Arguments... arguments) noexcept {
    try {
      return note_error(Function(arguments...));
    } catch (const std::bad_alloc&) {
      return note_error(hipErrorOutOfMemory);
    } catch (const std::system_error&) {
      return note_error(hipErrorOperatingSystem);
    } catch (...) {
      return note_error(hipErrorUnknown);
    }
  }
};

void add_error_calls(Api& api);

}  // namespace hiptool::hip::cpu
