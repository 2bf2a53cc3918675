// SPDX-License-Identifier: MIT
#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace hiptool::base {
namespace {

std::string loaded_path(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr &&
      *map->l_name != '\0') {
    return map->l_name;
  }
  return name;
}

}  // namespace

DynamicLibrary::DynamicLibrary(void* handle, std::string path)
    : handle_(handle), path_(std::move(path)) {}

std::optional<DynamicLibrary> DynamicLibrary::open(const std::string& name, std::string& error) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();
    error = reason != nullptr ? reason : "unknown loader error";
    return std::nullopt;
  }
  return DynamicLibrary(handle, loaded_path(handle, name));
}

std::optional<DynamicLibrary> DynamicLibrary::find_loaded(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) {
    dlerror();  // clears the loader's message
    return std::nullopt;
  }
  return DynamicLibrary(handle, loaded_path(handle, name));
}

void* DynamicLibrary::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

}  // namespace hiptool::base
