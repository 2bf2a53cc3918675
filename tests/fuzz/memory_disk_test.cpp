// SPDX-License-Identifier: MIT
// What the disk in memory answers, against the kernel's answers about the same files.
#include "memory_disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace hiptool;
namespace fs = std::filesystem;

namespace {

class RealFolder {
 public:
  RealFolder() {
    std::string pattern = (fs::temp_directory_path() / "hiptool-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = fs::canonical(pattern).string();
  }
  ~RealFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RealFolder(const RealFolder&) = delete;
  RealFolder& operator=(const RealFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string failure() { return "error " + std::to_string(errno) + "\n"; }

std::string kind_of(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "folder\n";  // whose size is the file system's
  return (S_ISLNK(status.st_mode) ? "link of " : "file of ") + std::to_string(status.st_size) +
         "\n";
}

std::string texts_of(int descriptor) {
  std::array<char, 5> piece{};
  std::string text = "read ";
  ssize_t got = 0;
  while ((got = ::read(descriptor, piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) text += failure();
  for (const off_t offset : {off_t{0}, off_t{2}, off_t{7}, off_t{1000}, off_t{-1}}) {
    got = ::pread(descriptor, piece.data(), piece.size(), offset);
    text += " at " + std::to_string(offset) + ": ";
    text += got < 0 ? failure() : std::string(piece.data(), static_cast<std::size_t>(got));
  }
  return text + "\n";
}

std::string names_in(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    names.push_back(entry->path().string() +
                    (entry->is_directory(ignored) ? " is one" : " is not"));
  }
  std::sort(names.begin(), names.end());
  std::string text = "names " + std::to_string(error.value());
  for (const std::string& name : names) text += " " + name;
  return text + "\n";
}

/// All that the functions of libc and the library say of a path.
std::string seen(const std::string& path) {
  std::string text;
  struct stat status {};
  text += "stat " + (stat(path.c_str(), &status) == 0 ? kind_of(status) : failure());
  text += "lstat " + (lstat(path.c_str(), &status) == 0 ? kind_of(status) : failure());
  for (const int flags : {O_RDONLY, O_RDONLY | O_NOFOLLOW, O_RDONLY | O_DIRECTORY}) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
    text += "open " + (descriptor < 0 ? failure() : "\n");
    if (descriptor < 0) continue;
    text += "fstat " + (fstat(descriptor, &status) == 0 ? kind_of(status) : failure());
    text += texts_of(descriptor);
    text += "close " + std::to_string(::close(descriptor)) + "\n";
  }
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  text += "readlink ";
  text += length < 0 ? failure() : std::string(target.data(), static_cast<std::size_t>(length));
  char* real = ::realpath(path.c_str(), nullptr);
  text += "realpath " + (real == nullptr ? failure() : std::string(real) + "\n");
  std::free(real);
  std::error_code error;
  text += "canonical " + fs::weakly_canonical(path, error).string();
  return text + " " + std::to_string(error.value()) + "\n" + names_in(path);
}

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths{"", folder};
  for (const std::string name : {"file",           "file/",
                                 "file/x",         "file/..",
                                 "empty",          "folder",
                                 "folder/",        "folder//inner",
                                 "folder/./inner", "folder/../file",
                                 "folder/missing", "missing",
                                 "missing/x",      "missing/..",
                                 "link",           "link/",
                                 "link/x",         "up",
                                 "up/file",        "way",
                                 "way/",           "way/inner",
                                 "way/../file",    "chain",
                                 "broken",         "broken/",
                                 "loop",           "loop/x",
                                 "zeros"}) {
    paths.push_back(folder + "/" + name);
  }
  paths.push_back(folder + "/" + std::string(255, 'n'));
  paths.push_back(folder + "/" + std::string(256, 'n'));
  paths.push_back(folder + std::string(5000, '/') + "file");
  return paths;
}

}  // namespace

TEST_CASE("fuzz: files in memory are to the program as the kernel's are") {
  const RealFolder real;
  const std::string& folder = real.path();
  fuzz::MemoryDisk& disk = fuzz::MemoryDisk::instance();
  const auto both = [&](const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
    CHECK(disk.write(folder + "/" + name, bytes));
  };
  both("file", "twelve bytes");
  both("empty", "");
  both("folder/inner", "inside");
  both("zeros", "abc" + std::string(9, '\0'));
  for (const auto& [name, target] :
       std::vector<std::pair<std::string, std::string>>{{"link", "file"},
                                                        {"up", "folder/.."},
                                                        {"way", folder + "/folder"},
                                                        {"chain", "way/../link"},
                                                        {"broken", "nothing"},
                                                        {"loop", "loop"}}) {
    fs::create_symlink(target, folder + "/" + name);
    CHECK(disk.link(folder + "/" + name, target));
  }
  CHECK(disk.write(folder + "/zeros", "abc", 9));
  for (const std::string& path : paths_in(folder)) {
    CAPTURE(path);
    const std::string right = seen(path);
    std::string found;
    {
      const fuzz::InMemory in_memory;
      found = seen(path);
    }
    CHECK(found == right);
  }
}

TEST_CASE("fuzz: what is in the way of a file, and what is removed") {
  fuzz::MemoryDisk& disk = fuzz::MemoryDisk::instance();
  CHECK(disk.write("/t/a", "1"));
  CHECK_FALSE(disk.write("/t/a/b", "2"));
  CHECK_FALSE(disk.write("/t", "3"));
  const fuzz::InMemory in_memory;
  CHECK(fs::file_size("/t/a") == 1);
  CHECK(disk.write("/t/a", "12"));
  CHECK(fs::file_size("/t/a") == 2);
  disk.remove("/t/b");
  CHECK(fs::exists("/t/a"));
  disk.remove("/t");
  CHECK_FALSE(fs::exists("/t/a"));
  CHECK_FALSE(fs::exists("/t"));
}
