// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace hiptool::hip::cpu {

/// Properties of the machine, read below a system root; the same for each cpu device.
struct Facts {
  std::filesystem::path root;
  std::string name;              ///< CPU model, "CPU" when unknown
  std::string arch;              ///< "x86_64"
  int cores = 1;                 ///< that this process may run on
  std::size_t memory_bytes = 0;  ///< that this process may use
  std::optional<int> clock_khz;  ///< highest
  std::optional<int> l2_cache_bytes;
};

Facts read_facts(const std::filesystem::path& root);

/// The facts of the newest binding; before the first one, those below "/".
std::shared_ptr<const Facts> current_facts();
void set_current_facts(Facts facts);

/// Memory that can be allocated without swapping, never more than facts.memory_bytes.
std::size_t available_bytes(const Facts& facts);

}  // namespace hiptool::hip::cpu
