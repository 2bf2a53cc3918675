// SPDX-License-Identifier: MIT
#include "model/unfinished.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "model/parts.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

struct Ending {
  std::string_view text;
  std::string_view program;
};

// Which program gives an ending to the file, or to its notes on the file.
constexpr std::array endings{
    Ending{".aria2", "aria2"},
    Ending{".part", "a browser or downloader"},
    Ending{".crdownload", "a browser"},
    Ending{".opdownload", "a browser"},
    Ending{".download", "a browser"},
    Ending{".incomplete", "Hugging Face or Docker Model Runner"},
    Ending{"-partial", "Ollama"},
    Ending{".partial", "a browser or downloader"},
    Ending{".!qB", "qBittorrent"},
    Ending{".!ut", "uTorrent"},
    Ending{".bc!", "BitComet"},
    Ending{".xltd", "Xunlei"},
    Ending{".filepart", "WinSCP"},
    Ending{".gstmp", "gsutil"},
    Ending{".downloadInProgress", "llama.cpp"},
    Ending{".fdmdownload", "Free Download Manager"},
    Ending{".tmp", "a downloader"},
};

constexpr std::string_view modelscope_folder = "._____temp";

void add_unfinished(const fs::path& folder, std::vector<fs::path>& found) {
  for (const fs::path& path : base::list_folder(folder)) {
    const bool is_partial = path.filename().string().find("-partial") != std::string::npos;
    if (is_partial || has_unfinished_name(path)) found.push_back(path);
  }
}

struct Beside {
  fs::path path;
  std::string_view program;
};

std::optional<Beside> find_beside(const fs::path& path) {
  for (const fs::path& at : with_link_targets(path)) {
    // Text, as each of thousands of paths would cost more than the look.
    std::string other = at.string();
    const std::size_t size = other.size();
    for (const Ending& ending : endings) {
      other.resize(size);
      other += ending.text;
      struct stat status {};
      if (stat(other.c_str(), &status) == 0) return Beside{other, ending.program};
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_unfinished_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(endings, [&name](const Ending& ending) {
    const std::size_t size = ending.text.size();
    return name.size() > size &&
           base::equals_ignoring_case(std::string_view(name).substr(name.size() - size),
                                      ending.text);
  });
}

std::optional<fs::path> unfinished_beside(const fs::path& path) {
  const auto found = find_beside(path);
  return found ? std::optional(found->path) : std::nullopt;
}

std::string unfinished_note(const fs::path& path) {
  const auto found = find_beside(path);
  if (!found) return {};
  const std::string name = found->path.filename().string();
  return name + " is next to the file: " + std::string(found->program) +
         " has not finished its download, and bytes that are missing are zeros; finish it, or "
         "delete " +
         name + " if the published SHA-256 is right";
}

std::vector<fs::path> unfinished_downloads(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  add_unfinished(folder, found);
  add_unfinished(folder / "blobs", found);
  // The cache's snapshots/REVISION; and what `--local-dir` leaves.
  if (folder.parent_path().filename() == "snapshots") {
    add_unfinished(folder.parent_path().parent_path() / "blobs", found);
  }
  const fs::path local = folder / ".cache" / "huggingface" / "download";
  add_unfinished(local, found);
  for (const fs::path& path : base::list_folder(local)) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) add_unfinished(path, found);
  }
  // ModelScope downloads to the final name in a folder of its own.
  for (const fs::path& path : base::list_folder(folder / modelscope_folder)) found.push_back(path);
  std::stable_partition(found.begin(), found.end(), [&name](const fs::path& path) {
    return !name.empty() && path.filename().string().starts_with(name);
  });
  return found;
}

}  // namespace hiptool::model
