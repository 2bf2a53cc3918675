// SPDX-License-Identifier: MIT
#include "system/drivers.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "ordinary_user.hpp"
#include "synthetic_tree.hpp"

using namespace hiptool::system;

namespace {

void add_mi300x(const SyntheticTree& tree) {
  tree.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
  tree.write("sys/module/amdgpu/version", "6.16.6");
  tree.write("dev/kfd", "");
  tree.write("dev/dri/renderD128", "");
  tree.add_kfd_node(0, "0", 0);
  tree.add_kfd_node(1, "51216", 128);
}

void add_h200(const SyntheticTree& tree) {
  tree.add_pci("0000:18:00.0", "0x10de", "0x2335", "0x030200", "nvidia");
  tree.write("sys/module/nvidia/version", "580.159.04");
  for (const char* node : {"nvidiactl", "nvidia0", "nvidia-uvm"}) {
    tree.write(std::string("dev/") + node, "");
  }
}

void remove(const SyntheticTree& tree, const char* path) {
  CHECK(std::filesystem::remove_all(tree.root() / path) > 0);
}

bool has(const std::string& text, const char* part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

void check_no_finding(const DriverFinding& finding) {
  CHECK(finding.reason == "");
  CHECK(finding.hint == "");
}

}  // namespace

TEST_CASE("driver versions") {
  const SyntheticTree tree;
  CHECK(nvidia_driver_version(tree.root()).empty());
  CHECK(amdgpu_driver_version(tree.root()).empty());
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  "
             "(dvs-builder@U16)  Thu Jan 1\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)");
  CHECK(nvidia_driver_version(tree.root()) == "570.86.15");
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC");
  CHECK(nvidia_driver_version(tree.root()) == "535.183.01");
  tree.write("proc/driver/nvidia/version", "NVRM version: . ...\nGCC version: 12.2.0");
  CHECK(nvidia_driver_version(tree.root()) == "");
  tree.write("sys/module/nvidia/version", "580.159.04");
  CHECK(nvidia_driver_version(tree.root()) == "580.159.04");

  tree.write("proc/sys/kernel/osrelease", "6.8.0-41-generic");
  CHECK(amdgpu_driver_version(tree.root()).empty());
  tree.write("sys/module/amdgpu/refcnt", "3");
  CHECK(amdgpu_driver_version(tree.root()) == "6.8.0-41-generic");
  tree.write("sys/module/amdgpu/version", "6.16.6");
  CHECK(amdgpu_driver_version(tree.root()) == "6.16.6");
}

TEST_CASE("no GPU in a synthetic tree: nothing to explain") {
  const SyntheticTree tree;
  check_no_finding(explain_amd(tree.root()));
  check_no_finding(explain_nvidia(tree.root()));
  tree.write("sys/module/amdgpu/version", "6.16.6");
  check_no_finding(explain_amd(tree.root()));
}

TEST_CASE("synthetic MI300X: files show nothing wrong") {
  const SyntheticTree tree;
  add_mi300x(tree);
  check_no_finding(explain_amd(tree.root()));
  check_no_finding(explain_nvidia(tree.root()));
}

TEST_CASE("synthetic desktop: one usable GPU beside one set aside is enough") {
  const SyntheticTree tree;
  add_mi300x(tree);
  tree.add_pci("0000:03:00.0", "0x1002", "0x744c", "0x030000", "vfio-pci");
  check_no_finding(explain_amd(tree.root()));
}

TEST_CASE("synthetic container without /dev/kfd") {
  const SyntheticTree tree;
  add_mi300x(tree);
  remove(tree, "dev");
  const DriverFinding finding = explain_amd(tree.root());
  CHECK(finding.reason == "/dev/kfd is missing although amdgpu is loaded");
  CHECK(has(finding.hint, "--device /dev/kfd --device /dev/dri"));
  CHECK(has(finding.hint, "CONFIG_HSA_AMD"));
}

