// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

namespace hiptool::base {

/// A shared library that is opened at run time and stays loaded to the end of the process (vendor
/// runtimes do not survive being unloaded). The only user of dlopen.
class DynamicLibrary {
 public:
  /// Opens by soname or path (RTLD_LAZY | RTLD_LOCAL). On failure returns nothing and sets `error`
  /// to the loader's message. Blocks while the library's constructors run.
  static std::optional<DynamicLibrary> open(const std::string& name, std::string& error);

  /// The library if it is mapped in this process already; never loads anything.
  static std::optional<DynamicLibrary> find_loaded(const std::string& name);

  /// Address of a symbol, null where there is none.
  void* symbol(const char* name) const noexcept;

  /// The same as a function pointer.
  template <class Function>
  Function function(const char* name) const noexcept {
    return reinterpret_cast<Function>(symbol(name));
  }

  /// Path of the file that the loader found, or the given name if it reports none.
  const std::string& path() const noexcept { return path_; }

 private:
  DynamicLibrary(void* handle, std::string path);
  void* handle_;
  std::string path_;
};

}  // namespace hiptool::base
