// SPDX-License-Identifier: MIT
#include "kernel_store/cache_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "kernel_store/compile.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::kernel_store;

namespace {

namespace fs = std::filesystem;

constexpr uid_t other_user = 65534;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// A compiler that counts, behind a cache in that folder.
struct CountedCache {
  explicit CountedCache(const fs::path& folder)
      : compile(with_disk_cache(
            [this](const CompileRequest&) {
              ++compiled;
              return std::vector<std::byte>(8, static_cast<std::byte>(compiled));
            },
            folder, trace)) {}
  CountedCache(const CountedCache&) = delete;
  CountedCache& operator=(const CountedCache&) = delete;

  void ask() { compile({Platform::cpu, "none", "sample", "source", {{"a.h", "header"}}}); }

  int compiled = 0;
  std::shared_ptr<test::RecordingTrace> trace = std::make_shared<test::RecordingTrace>();
  Compile compile;
};

}  // namespace

TEST_CASE("a cache folder and its files are for their user alone, whatever the umask") {
  const test::TemporaryFolder parent;
  const fs::path path = parent.path() / "cache" / "hiptool";
  const mode_t before = umask(0);
  CacheFolder folder(path);
  REQUIRE(folder.is_usable());
  CHECK(folder.write("a", "bytes"));
  umask(before);
  CHECK(mode_of(path) == 0700);
  CHECK(mode_of(path.parent_path()) == 0700);
  CHECK(mode_of(path / "a") == 0600);
  CHECK(folder.read("a") == "bytes");
  CHECK_FALSE(folder.read("b").has_value());
  CHECK(folder.reason().empty());
}

TEST_CASE("an entry larger than any kernel is not read into memory") {
  const test::TemporaryFolder parent;
  CacheFolder folder(parent.path());
  std::ofstream(parent.path() / "a") << "bytes";
  fs::permissions(parent.path() / "a", fs::perms::owner_read | fs::perms::owner_write);
  fs::resize_file(parent.path() / "a", std::uintmax_t{1} << 40);  // without blocks
  CHECK_FALSE(folder.read("a").has_value());
  CHECK(contains(folder.reason(), "too large"));
  CHECK_FALSE(folder.is_distrusted());
  fs::resize_file(parent.path() / "a", 5);
  CHECK(folder.read("a") == "bytes");
}

TEST_CASE("what a killed process of the same number left does not stop a cache") {
  const test::TemporaryFolder parent;
  CacheFolder folder(parent.path());
  for (int number = 0; number < 50; ++number) {
    std::ofstream(parent.path() /
                  ("a." + std::to_string(getpid()) + "." + std::to_string(number) + ".part"));
  }
  CHECK(folder.write("a", "bytes"));
  CHECK(folder.read("a") == "bytes");
}

TEST_CASE("a folder that others can write to is not used, with one warning") {
  const test::TemporaryFolder parent;
  const fs::path real = parent.path() / "real";
  const fs::path link = parent.path() / "link";
  CountedCache(real).ask();  // a valid entry
  REQUIRE_FALSE(fs::is_empty(real));
  fs::create_directory_symlink(real, link);
  for (const fs::path& path : {real, link}) {
    for (const mode_t mode : {0770u, 0702u}) {
      CAPTURE(path);
      CAPTURE(mode);
      fs::permissions(real, static_cast<fs::perms>(mode));
      CountedCache cache(path);
      cache.ask();
      cache.ask();
      CHECK(cache.compiled == 2);
      const bool is_first = mode == 0770u;
      REQUIRE(cache.trace->notes().size() == (is_first ? 1 : 0));
      if (!is_first) continue;
      CHECK(contains(cache.trace->notes().front(), "not used, " + path.string() + ": "));
      CHECK(contains(cache.trace->notes().front(), "chmod go-w"));
    }
  }
  fs::permissions(real, fs::perms::owner_all);
  CountedCache cache(link);  // a link of one's own is fine
  cache.ask();
  CHECK(cache.compiled == 0);
}

TEST_CASE("a file that others can write to, or a link, is compiled again and replaced") {
  const test::TemporaryFolder parent;
  const fs::path path = parent.path() / "cache";
  CountedCache(path).ask();
  const fs::path entry = fs::directory_iterator(path)->path();
  const fs::path elsewhere = parent.path() / "elsewhere";

  fs::permissions(entry, fs::perms::others_write, fs::perm_options::add);
  CountedCache writable(path);
  writable.ask();
  CHECK(writable.compiled == 1);
  REQUIRE(writable.trace->notes().size() == 1);
  CHECK(contains(writable.trace->notes().front(), entry.string()));
  CHECK(mode_of(entry) == 0600);

  fs::rename(entry, elsewhere);
  fs::create_symlink(elsewhere, entry);
  CountedCache linked(path);
  linked.ask();
  linked.ask();
  CHECK(linked.compiled == 1);
  REQUIRE(linked.trace->notes().size() == 1);
  CHECK(contains(linked.trace->notes().front(), "it is a link"));
  CHECK_FALSE(fs::is_symlink(entry));
}

TEST_CASE("what belongs to another user is not used") {
  if (geteuid() != 0) return test::skip_case("only root can give a file away");
  const test::TemporaryFolder parent;
  const fs::path path = parent.path() / "cache";
  const fs::path link = parent.path() / "link";
  CountedCache(path).ask();
  const fs::path entry = fs::directory_iterator(path)->path();

  REQUIRE(chown(entry.c_str(), other_user, other_user) == 0);
  CountedCache file(path);
  file.ask();
  CHECK(file.compiled == 1);

  fs::create_directory_symlink(path, link);
  REQUIRE(lchown(link.c_str(), other_user, other_user) == 0);
  const CacheFolder through_link(link);
  CHECK_FALSE(through_link.is_usable());
  CHECK(through_link.is_distrusted());
  CHECK(contains(through_link.reason(), "it is a link of user 65534"));

  REQUIRE(chown(path.c_str(), other_user, other_user) == 0);
  const CacheFolder folder(path);
  CHECK_FALSE(folder.is_usable());
  CHECK(contains(folder.reason(), "it belongs to user 65534, not to 0"));
}