TEST_CASE("synthetic /dev/kfd without permission") {
  const SyntheticTree tree;
  add_mi300x(tree);
  const auto node = tree.root() / "dev/kfd";
  if (geteuid() == 0) {
    tree.write("etc/group", "root:x:0:\nrender:x:109:alice");
    REQUIRE(chown(node.c_str(), 0, 109) == 0);
    REQUIRE(chmod(node.c_str(), 0660) == 0);
    const DriverFinding finding = explain_amd_to_ordinary_user(tree.root());
    CHECK(finding.reason ==
          "no permission to open /dev/kfd: it belongs to group render (109), which this process is "
          "not in");
    CHECK(finding.hint == "run `sudo usermod -aG render,video $USER` and log in again");
  }
  REQUIRE(chmod(node.c_str(), 0) == 0);
  CHECK(has(explain_amd_to_ordinary_user(tree.root()).reason, "no permission to open /dev/kfd"));
  CHECK(has(explain_amd_to_ordinary_user(tree.root()).hint, "sudo chmod 660 /dev/kfd"));
}

TEST_CASE("synthetic render node without permission, by a group that has no name here") {
  const SyntheticTree tree;
  add_mi300x(tree);
  REQUIRE(chmod((tree.root() / "dev/kfd").c_str(), 0666) == 0);
  const auto node = tree.root() / "dev/dri/renderD128";
  if (geteuid() == 0) {
    REQUIRE(chown(node.c_str(), 0, 993) == 0);
    REQUIRE(chmod(node.c_str(), 0660) == 0);
    const DriverFinding finding = explain_amd_to_ordinary_user(tree.root());
    CHECK(
        has(finding.reason, "no permission to open /dev/dri/renderD128: it belongs to group 993"));
    CHECK(has(finding.hint, "--group-add 993"));
  }
  REQUIRE(chmod(node.c_str(), 0) == 0);
  CHECK(has(explain_amd_to_ordinary_user(tree.root()).reason, "open /dev/dri/renderD128"));
}

TEST_CASE("synthetic /dev/kfd without a driver") {
  const SyntheticTree tree;
  add_mi300x(tree);
  remove(tree, "dev/kfd");
  sockaddr_un address{};  // opening the file of a socket fails with ENXIO, as such a node does
  address.sun_family = AF_UNIX;
  const std::string path = (tree.root() / "dev/kfd").string();
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int socket_descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  REQUIRE(bind(socket_descriptor, name, sizeof address) == 0);
  CHECK(has(explain_amd(tree.root()).reason, "/dev/kfd has no driver"));
  close(socket_descriptor);
}

TEST_CASE("synthetic AMD GPU without amdgpu") {
  const SyntheticTree tree;
  tree.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", "");
  const DriverFinding missing = explain_amd(tree.root());
  CHECK(missing.reason ==
        "AMD GPU 0000:65:00.0 is present, but the kernel driver amdgpu is not loaded");
  CHECK(has(missing.hint, "`sudo modprobe amdgpu`"));
  tree.write("sys/module/amdgpu/refcnt", "0");
  CHECK(has(explain_amd(tree.root()).reason, "amdgpu is loaded but did not bind to it"));
  CHECK(has(explain_amd(tree.root()).hint, "dmesg"));
}

TEST_CASE("synthetic AMD GPU that another driver holds") {
  const SyntheticTree tree;
  tree.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", "vfio-pci");
  const DriverFinding finding = explain_amd(tree.root());
  CHECK(finding.reason ==
        "AMD GPU 0000:65:00.0 is bound to vfio-pci (set aside for a virtual "
        "machine), not to amdgpu");
  CHECK(finding.hint ==
        "give it back: `echo 0000:65:00.0 | sudo tee /sys/bus/pci/drivers/vfio-pci/unbind`, `sudo "
        "modprobe amdgpu` and `echo 0000:65:00.0 | sudo tee /sys/bus/pci/drivers/amdgpu/bind`");
  tree.write("sys/module/amdgpu/refcnt", "0");
  CHECK_FALSE(has(explain_amd(tree.root()).hint, "modprobe"));
  for (const char* driver : {"pciback", "xen-pciback", "pci-stub"}) {
    const SyntheticTree xen;
    xen.add_pci("0000:65:00.0", "0x1002", "0x74a1", "0x120000", driver);
    CHECK(has(explain_amd(xen.root()).reason, "(set aside for a virtual machine)"));
  }
  const SyntheticTree old;
  old.add_pci("0000:01:00.0", "0x1002", "0x6810", "0x030000", "radeon");
  CHECK(explain_amd(old.root()).reason ==
        "AMD GPU 0000:01:00.0 is bound to radeon, the driver of old chips, not to amdgpu");
  CHECK(has(explain_amd(old.root()).hint, "`lspci -nns 0000:01:00.0`"));
  CHECK(has(explain_amd(old.root()).hint, "`radeon.cik_support=0 amdgpu.cik_support=1`"));
}

