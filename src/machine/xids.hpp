// SPDX-License-Identifier: MIT
/// NVIDIA's catalogue of Xid errors, which its driver writes to the kernel's log.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/codes.hpp"
#include "machine/severity.hpp"

namespace hiptool::machine {

/// An Xid of the catalogue.
struct Xid {
  int number = 0;
  Severity severity = Severity::warn;  ///< of one that happens while the GPU is examined
  Action action = Action::none;
  const char* text = "";
};

/// In the order of their numbers.
const std::vector<Xid>& all_xids();

/// Null for a number that the catalogue lacks.
const Xid* find_xid(int number);

/// HT-XID-NUMBER.
CodeInfo code_of(const Xid& xid);

/// What to do about it on the GPU with this bus id; empty: any GPU.
std::string fix_of(const Xid& xid, const std::string& bus_id = {});

}  // namespace hiptool::machine
