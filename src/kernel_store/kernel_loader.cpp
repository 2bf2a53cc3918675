// SPDX-License-Identifier: MIT
#include "kernel_store/kernel_loader.hpp"

#include <utility>

#include "core/call.hpp"
#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hip/rtc.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/references.hpp"

namespace hiptool::kernel_store {
namespace {

/// A driver that is older than the tools that made the image.
bool is_refused_image(const Error& error) {
  constexpr int unsupported_toolchain = 222;  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  return error.code() == ErrorCode::input_failed ||
         (error.native() && error.native()->code == unsupported_toolchain);
}

}  // namespace

void lower_ptx_to_driver(const Device& device, std::vector<std::byte>& image) {
  int version = 0;
  if (device.platform() == Platform::nvidia &&
      core::query<&hip::Api::hipDriverGetVersion>(device, &version)) {
    hip::lower_ptx_version(image, version);
  }
}

KernelLoader::KernelLoader(const Device& device) : KernelLoader(device, Options{}) {}

KernelLoader::KernelLoader(const Device& device, Options options)
    : device_(device), arch_(device.info().arch), options_(std::move(options)) {
  register_references();
  if (!options_.choose) options_.choose = choose_images;
  if (!options_.source_text) options_.source_text = embedded_text;
  if (!options_.compile) {
    options_.compile = with_disk_cache(compile_in_process, cache_folder_from_environment(),
                                       core::state_of(device).trace);
  }
}

const KernelLoader::Loaded& KernelLoader::load(std::string_view source) {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(source);
  if (found != loaded_.end()) return found->second;
  std::string name(source);
  Loaded loaded = load_now(name);
  return loaded_.emplace(std::move(name), std::move(loaded)).first->second;
}

const KernelLoader::Loaded* KernelLoader::load_if_taken(std::string_view source) {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(source);
  if (found != loaded_.end()) return &found->second;
  if (not_taken_.contains(source)) return nullptr;
  const std::string name(source);
  const std::vector<Image> images = options_.choose(name, device_.platform(), arch_);
  if (!images.empty()) {
    try {
      return &loaded_.emplace(name, load_first(images, name)).first->second;
    } catch (const Error& error) {
      if (!is_refused_image(error)) throw;
      core::state_of(device_).note(
          "load kernel", "continuing without the kernels '" + name + "': " + error.what());
    }
  }
  not_taken_.insert(name);
  return nullptr;
}

Kernel KernelLoader::kernel(std::string_view name) {
  const std::string_view source = source_of_kernel(name);
  if (source.empty()) {
    throw Error(ErrorCode::not_found, "load kernel",
                "there is no kernel '" + std::string(name) + "'");
  }
  return Kernel(load(source).module, std::string(name));
}

KernelLoader::Loaded KernelLoader::load_now(const std::string& source) const {
  if (arch_.empty()) {
    core::require_usable(device_);  // else that is the reason
    throw Error(ErrorCode::unsupported, "load kernel",
                "the architecture of " + device_.id() +
                    " is unknown, so no image of the kernels '" + source + "' can be chosen");
  }
  const std::vector<Image> images = options_.choose(source, device_.platform(), arch_);
  return images.empty() ? compile_now(source) : load_first(images, source);
}

KernelLoader::Loaded KernelLoader::load_first(const std::vector<Image>& images,
                                              const std::string& source) const {
  for (std::size_t i = 0; i < images.size(); ++i) {
    try {
      return {Module(device_, images[i].bytes, source), std::string(images[i].target)};
    } catch (const Error& error) {
      if (i + 1 == images.size() || !is_refused_image(error)) throw;
      const std::string next(images[i + 1].target);
      core::state_of(device_).note("load kernel",
                                   "loading the image for " + next + " instead: " + error.what());
    }
  }
  throw Error(ErrorCode::internal, "load kernel", "there is no image of '" + source + "'");
}

KernelLoader::Loaded KernelLoader::compile_now(const std::string& source) const {
  const std::string missing = "this build has no image of the kernels '" + source + "' for " +
                              device_.id() + " (" + arch_ + ")";
  const std::string_view text = options_.source_text(source);
  if (device_.platform() == Platform::cpu || text.empty()) {
    throw Error(ErrorCode::unsupported, "load kernel", missing);
  }
  std::vector<std::byte> image;
  try {
    image = options_.compile(
        {device_.platform(), arch_, source, std::string(text), embedded_headers()});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    // Whatever the compiler's trouble is, it means that this device cannot have the kernel here.
    throw Error(ErrorCode::unsupported, "load kernel",
                missing + ", and compiling it now failed: " + error.what(), error.hint());
  }
  lower_ptx_to_driver(device_, image);
  return {Module(device_, image, source), "compiled for " + arch_};
}

}  // namespace hiptool::kernel_store
