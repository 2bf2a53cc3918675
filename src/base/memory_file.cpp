// SPDX-License-Identifier: MIT
#include "base/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "hiptool/error.hpp"

namespace hiptool::base {

MemoryFile::MemoryFile(const std::string& name)
    : descriptor_(memfd_create(name.c_str(), MFD_CLOEXEC)) {
  if (!descriptor_.is_open()) {
    throw Error(ErrorCode::output_failed, "create file in memory",
                "no file in memory can be created: " + std::generic_category().message(errno),
                "set TMPDIR to a writable folder");
  }
  path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_.get());
}

bool is_open_file(const std::filesystem::path& path) {
  return path.string().starts_with("/proc/") && path.parent_path().filename() == "fd";
}

}  // namespace hiptool::base
