// SPDX-License-Identifier: MIT
/// The search for a vendor's library beside the runtime: which files are tried, in which order, and
/// why none was taken.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"

namespace hiptool::hip {

/// What is searched for. `majors` are the numbers of file names that hiptool knows, newest first.
struct LibrarySearch {
  std::string name;                        ///< "rocBLAS"
  std::string soname;                      ///< "librocblas.so"
  std::vector<int> majors;                 ///< {5, 4}; those that fit the bound runtime
  std::vector<std::string> folders;        ///< tried before the system's linker
  std::vector<std::string> later_folders;  ///< tried after it
  bool is_unversioned_taken = false;       ///< wheels have files without a number
  /// Empty if the library can be used; else why it cannot.
  std::function<std::string(const base::DynamicLibrary& library)> refusal;
  std::string advice;  ///< the end of the reason where no file was found: "install rocblas"
};

struct FoundLibrary {
  std::optional<base::DynamicLibrary> library;
  std::string path;    ///< of a refused library too
  std::string reason;  ///< why there is none
};

/// Opens the first file that can be used: one that is mapped already, then the folders, then bare
/// names, then the later folders. HIPTOOL_LIBRARY_PATH, folders separated by colons, replaces all
/// of these, which the reason says where nothing was found. Never throws.
FoundLibrary search_library(const LibrarySearch& search);

/// "5.1.70200" of ".../librocblas.so.5.1.70200" after following links; empty without a number.
std::string version_in_name(const std::string& path);

/// The first number of a version; -1 if there is none.
int major_of_text(const std::string& version);

/// "reports version 14.0.1; hiptool knows versions 11, 12 and 13" where the version's major is not
/// among these; else empty.
std::string refuse_version(const std::string& version, const std::vector<int>& known);

/// Folders `<parent>/<prefix>*/<below>` that exist.
std::vector<std::string> list_sibling_folders(const std::string& parent, const std::string& prefix,
                                              const std::string& below);

}  // namespace hiptool::hip
