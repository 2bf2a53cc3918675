// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

namespace hiptool::system {

/// 0 if the file below /dev can be opened for reading and writing, else errno.
int try_open(const std::filesystem::path& node);

/// 0 if this process may read and write the file, else errno. Opens nothing: a driver may take a
/// second to wake its GPU when a node is opened.
int check_access(const std::filesystem::path& node);

/// The group that a node belongs to.
struct NodeOwner {
  std::string group;  ///< name from <root>/etc/group; empty if there is none for the number
  unsigned long group_id = 0;
  bool is_member = false;         ///< this process is in the group
  bool is_open_to_group = false;  ///< the group may read and write
};
NodeOwner read_owner(const std::filesystem::path& root, const std::filesystem::path& node);

}  // namespace hiptool::system
