// SPDX-License-Identifier: MIT
#include "hip/places.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/file.hpp"

namespace hiptool::hip {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_cache_bytes = std::size_t{64} << 20;

fs::path below(const fs::path& root, const fs::path& path) {
  return path.is_absolute() ? root / path.relative_path() : path;
}

/// The loader's cache, as glibc writes it since 2.32 and, after a table of older loaders, before
/// (sysdeps/generic/dl-cache.h). All offsets count from its header.
class LoaderCache {
 public:
  explicit LoaderCache(const fs::path& file) {
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    if (failed || size > longest_cache_bytes) return;
    std::ifstream stream(file, std::ios::binary);
    bytes_.resize(size);
    stream.read(bytes_.data(), static_cast<std::streamsize>(size));
    bytes_.resize(static_cast<std::size_t>(stream.gcount()));
    const std::size_t start = bytes_.find(magic);
    bytes_.erase(0, start == std::string::npos ? bytes_.size() : start);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::uint32_t count = number_at(count_at);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t entry = header_bytes + std::size_t{i} * entry_bytes;
      if (entry + entry_bytes > bytes_.size()) return;
      const bool is_64_bit = (number_at(entry) & architecture_mask) != 0;
      if (is_64_bit) visit(text_at(number_at(entry + 4)), text_at(number_at(entry + 8)));
    }
  }

 private:
  static constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  static constexpr std::size_t count_at = 20;
  static constexpr std::size_t header_bytes = 48;
  static constexpr std::size_t entry_bytes = 24;
  static constexpr std::uint32_t architecture_mask = 0xff00;  // 0 is i386

  std::uint32_t number_at(std::size_t offset) const {
    std::uint32_t number = 0;
    if (offset + sizeof number <= bytes_.size()) {
      std::memcpy(&number, bytes_.data() + offset, sizeof number);
    }
    return number;
  }

  std::string_view text_at(std::size_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::size_t end = bytes_.find('\0', offset);
    return end == std::string::npos ? std::string_view()
                                    : std::string_view(bytes_).substr(offset, end - offset);
  }

  std::string bytes_;
};

/// Folders <prefix>/lib/python3*/site-packages.
void add_packages_of(std::vector<fs::path>& packages, const fs::path& prefix) {
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& python : base::list_folder(prefix / lib)) {
      if (!python.filename().string().starts_with("python3")) continue;
      for (const char* name : {"site-packages", "dist-packages"}) {  // Debian's own name
        if (base::is_there(python / name)) add_path_once(packages, python / name);
      }
    }
  }
}

/// An interpreter belongs to the environment in whose bin folder it is, and one outside of virtual
/// environments also to the installation that a link leads to.
void add_packages_of_interpreter(std::vector<fs::path>& packages, const Places& places,
                                 const fs::path& python) {
  const fs::path prefix = python.parent_path().parent_path();
  add_packages_of(packages, prefix);
  if (base::is_there(prefix / "pyvenv.cfg")) return;
  add_packages_of(packages, resolve(python).parent_path().parent_path());
  if (prefix == below(places.root, "/usr")) add_packages_of(packages, prefix / "local");
  if (const std::string home = places.variable("HOME"); !home.empty()) {
    add_packages_of(packages, below(places.root, home) / ".local");
  }
}

}  // namespace

fs::path resolve(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(path, failed);
  return failed ? path : real;
}

Places own_places(const fs::path& root) {
  return {root, [](const char* name) -> std::string {
            const char* value = std::getenv(name);
            return value != nullptr ? value : "";
          }};
}

void add_path_once(std::vector<fs::path>& paths, const fs::path& path) {
  const fs::path real = resolve(path);
  const bool is_known =
      std::ranges::any_of(paths, [&](const fs::path& known) { return resolve(known) == real; });
  if (!is_known) paths.push_back(path);
}

std::vector<fs::path> list_variable_folders(const Places& places, const char* name) {
  std::vector<fs::path> folders;
  const std::string value = places.variable(name);
  std::string_view rest(value);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.push_back(below(places.root, rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

std::vector<fs::path> list_system_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const char* folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64",
                             "usr/lib", "usr/local/lib"}) {
    folders.push_back(root / folder);
  }
  return folders;
}

std::vector<fs::path> list_cached(const fs::path& root, std::string_view soname_prefix) {
  std::vector<fs::path> files;
  LoaderCache(root / "etc/ld.so.cache").for_each([&](std::string_view soname, fs::path path) {
    if (soname.starts_with(soname_prefix)) files.push_back(below(root, path));
  });
  return files;
}

std::vector<fs::path> list_python_packages(const Places& places) {
  std::vector<fs::path> packages;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = places.variable(name);
    if (!prefix.empty()) add_packages_of(packages, below(places.root, prefix));
  }
  for (const fs::path& folder : list_variable_folders(places, "PATH")) {
    const fs::path python = folder / "python3";
    if (!base::is_there(python)) continue;
    add_packages_of_interpreter(packages, places, python);
    break;
  }
  return packages;
}

}  // namespace hiptool::hip
