// SPDX-License-Identifier: MIT
#include "load/read/direct_reader.hpp"

namespace hiptool::load {

std::unique_ptr<DirectReader> make_uring_reader(std::uint32_t, std::uint64_t, std::string& why) {
  why = "io_uring is not in this build";
  return nullptr;
}

}  // namespace hiptool::load
