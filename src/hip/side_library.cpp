// SPDX-License-Identifier: MIT
#include "hip/side_library.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/contains.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "hip/load_error.hpp"
#include "hip/places.hpp"

namespace hiptool::hip {
namespace {

namespace fs = std::filesystem;

constexpr const char* path_variable = "HIPTOOL_LIBRARY_PATH";

/// One search: takes the first usable file and keeps the most telling reason.
class LibraryAttempts {
 public:
  explicit LibraryAttempts(const LibrarySearch& search) : search_(search) {}

  bool try_mapped() {
    for (const std::string& name : file_names()) {
      if (auto library = base::DynamicLibrary::find_loaded(name)) {
        // Opened again, because a library that was only found may be unloaded by its owner.
        if (try_open(library->path())) return true;
      }
    }
    return false;
  }

  bool try_folder(const std::string& folder) {
    if (folder.empty()) return false;
    for (const std::string& name : file_names()) {
      const std::string path = (fs::path(folder) / name).string();
      if (base::is_there(path) && try_open(path)) return true;
    }
    note_unknown_majors(folder);
    return false;
  }

  bool try_bare_names() {
    for (const int major : search_.majors) {
      if (try_open(search_.soname + "." + std::to_string(major))) return true;
    }
    return false;
  }

  FoundLibrary take() {
    if (found_.library) return std::move(found_);
    for (const std::string& reason : {refused_, load_error_, unknown_major_}) {
      if (!reason.empty()) return {std::nullopt, std::move(found_.path), reason};
    }
    return {
        std::nullopt, {}, "no " + search_.name + " was found (" + names_text() + ")" + advice()};
  }

  /// Says where a search that finds nothing was confined to.
  void confine_to(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      confined_to_ += (confined_to_.empty() ? "" : ":") + folder;
    }
  }

 private:
  std::vector<std::string> file_names() const {
    std::vector<std::string> names;
    for (const int major : search_.majors) {
      names.push_back(search_.soname + "." + std::to_string(major));
    }
    if (search_.is_unversioned_taken) names.push_back(search_.soname);
    return names;
  }

  std::string names_text() const {
    std::string text = search_.soname;
    for (std::size_t i = 0; i < search_.majors.size(); ++i) {
      const bool is_last = i + 1 == search_.majors.size();
      text += (i == 0 ? "." : is_last ? " or ." : ", .") + std::to_string(search_.majors[i]);
    }
    return text;
  }

  // What is installed in other folders is not seen, so advice to install it would not help.
  std::string advice() const {
    if (!confined_to_.empty()) return ": " + confinement();
    return search_.advice.empty() ? "" : ": " + search_.advice;
  }

  std::string confinement() const {
    return std::string(path_variable) + " is " + confined_to_ +
           ", and no other folder was searched";
  }

  bool try_open(const std::string& name) {
    std::string sentence;
    auto library = base::DynamicLibrary::open(name, sentence);
    if (!library) {
      if (load_error_.empty() && classify_load_error(name, sentence) != LoadError::not_found) {
        load_error_ = describe_attempt(name, sentence);
      }
      return false;
    }
    const std::string refusal = search_.refusal ? search_.refusal(*library) : std::string();
    if (!refusal.empty()) {
      if (refused_.empty()) {
        refused_ = library->path() + " " + refusal;
        found_.path = library->path();
      }
      return false;
    }
    found_.path = library->path();
    found_.library = std::move(library);
    return true;
  }

  void note_unknown_majors(const std::string& folder) {
    if (!unknown_major_.empty()) return;
    const std::string prefix = search_.soname + ".";
    for (const fs::path& entry : base::list_folder(folder)) {
      const std::string name = entry.filename().string();
      if (!name.starts_with(prefix)) continue;
      const auto major = base::parse_number<int>(std::string_view(name).substr(prefix.size()));
      if (!major) continue;
      const bool is_known = base::contains(search_.majors, *major);
      if (is_known) continue;
      unknown_major_ = entry.string() + " was not loaded: hiptool uses " + names_text() + " here";
      if (!confined_to_.empty()) unknown_major_ += "; " + confinement();
    }
  }

  const LibrarySearch& search_;
  FoundLibrary found_;
  std::string refused_;
  std::string unknown_major_;
  std::string load_error_;
  std::string confined_to_;  // folders of the variable; empty: not confined
};

bool run_search(const LibrarySearch& search, LibraryAttempts& attempts) {
  const auto try_folders = [&](const std::vector<std::string>& folders) {
    return std::ranges::any_of(
        folders, [&](const std::string& folder) { return attempts.try_folder(folder); });
  };
  std::vector<std::string> chosen;
  for (const fs::path& folder : list_variable_folders(own_places(), path_variable)) {
    chosen.push_back(folder.string());
  }
  if (!chosen.empty()) {
    attempts.confine_to(chosen);
    return try_folders(chosen);
  }
  return attempts.try_mapped() || try_folders(search.folders) || attempts.try_bare_names() ||
         try_folders(search.later_folders);
}

std::string list_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += i + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(numbers[i]);
  }
  return text;
}

}  // namespace

FoundLibrary search_library(const LibrarySearch& search) {
  try {
    LibraryAttempts attempts(search);
    run_search(search, attempts);
    return attempts.take();
  } catch (const std::exception& error) {
    return {std::nullopt, {}, "the search for " + search.name + " failed: " + error.what()};
  }
}

std::string version_in_name(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  const std::string name = (failed ? fs::path(path) : real).filename().string();
  const std::string mark = ".so.";
  const std::size_t at = name.find(mark);
  if (at == std::string::npos) return {};
  const std::string version = name.substr(at + mark.size());
  return version.find_first_not_of("0123456789.") == std::string::npos ? version : std::string();
}

int major_of_text(const std::string& version) {
  return base::parse_number<int>(std::string_view(version).substr(0, version.find('.')))
      .value_or(-1);
}

std::string refuse_version(const std::string& version, const std::vector<int>& known) {
  if (base::contains(known, major_of_text(version))) return {};
  return "reports version " + (version.empty() ? "(none)" : version) +
         "; hiptool knows major versions " + list_numbers(known);
}

std::vector<std::string> list_sibling_folders(const std::string& parent, const std::string& prefix,
                                              const std::string& below) {
  std::vector<std::string> folders;
  for (const fs::path& entry : base::list_folder(parent)) {
    if (!entry.filename().string().starts_with(prefix)) continue;
    const fs::path folder = entry / below;
    if (base::is_there(folder)) folders.push_back(folder.string());
  }
  return folders;
}

}  // namespace hiptool::hip
