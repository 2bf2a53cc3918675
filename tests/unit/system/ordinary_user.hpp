// SPDX-License-Identifier: MIT
/// Runs a question as somebody who is not root, who may open everything.
#pragma once
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <string>

#include "system/drivers.hpp"

namespace hiptool::system {

inline constexpr unsigned nobody = 65534;

/// What explain_amd tells an ordinary user without groups: this one, or nobody where this is root.
inline DriverFinding explain_amd_to_ordinary_user(const std::filesystem::path& root) {
  if (geteuid() != 0) return explain_amd(root);
  REQUIRE(chmod(root.c_str(), 0755) == 0);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string text = "no other user";
    if (setgroups(0, nullptr) == 0 && setgid(nobody) == 0 && setuid(nobody) == 0) {
      const DriverFinding finding = explain_amd(root);
      text = finding.reason + "\n" + finding.hint;
    }
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  const auto line_end = text.find('\n');
  REQUIRE(line_end != std::string::npos);
  return {text.substr(0, line_end), text.substr(line_end + 1)};
}

}  // namespace hiptool::system
