// SPDX-License-Identifier: MIT
/// The meaning of the dynamic loader's messages. glibc names the file that could not be opened
/// first, which is the requested library or one that it depends on.
#pragma once
#include <string>

namespace hiptool::hip {

enum class LoadError { not_found, dependency_missing, refused };

inline LoadError classify_load_error(const std::string& name, const std::string& sentence) {
  const std::string no_file = ": cannot open shared object file: No such file or directory";
  if (sentence == name + no_file) return LoadError::not_found;
  const bool is_other_file =
      sentence.find(no_file) != std::string::npos && sentence.rfind(name + ":", 0) != 0;
  return is_other_file ? LoadError::dependency_missing : LoadError::refused;
}

/// The file that a dependency_missing message names.
inline std::string missing_dependency(const std::string& sentence) {
  return sentence.substr(0, sentence.find(':'));
}

/// The loader refuses a library that was linked for an executable stack (glibc 2.41, or a process
/// that may not have one).
inline bool needs_executable_stack(const std::string& sentence) {
  return sentence.find("cannot enable executable stack") != std::string::npos;
}

/// The message for a list of attempts; it starts with the requested name.
inline std::string describe_attempt(const std::string& name, const std::string& sentence) {
  return sentence.rfind(name + ":", 0) == 0 ? sentence : name + ": " + sentence;
}

}  // namespace hiptool::hip
