// SPDX-License-Identifier: MIT
#include "base/temporary_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "hiptool/error.hpp"

namespace hiptool::base {
namespace {

namespace fs = std::filesystem;

enum class SlotState { free, changing, live };

struct LivePath {
  std::atomic<SlotState> state{SlotState::free};
  std::array<char, 4096> path{};
};

// Read by signal handlers on any thread, hence static, lock-free and never given back. More than
// these are removed by destructors only.
std::array<LivePath, 64> live_paths;
static_assert(std::atomic<SlotState>::is_always_lock_free);

std::size_t remember(const std::string& path) {
  for (std::size_t slot = 0; slot < live_paths.size(); ++slot) {
    LivePath& folder = live_paths[slot];
    SlotState expected = SlotState::free;
    if (path.size() >= folder.path.size()) break;
    if (!folder.state.compare_exchange_strong(expected, SlotState::changing)) continue;
    std::memcpy(folder.path.data(), path.c_str(), path.size() + 1);
    folder.state = SlotState::live;
    return slot;
  }
  return live_paths.size();
}

bool is_self_or_parent(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

void remove_entries(int folder, int depth);

void remove_entry(int folder, const char* name, int depth) {
  if (unlinkat(folder, name, 0) == 0 || depth == 0) return;
  const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) return;
  remove_entries(inner, depth - 1);
  close(inner);
  unlinkat(folder, name, AT_REMOVEDIR);
}

// readdir allocates, which a signal handler must not.
void remove_entries(int folder, int depth) {
  alignas(dirent64) std::array<char, 2048> buffer;
  long got = 0;
  while ((got = syscall(SYS_getdents64, folder, buffer.data(), buffer.size())) > 0) {
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      if (!is_self_or_parent(entry->d_name)) remove_entry(folder, entry->d_name, depth);
      at += entry->d_reclen;
    }
  }
}

}  // namespace

TemporaryPath::TemporaryPath(const std::filesystem::path& path) {
  std::error_code ignored;
  slot_ = remember(fs::absolute(path, ignored).string());
}

void TemporaryPath::keep() noexcept {
  if (slot_ < live_paths.size()) live_paths[slot_].state = SlotState::free;
  slot_ = live_paths.size();
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
  const char* const chosen = std::getenv("TMPDIR");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  const fs::path parent = is_chosen ? fs::path(chosen) : fs::path("/tmp");
  // Children may work in another folder, where a relative path means another one.
  std::error_code error;
  std::string pattern = (fs::absolute(parent, error) / (name + "-XXXXXX")).string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    const std::string reason = error ? error.message() : std::generic_category().message(errno);
    throw Error(ErrorCode::output_failed, "create temporary folder",
                "no temporary folder can be created in " + parent.string() +
                    (is_chosen ? " (TMPDIR): " : ": ") + reason,
                is_chosen ? "set TMPDIR to a folder that exists and is writable, or unset it"
                          : "set TMPDIR to a writable folder");
  }
  path_ = pattern;
  listed_.emplace(path_);
}

TemporaryFolder::~TemporaryFolder() {
  listed_.reset();
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void remove_temporary_paths() noexcept {
  constexpr int most_depth = 8;
  for (const LivePath& folder : live_paths) {
    if (folder.state == SlotState::live) remove_entry(AT_FDCWD, folder.path.data(), most_depth);
  }
}

}  // namespace hiptool::base
