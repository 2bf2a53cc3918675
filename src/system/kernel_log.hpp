// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// The messages in <root>/dev/kmsg, oldest first, without their prefix of numbers
/// (Linux, Documentation/ABI/testing/dev-kmsg). Absent where this process may not read it, as in
/// most containers. Does not block; at most 4 MiB are read.
std::optional<std::vector<std::string>> read_kernel_log(const std::filesystem::path& root);

/// The message of one record, "6,339,5140900,-;NET: Registered"; empty for any other line.
std::string_view message_of(std::string_view record);

}  // namespace hiptool::system