TEST_CASE("synthetic KFD that offers no GPU") {
  const SyntheticTree tree;
  add_mi300x(tree);
  tree.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "0");
  CHECK(has(explain_amd(tree.root()).reason, "registered none of the AMD GPUs"));
  CHECK(has(explain_amd(tree.root()).hint, "`sudo dmesg | grep -i kfd`"));
  remove(tree, "sys/class/kfd/kfd/topology/nodes/1/gpu_id");
  CHECK(has(explain_amd(tree.root()).reason, "(/sys/class/kfd) cannot be read"));
  remove(tree, "sys/class/kfd");
  CHECK(has(explain_amd(tree.root()).reason, "(/sys/class/kfd) cannot be read"));
  CHECK(has(explain_amd(tree.root()).hint, "--device /dev/kfd --device /dev/dri"));
}

TEST_CASE("synthetic render nodes: one that opens is enough") {
  const SyntheticTree tree;
  add_mi300x(tree);
  tree.add_kfd_node(2, "51217", 129);
  check_no_finding(explain_amd(tree.root()));
  remove(tree, "dev/dri/renderD128");
  const DriverFinding finding = explain_amd(tree.root());
  CHECK(has(finding.reason, "/dev/dri/renderD128, the render node of an AMD GPU, is missing"));
  CHECK(has(finding.hint, "--device /dev/dri"));
  tree.write("dev/dri/renderD129", "");
  check_no_finding(explain_amd(tree.root()));
}

TEST_CASE("synthetic H200: files show nothing wrong, also with another number than 0") {
  const SyntheticTree tree;
  add_h200(tree);
  check_no_finding(explain_nvidia(tree.root()));
  check_no_finding(explain_amd(tree.root()));
  remove(tree, "dev/nvidia0");
  tree.write("dev/nvidia3", "");
  check_no_finding(explain_nvidia(tree.root()));
}

TEST_CASE("synthetic H200 whose nodes are missing") {
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"}) {
    CAPTURE(node);
    const SyntheticTree tree;
    add_h200(tree);
    remove(tree, node + 1);
    const DriverFinding finding = explain_nvidia(tree.root());
    CHECK(finding.reason ==
          std::string(node) + " is missing although the kernel driver nvidia is loaded");
    CHECK(has(finding.hint, "`sudo nvidia-modprobe -c 0 -u`"));
    CHECK(has(finding.hint, "`--gpus all`"));
  }
}

TEST_CASE("synthetic NVIDIA GPU that nvidia does not drive") {
  const SyntheticTree nouveau;
  nouveau.add_pci("0000:01:00.0", "0x10de", "0x2684", "0x030000", "nouveau");
  CHECK(explain_nvidia(nouveau.root()).reason ==
        "NVIDIA GPU 0000:01:00.0 is bound to nouveau, which does not support CUDA");
  CHECK(has(explain_nvidia(nouveau.root()).hint, "blacklist nouveau"));

  const SyntheticTree vfio;
  vfio.add_pci("0000:01:00.0", "0x10de", "0x2684", "0x030000", "vfio-pci");
  CHECK(has(explain_nvidia(vfio.root()).reason, "bound to vfio-pci (set aside"));

  const SyntheticTree none;
  none.add_pci("0000:01:00.0", "0x10de", "0x2684", "0x030000", "");
  CHECK(has(explain_nvidia(none.root()).reason, "kernel driver nvidia is not loaded"));
  CHECK(has(explain_nvidia(none.root()).hint, "`sudo modprobe nvidia`"));
  none.write("sys/module/nvidia/version", "580.159.04");
  CHECK(has(explain_nvidia(none.root()).reason, "nvidia is loaded but did not bind to it"));
}
