// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hip/places.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::hip {

struct Api;

/// Input of the binding of a platform.
struct BindRequest {
  std::string library;            ///< the runtime library to use; empty: search
  std::string system_root = "/";  ///< where /sys, /proc and /dev are read
  int cpu_devices = 1;
  bool hides_devices = false;  ///< CUDA_VISIBLE_DEVICES is the program's own, not the user's
  /// Called before code of a vendor's library runs, with its name or path; may be empty.
  std::function<void(const std::string& library)> before_start = {};
};

/// A bound platform, or the reason why there is none. `api` is null unless a library was bound; it
/// may be set without a device. Tables live to the end of the process.
struct Binding {
  PlatformStatus status;
  const Api* api = nullptr;
};

/// Each platform's entry. What makes a platform unusable is status.reason, the next thing to try is
/// status.hint.
Binding bind_amd(const BindRequest& request);
Binding bind_nvidia(const BindRequest& request);
Binding bind_cpu(const BindRequest& request);

/// An installed runtime library, as the search would find it; nothing is opened.
struct InstalledRuntime {
  std::filesystem::path path;
  std::string release;  ///< "ROCm 10.0.0"; empty if unknown
  std::string version;  ///< HIP's, from the file's name; empty if unknown
};

/// Those of all vendors, in the order in which they are tried; HIPTOOL_*_LIBRARY is not considered.
std::vector<InstalledRuntime> list_installed_runtimes(const Places& places);

/// Fills tables; the seam for wrapper tables in tests.
class Binder {
 public:
  virtual ~Binder() = default;
  /// An exception on the way is status.reason too.
  virtual Binding bind(Platform platform, const BindRequest& request) = 0;
};

/// The binder of this build: one line for each platform (registry.cpp).
std::shared_ptr<Binder> make_registry();

}  // namespace hiptool::hip
