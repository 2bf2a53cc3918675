// SPDX-License-Identifier: MIT
/// A machine written down as text: what is below /sys, /proc and /dev, what runtimes and sensors
/// answered, and what the diagnosis has to find. Lines:
///
///   file PATH, then lines that begin with "|"    link PATH TARGET    folder PATH
///   node PATH MODE UID GID                       open PATH EACCES    (what an open answers)
///   pci BUS_ID [under=BUS_ID] vendor= device= class= [driver=] [link=16/8] [max=16/16] [numa=]
///   env NAME=VALUE                               cpus 0-31           (this process may run there)
///   platform NAME usable|unavailable|hung|crashed [count=] [runtime=] [library=] [REASON...]
///   device ID BUS_ID [arch=] [memory=] [ecc=]    peer FROM TO ACCESS [COPY]
///   sensors ID|BUS_ID SOURCE [clock reasons as throttle=a,b] [power=] [default_power=] ...
///   load BUS_ID   (its link was read under load, as the tree has it)
///   expect info|warn|fail|unknown ID [DEVICE]    # a comment
///
/// tests/interop/record_tree.sh writes the first four of a real machine.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../system/synthetic_tree.hpp"
#include "machine/doctor/doctor.hpp"

namespace hiptool::machine {

struct TreeFile {
  std::unique_ptr<system::SyntheticTree> tree = std::make_unique<system::SyntheticTree>();
  std::map<std::string, int> open_errors;  ///< by path below the root
  Evidence evidence;                       ///< with the tree as its root
  std::vector<std::string> expected;       ///< "fail kfd-perm", "warn link-down amd:0"; sorted
};

/// Fails the test for a line that it does not know.
TreeFile read_tree_file(const std::string& path);

/// The same for what the diagnosis found: all but pass.
std::vector<std::string> found_in(const std::vector<Check>& checks);

}  // namespace hiptool::machine
