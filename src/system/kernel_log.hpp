// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// A record of the kernel's log.
struct KernelMessage {
  std::uint64_t sequence = 0;  ///< grows with every record
  std::string text;            ///< without the prefix of numbers
};

/// The records of <root>/dev/kmsg, oldest first (Linux, Documentation/ABI/testing/dev-kmsg). Absent
/// where this process may not read it, as in most containers. Does not block; of a longer
/// log the newest 4 MiB.
std::optional<std::vector<KernelMessage>> read_kernel_messages(const std::filesystem::path& root);

/// The texts alone.
std::optional<std::vector<std::string>> read_kernel_log(const std::filesystem::path& root);

/// The message of one record, "6,339,5140900,-;NET: Registered"; empty for any other line.
std::string_view message_of(std::string_view record);

}  // namespace hiptool::system
