// SPDX-License-Identifier: MIT
#include "system/node_failure.hpp"

#include <cerrno>
#include <system_error>

namespace hiptool::system {
namespace {

DriverFinding explain_permission(const std::string& node, const NodeOwner& owner) {
  const std::string number = std::to_string(owner.group_id);
  const std::string group =
      owner.group.empty() ? "group " + number : "group " + owner.group + " (" + number + ")";
  if (!owner.is_open_to_group || owner.is_member) {
    return {
        "no permission to open " + node + ": its mode does not let " + group + " read and write it",
        "run `sudo chmod 660 " + node + "`, and correct the udev rule that sets the mode"};
  }
  const std::string reason = "no permission to open " + node + ": it belongs to " + group +
                             ", which this process is not in";
  if (owner.group.empty()) {
    return {reason, "in a container, start it with `--group-add " + number +
                        "`; otherwise run `sudo usermod -aG render,video $USER` and log in again"};
  }
  const bool is_usual = owner.group == "render" || owner.group == "video";
  return {reason, "run `sudo usermod -aG " + (is_usual ? "render,video" : owner.group) +
                      " $USER` and log in again"};
}

}  // namespace

DriverFinding explain_node_failure(int error_number, const std::string& node,
                                   const NodeOwner& owner, const std::string& container_option) {
  const std::string container = "start the container with `" + container_option + "`";
  switch (error_number) {
    case EACCES: return explain_permission(node, owner);
    case EPERM:
      return {"opening " + node + " is forbidden by the device rules of the container", container};
    case ENXIO:
    case ENODEV:
      return {node + " has no driver: it was created by hand, or its driver was unloaded",
              "run `sudo rm " + node + "` and load the driver again, or " + container};
    case EAGAIN:
      return {node + " cannot be opened while the GPU is reset", "wait a minute and try again"};
    case EINVAL:
    case ENOMEM:
    case EFAULT:
      return {"the driver refuses to open " + node + " (" +
                  std::generic_category().message(error_number) +
                  "): it does not support this GPU, or the slot lacks PCIe atomics",
              "find the reason with `sudo dmesg | grep -iE 'kfd|amdgpu|nvrm'`"};
    default:
      return {"cannot open " + node + ": " + std::generic_category().message(error_number),
              "find the reason with `ls -l " + node + "` and `sudo dmesg`"};
  }
}

}  // namespace hiptool::system
