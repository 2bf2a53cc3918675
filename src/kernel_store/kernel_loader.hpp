// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/module.hpp"
#include "kernel_store/compile.hpp"
#include "kernel_store/images.hpp"

namespace hiptool::kernel_store {

/// Brings kernel sources onto one device: by the best embedded image that the driver takes, else by
/// compiling the embedded text for the device's own arch. Each source is loaded once. Safe to use
/// from several threads.
class KernelLoader {
 public:
  using Choose = std::function<std::vector<Image>(std::string_view source, Platform platform,
                                                  std::string_view arch)>;
  /// Where images and sources come from; another one is for tests.
  struct Options {
    Compile compile;         ///< empty: in this process, through the cache on disk
    Choose choose;           ///< best first; empty: the embedded images
    SourceText source_text;  ///< empty: the embedded sources
  };
  struct Loaded {
    Module module;
    std::string image;  ///< "sm_90", "sm_60", "gfx90a", "cpu", or "compiled for sm_90"
  };

  explicit KernelLoader(const Device& device);
  KernelLoader(const Device& device, Options options);

  const Device& device() const noexcept { return device_; }

  /// Blocks while it compiles and loads. Throws Error(unsupported) that says which is missing where
  /// there is neither an image nor a run-time compiler.
  const Loaded& load(std::string_view source);

  /// The same where an embedded image suits the device and its driver takes it; else nothing, and
  /// the trace has the driver's reason. For kernels that others can do the work of.
  const Loaded* load_if_taken(std::string_view source);

  /// The kernel of that name. Throws Error(not_found) for one that no embedded source exports.
  Kernel kernel(std::string_view name);

 private:
  Loaded load_now(const std::string& source) const;
  Loaded load_first(const std::vector<Image>& images, const std::string& source) const;
  Loaded compile_now(const std::string& source) const;

  Device device_;
  std::string arch_;
  Options options_;
  std::mutex mutex_;
  std::map<std::string, Loaded, std::less<>> loaded_;
  std::set<std::string, std::less<>> not_taken_;
};

/// Lowers the PTX version that the image states to the one the device's driver accepts: a driver
/// older than the compiler refuses the image for the stated version alone.
void lower_ptx_to_driver(const Device& device, std::vector<std::byte>& image);

}  // namespace hiptool::kernel_store
