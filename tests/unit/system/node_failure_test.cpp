// SPDX-License-Identifier: MIT
#include "system/node_failure.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <system_error>

using namespace hiptool::system;

namespace {

DriverFinding explain(int error_number, const NodeOwner& owner = {}) {
  return explain_node_failure(error_number, "/dev/kfd", owner, "--device /dev/kfd");
}

bool failure_has(const std::string& text, const char* part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("EACCES names the group and how to join it") {
  const DriverFinding known = explain(EACCES, {"render", 109, false, true});
  CHECK(known.reason ==
        "no permission to open /dev/kfd: it belongs to group render (109), which "
        "this process is not in");
  CHECK(known.hint == "run `sudo usermod -aG render,video $USER` and log in again");
  CHECK(failure_has(explain(EACCES, {"gpu", 1001, false, true}).hint, "usermod -aG gpu $USER"));
  const DriverFinding unnamed = explain(EACCES, {"", 109, false, true});
  CHECK(failure_has(unnamed.reason, "group 109,"));
  CHECK(failure_has(unnamed.hint, "--group-add 109"));
  CHECK(failure_has(unnamed.hint, "sudo usermod -aG render,video $USER"));
}

TEST_CASE("EACCES where joining the group would not help") {
  for (const NodeOwner& owner :
       {NodeOwner{"root", 0, false, false}, NodeOwner{"render", 109, true, true}}) {
    CHECK(failure_has(explain(EACCES, owner).reason, "its mode does not let group"));
    CHECK(failure_has(explain(EACCES, owner).hint, "sudo chmod 660 /dev/kfd"));
  }
}

TEST_CASE("every number that the KFD is known to answer has a reason and a hint") {
  CHECK(explain(EPERM).reason ==
        "opening /dev/kfd is forbidden by the device rules of the container");
  CHECK(explain(EPERM).hint == "start the container with `--device /dev/kfd`");
  for (const int number : {ENXIO, ENODEV}) {
    CHECK(failure_has(explain(number).reason, "/dev/kfd has no driver"));
    CHECK(failure_has(explain(number).hint, "`sudo rm /dev/kfd`"));
  }
  CHECK(explain(EAGAIN).reason == "/dev/kfd cannot be opened while the GPU is reset");
  CHECK(explain(EAGAIN).hint == "wait a minute and try again");
  for (const int number : {EINVAL, ENOMEM, EFAULT}) {
    CHECK(failure_has(explain(number).reason,
                      "it does not support this GPU, or the slot lacks PCIe"));
    CHECK(failure_has(explain(number).reason, std::generic_category().message(number).c_str()));
    CHECK(failure_has(explain(number).hint, "`sudo dmesg | grep -iE 'kfd|amdgpu|nvrm'`"));
  }
  CHECK(failure_has(explain(EMFILE).reason, "Too many open files"));
  CHECK(failure_has(explain(EMFILE).hint, "`ls -l /dev/kfd`"));
}
