// SPDX-License-Identifier: MIT
/// Synthetic /sys, /proc and /dev trees. Written by hand after the kernel's documentation; none is
/// a copy of a real machine.
#pragma once
#include <stdlib.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hiptool::system {

class SyntheticTree {
 public:
  SyntheticTree() {
    std::string name = (std::filesystem::temp_directory_path() / "synthetic-tree-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~SyntheticTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  SyntheticTree(const SyntheticTree&) = delete;
  SyntheticTree& operator=(const SyntheticTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }

  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
  }

  void add_pci(const std::string& bus_id, const std::string& vendor, const std::string& device,
               const std::string& class_code, const std::string& driver) const {
    const std::string folder = "sys/bus/pci/devices/" + bus_id + "/";
    write(folder + "vendor", vendor);
    write(folder + "device", device);
    write(folder + "class", class_code);
    if (!driver.empty()) link(folder + "driver", "../../../../bus/pci/drivers/" + driver);
  }

  void add_kfd_node(int number, const std::string& gpu_id, int render_minor) const {
    const std::string folder = "sys/class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/";
    write(folder + "gpu_id", gpu_id);
    write(folder + "properties",
          "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\ndrm_render_minor " +
              std::to_string(render_minor));
  }

 private:
  std::filesystem::path root_;
};

}  // namespace hiptool::system
