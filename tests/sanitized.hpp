// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::test {

/// Sanitizers keep what was freed, with shadows of it, and take ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_thread_sanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool is_thread_sanitized = false;
#endif

}  // namespace hiptool::test
