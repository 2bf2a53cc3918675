// SPDX-License-Identifier: MIT
#include "system/device_node.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <vector>

#include "base/contains.hpp"
#include "base/descriptor.hpp"
#include "base/file.hpp"

namespace hiptool::system {
namespace {

namespace fs = std::filesystem;

// Lines "render:x:109:alice,bob". Not getgrgid(), which cannot read below another root.
std::string group_name(const fs::path& root, unsigned long id) {
  std::istringstream lines(base::read_small_file(root / "etc/group"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::string password;
    std::string number;
    std::getline(fields, name, ':');
    std::getline(fields, password, ':');
    std::getline(fields, number, ':');
    if (number == std::to_string(id)) return name;
  }
  return {};
}

bool is_in_group(gid_t group) {
  if (group == getegid()) return true;
  const int count = getgroups(0, nullptr);
  if (count <= 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  const int got = getgroups(count, groups.data());
  return got > 0 && base::contains(groups, group);
}

}  // namespace

int try_open(const fs::path& node) {
  const base::Descriptor opened(::open(node.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return opened.is_open() ? 0 : errno;
}

int check_access(const fs::path& node) {
  return faccessat(AT_FDCWD, node.c_str(), R_OK | W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

NodeOwner read_owner(const fs::path& root, const fs::path& node) {
  struct stat status {};
  if (stat(node.c_str(), &status) != 0) return {};
  NodeOwner owner;
  owner.group_id = status.st_gid;
  owner.group = group_name(root, owner.group_id);
  owner.is_member = is_in_group(status.st_gid);
  owner.is_open_to_group = (status.st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP);
  return owner;
}

}  // namespace hiptool::system
