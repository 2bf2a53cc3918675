// SPDX-License-Identifier: MIT
#include "base/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

namespace fs = std::filesystem;

/// $TMPDIR for a time.
class TmpDir {
 public:
  explicit TmpDir(const char* value) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    set(value);
  }
  ~TmpDir() { set(before_ ? before_->c_str() : nullptr); }
  TmpDir(const TmpDir&) = delete;
  TmpDir& operator=(const TmpDir&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", value, 1);
    }
  }
  std::optional<std::string> before_;
};

std::string message_of_failure() {
  try {
    const base::TemporaryFolder folder("name");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::output_failed);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("a temporary folder is its user's alone, has no predictable name and is removed") {
  const test::TemporaryFolder parent;
  const TmpDir variable(parent.path().c_str());
  fs::path path;
  {
    const base::TemporaryFolder one("name");
    const base::TemporaryFolder other("name");
    path = one.path();
    CHECK(path != other.path());
    CHECK(path.parent_path() == parent.path());
    CHECK(path.filename().string().starts_with("name-"));
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "b" / "c") << "text";
  }
  CHECK(fs::is_empty(parent.path()));
}

TEST_CASE("a handler that ends the process can remove the folders, and nothing else") {
  const test::TemporaryFolder parent;
  const TmpDir variable(parent.path().c_str());
  std::ofstream(parent.path() / "outside") << "text";
  const base::TemporaryFolder folder("name");
  fs::create_directories(folder.path() / "a" / "b");
  for (int i = 0; i < 200; ++i) {
    std::ofstream(folder.path() / "a" / ("a file with a long name " + std::to_string(i))) << "x";
  }
  fs::create_directory_symlink(parent.path(), folder.path() / "link");
  base::remove_temporary_paths();
  CHECK_FALSE(fs::exists(folder.path()));
  CHECK(fs::exists(parent.path() / "outside"));
}

TEST_CASE("the same handler removes files that are not complete, and keeps those that are") {
  const test::TemporaryFolder parent;
  const fs::path partial = parent.path() / "out.part";
  const fs::path complete = parent.path() / "out";
  std::ofstream(partial) << "x";
  std::ofstream(complete) << "x";
  const base::TemporaryPath first(partial);
  base::TemporaryPath second(complete);
  second.keep();
  base::remove_temporary_paths();
  CHECK_FALSE(fs::exists(partial));
  CHECK(fs::exists(complete));
}

TEST_CASE("TMPDIR that is empty means /tmp, one that cannot be used is named") {
  {
    const TmpDir variable("");
    CHECK(base::TemporaryFolder("hiptool-test").path().parent_path() == "/tmp");
  }
  {
    const TmpDir variable(nullptr);
    CHECK(base::TemporaryFolder("hiptool-test").path().parent_path() == "/tmp");
  }
  const test::TemporaryFolder parent;
  std::ofstream(parent.path() / "file") << "text";
  {
    fs::current_path(parent.path());
    fs::create_directory("relative");
    const TmpDir relative("relative");
    const base::TemporaryFolder folder("name");
    CHECK(folder.path().is_absolute());
    fs::current_path("/");
    CHECK(fs::exists(folder.path()));
  }
  for (const char* name : {"absent", "file"}) {
    const std::string path = parent / name;
    const TmpDir variable(path.c_str());
    CHECK(message_of_failure().find(path + " (TMPDIR): ") != std::string::npos);
  }
}
